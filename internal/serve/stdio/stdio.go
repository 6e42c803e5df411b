// Package stdio serves MCP over standard input and output, one message per line. It
// serves one client, the parent process. A malformed line gets an error response, and
// the session continues.
package stdio

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"candela/internal/alerting/notify"
	"candela/internal/kit/principal"
	"candela/internal/kit/shutdown"
	"candela/internal/serve/mcp"
	"candela/internal/serve/rpc"
)

// Owner is the subject of the client: the sole owner of an installation, as over HTTP.
const Owner = "owner"

// Limits of a session.
const (
	maxLine    = 1 << 20 // bytes of a message, as over HTTP
	maxRunning = 16      // concurrent tool calls; further ones are queued
	maxWaiting = 256     // running and queued calls and subscriptions; further ones are refused
)

// Config configures a session.
type Config struct {
	Log        *slog.Logger
	Streams    notify.Streams // nil: no notifications
	DrainGrace time.Duration  // for calls running when the input ends; 10 s
	Begin      func()         // called before each initialize and tool call; may be nil
	Channel    bool           // send a frame of a Claude Code channel for fired alerts
}

// Session serves one client on one pair of streams. Run it once.
type Session struct {
	mcp *mcp.Server
	cfg Config
	in  io.Reader

	mu      sync.Mutex // guards out: a message is one Write
	out     io.Writer
	failed  error              // the first failed write
	stop    context.CancelFunc // ends the session after it
	calls   sync.WaitGroup
	running chan struct{}
	waiting chan struct{}
	client  string // its own name; owned by the receiving goroutine
	apps    bool   // it shows apps; owned by the receiving goroutine
	ending  atomic.Pointer[time.Time]
	over    chan struct{} // closed when no more messages are accepted
}

// New returns a session that reads messages from in and writes only messages to out.
func New(m *mcp.Server, in io.Reader, out io.Writer, cfg Config) *Session {
	if cfg.DrainGrace == 0 {
		cfg.DrainGrace = 10 * time.Second
	}
	return &Session{
		mcp: m, cfg: cfg, in: in, out: out,
		running: make(chan struct{}, maxRunning), waiting: make(chan struct{}, maxWaiting), over: make(chan struct{}),
	}
}

// caller returns the client of the session.
func (s *Session) caller() principal.Caller {
	return principal.Caller{Subject: Owner, Key: "local", Client: s.client, Scope: principal.Trade}
}

// Run serves until the input or ctx ends. Running calls may then finish and queued
// notifications are written, until hard ends and for at most the grace period. If ctx
// ends first, Run closes the input if possible, so that the read returns.
func (s *Session) Run(ctx, hard context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	s.stop = stop
	calls, abort := context.WithCancel(shutdown.With(hard, ctx))
	defer abort()

	lines, ended := make(chan line), make(chan error, 1)
	go func() { ended <- readLines(ctx, s.in, lines) }()
	push := notifier{session: s, last: make(chan struct{})}
	err := s.serve(ctx, calls, lines, ended, &push)
	if ctx.Err() != nil {
		if in, ok := s.in.(io.Closer); ok {
			_ = in.Close()
		}
	}
	now := time.Now()
	s.ending.Store(&now)
	close(s.over)
	s.drain(abort, &push)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed != nil {
		return fmt.Errorf("write to the client: %w", s.failed)
	}
	return err
}

// Ending returns when the session stopped accepting messages, or zero while it accepts
// them.
func (s *Session) Ending() time.Time {
	if since := s.ending.Load(); since != nil {
		return *since
	}
	return time.Time{}
}

func (s *Session) serve(ctx, calls context.Context, lines <-chan line, ended <-chan error, push *notifier) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-ended:
			return err
		case l := <-lines:
			s.receive(ctx, calls, l, push)
		}
	}
}

// receive answers one line. Tool calls run in their own goroutines, so that a slow one can
// be cancelled; other messages are answered immediately and in order.
func (s *Session) receive(ctx, calls context.Context, l line, push *notifier) {
	if l.tooLong {
		s.write(rpc.AppendError(nil, nil, &rpc.Error{Code: rpc.CodeRefused, Message: "request too large: a message may have at most " + strconv.Itoa(maxLine) + " bytes"}))
		return
	}
	body, failure := rpc.Read(l.data)
	if failure != nil {
		s.cfg.Log.LogAttrs(ctx, slog.LevelInfo, "[MCP] request refused", slog.String("reason", failure.Message), slog.Bool("authorization", false))
		s.write(rpc.AppendError(nil, nil, failure))
		return
	}
	full := len(s.waiting) == maxWaiting
	if full && slices.ContainsFunc(body.Calls, s.mcp.IsSlow) {
		s.write(body.AppendRefusal(nil, &rpc.Error{Code: rpc.CodeRefused, Message: "too many calls are waiting; try again when some have been answered"}))
		return
	}
	if name := s.mcp.ClientName(body); name != "" {
		s.client = name
	}
	if mcp.Initializes(body) {
		_, s.apps = s.mcp.AppsSession(body, "")
	}
	if s.cfg.Begin != nil && slices.ContainsFunc(body.Calls, s.begins) {
		s.cfg.Begin()
	}
	job := s.mcp.Receive(calls, mcp.Origin{Caller: s.caller(), Apps: s.apps}, body)
	// The newer revision has no such notifications.
	if !job.Modern() && (job.IsSlow() || slices.ContainsFunc(body.Calls, func(c rpc.Call) bool { return c.Method == "notifications/initialized" })) {
		push.start(calls)
	}
	if !job.IsSlow() {
		s.write(job.Append(nil))
		return
	}
	work := s.answer
	if job.Listens() {
		work = s.listen
	}
	s.waiting <- struct{}{} // never blocks: only this goroutine adds
	s.calls.Go(func() {
		defer func() { <-s.waiting }()
		work(job)
	})
}

// answer executes a call in its turn.
func (s *Session) answer(job *mcp.Job) {
	s.running <- struct{}{}
	defer func() { <-s.running }()
	stop := func() {}
	if notices := job.Notices(); notices != nil {
		stop = notices.Carry(func(message []byte) { s.write(message) })
	}
	reply := job.Append(nil)
	stop()
	job.ReportSent(s.write(reply))
}

// begins reports whether a message is from a client that stays, not from one that asks
// which protocol the program speaks.
func (s *Session) begins(c rpc.Call) bool { return c.Method == "initialize" || s.mcp.IsSlow(c) }

// listen serves a subscription until the client cancels it or the session ends.
func (s *Session) listen(job *mcp.Job) {
	sub := job.Subscribe()
	if sub == nil {
		s.write(job.Append(nil))
		return
	}
	defer sub.Close()
	for ok := s.write(sub.Acknowledgement()); ok; {
		select {
		case <-sub.Changed():
			ok = s.write(sub.Update())
		case <-sub.Context().Done():
			ok = false
		case <-s.over:
			ok = false
		}
	}
	s.write(sub.Completion())
}

// drain waits for running calls and their notifications, and cancels both after the grace
// period.
func (s *Session) drain(abort context.CancelFunc, push *notifier) {
	timer := time.AfterFunc(s.cfg.DrainGrace, abort)
	defer timer.Stop()
	s.calls.Wait()
	push.finish()
}

// write sends a message, unless it is empty, and reports success.
func (s *Session) write(message []byte) bool {
	return len(message) == 0 || s.send(append(message, '\n'))
}

// sendOptional is send, unless the line is empty.
func (s *Session) sendOptional(line []byte) bool { return len(line) == 0 || s.send(line) }

// send writes a line. A failed write ends the session.
func (s *Session) send(line []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed != nil {
		return false
	}
	if _, err := s.out.Write(line); err != nil {
		s.failed = err
		s.stop()
	}
	return s.failed == nil
}

// line is one line of input; data is empty if it was too long.
type line struct {
	data    []byte
	tooLong bool
}

// readLines sends every non-empty line until the input ends, which is not an error.
func readLines(ctx context.Context, in io.Reader, lines chan<- line) error {
	reader := bufio.NewReaderSize(in, 64<<10)
	for {
		l, err := readLine(reader)
		if l.tooLong || len(l.data) > 0 {
			select {
			case lines <- l:
			case <-ctx.Done():
				return nil
			}
		}
		if err != nil {
			if errors.Is(err, io.EOF) || ctx.Err() != nil {
				return nil //nolint:nilerr // the input has ended as it should
			}
			return fmt.Errorf("read from the client: %w", err)
		}
	}
}

// readLine reads to the next line feed and trims trailing white space. The content of a
// line beyond the limit is discarded.
func readLine(reader *bufio.Reader) (l line, err error) {
	for {
		part, err := reader.ReadSlice('\n')
		if !l.tooLong {
			l.data = append(l.data, part...)
		}
		if len(l.data) > maxLine {
			l = line{tooLong: true}
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		l.data = bytes.TrimRight(l.data, " \t\r\n")
		return l, err
	}
}

// notifier forwards notifications to the client after it has sent
// notifications/initialized or called a tool.
type notifier struct {
	session *Session
	once    sync.Once
	group   sync.WaitGroup
	last    chan struct{} // closed when the session ends
}

func (n *notifier) start(ctx context.Context) {
	s := n.session
	if s.cfg.Streams == nil {
		return
	}
	n.once.Do(func() {
		events, err := s.cfg.Streams.Open(ctx, s.caller(), "")
		if err != nil {
			s.cfg.Log.LogAttrs(ctx, slog.LevelError, "[MCP] notifications unavailable", slog.Any("error", err))
			return
		}
		n.group.Go(func() {
			defer events.Close()
			n.carry(ctx, events)
		})
	})
}

// carry writes notifications until the session ends, and then those already queued: a
// client whose call caused an event must receive the event. It stops when ctx ends or a
// write fails.
func (n *notifier) carry(ctx context.Context, events notify.Stream) {
	var batch []notify.Event
	var wakes channel
	var flush <-chan time.Time
	for last := false; !last; {
		select {
		case <-ctx.Done():
			return
		case <-n.last:
			last = true
		case _, open := <-events.Ready():
			last = !open
		case now := <-flush:
			if flush = nil; !n.session.send(wakes.flush(now)) {
				return
			}
		}
		for batch = events.Take(batch[:0]); len(batch) > 0 && ctx.Err() == nil; batch = events.Take(batch[:0]) {
			for _, e := range batch {
				if !n.session.send(e.Line()) || n.session.cfg.Channel && !n.session.sendOptional(wakes.frame(e, time.Now())) {
					return
				}
			}
		}
		if wait, held := wakes.wait(time.Now()); held && flush == nil {
			flush = time.After(wait)
		}
	}
}

// finish waits until the queued notifications are written.
func (n *notifier) finish() {
	close(n.last)
	n.group.Wait()
}
