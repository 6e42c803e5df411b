package upstream

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/coder/websocket"

	"candela/internal/kit/retry"
	"candela/lib/fault"
)

// SocketConfig describes a WebSocket connection.
type SocketConfig struct {
	Venue string
	URL   string // ws or wss
	// Idle is how long the connection may receive nothing, not even a ping, before it is
	// lost; 60 s when 0.
	Idle time.Duration
	// Quiet is how long it may receive no message, although it is alive. 0 means forever.
	Quiet time.Duration
	// OnPing is called from Read after a ping, which is answered.
	OnPing   func()
	Spacing  time.Duration // the least time between two sent messages
	MaxBytes int64         // of one message; 1 MiB when 0
	Header   map[string][]string
}

// writeTimeout bounds the sending of one message or ping.
const writeTimeout = 10 * time.Second

// Socket is an open connection. Read is for one goroutine, the rest is safe for
// concurrent use.
type Socket struct {
	config SocketConfig
	conn   *websocket.Conn
	idle   *time.Timer // of the Read under way; one goroutine only

	mu   sync.Mutex // serialises sending, for the spacing
	next time.Time
}

// Dial opens a connection. The caller closes it. It fails while the host is paused.
func (h *Hosts) Dial(ctx context.Context, c SocketConfig) (*Socket, error) {
	c.Idle = cmp.Or(c.Idle, time.Minute)
	c.MaxBytes = cmp.Or(c.MaxBytes, 1<<20)
	u, err := url.Parse(c.URL)
	if err != nil || u.Host == "" {
		panic("upstream: " + c.Venue + ": " + c.URL + " is not an absolute URL")
	}
	at := h.hostFor(u)
	if wait := at.limiter.paused(); wait > 0 {
		e := &Error{Venue: c.Venue, Subject: "stream", Reason: LocalLimit, Message: "not called, because it asked for a pause", RetryAfter: wait}
		return nil, e.fault()
	}
	attempt, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	s := &Socket{config: c}
	options := &websocket.DialOptions{HTTPClient: at.sockets, HTTPHeader: c.Header, OnPingReceived: s.pinged}
	conn, resp, err := websocket.Dial(attempt, c.URL, options) //nolint:bodyclose // Dial hands over a body in memory
	if err != nil {
		if ctx.Err() != nil {
			return nil, wrapContext(c.Venue, "stream", ctx.Err())
		}
		return nil, refusedDial(c, at, resp, err).fault()
	}
	conn.SetReadLimit(c.MaxBytes)
	s.conn = conn
	return s, nil
}

// pinged is called within Read.
func (s *Socket) pinged(context.Context, []byte) bool {
	s.idle.Reset(s.config.Idle)
	if s.config.OnPing != nil {
		s.config.OnPing()
	}
	return true
}

// refusedDial returns the error of a failed dial, and pauses the host if it asks for it.
func refusedDial(c SocketConfig, at *host, resp *http.Response, err error) *Error {
	e := &Error{Venue: c.Venue, Subject: "stream", Reason: NoResponse, Message: "no connection", cause: err.Error()}
	if resp == nil {
		return e
	}
	e.Status, e.Reason = resp.StatusCode, Refused
	e.RetryAfter = retryAfter(&Response{Header: resp.Header, At: dateOf(resp.Header)})
	if e.Status == http.StatusTooManyRequests || e.Status == http.StatusTeapot {
		e.Reason, e.RetryAfter = Throttled, at.limiter.pause(e.RetryAfter)
	}
	return e
}

// Read returns the next message. An error is final.
func (s *Socket) Read(ctx context.Context) ([]byte, error) {
	wait, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silent := func(d time.Duration) *time.Timer {
		return time.AfterFunc(d, func() { cancel(fault.Unreachable(nil, 0, "%s: the stream was silent for %v", s.config.Venue, d)) })
	}
	s.idle = silent(s.config.Idle)
	defer s.idle.Stop()
	if s.config.Quiet > 0 {
		defer silent(s.config.Quiet).Stop()
	}
	_, data, err := s.conn.Read(wait)
	switch cause := context.Cause(wait); {
	case err == nil:
		return data, nil
	case ctx.Err() != nil:
		return nil, wrapContext(s.config.Venue, "stream", ctx.Err())
	case cause != nil:
		return nil, cause
	default:
		return nil, fault.Unreachable(err, 0, "%s: the stream was lost", s.config.Venue)
	}
}

// Send sends a text message after the spacing. An error is final.
func (s *Socket) Send(ctx context.Context, message []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if wait := time.Until(s.next); wait > 0 {
		if err := retry.Sleep(ctx, wait); err != nil {
			return wrapContext(s.config.Venue, "stream", err)
		}
	}
	s.next = time.Now().Add(s.config.Spacing)
	attempt, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	return s.writeError(ctx, s.conn.Write(attempt, websocket.MessageText, message))
}

// Ping sends a ping and waits for the pong, which a concurrent Read receives.
func (s *Socket) Ping(ctx context.Context) error {
	attempt, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	return s.writeError(ctx, s.conn.Ping(attempt))
}

func (s *Socket) writeError(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return wrapContext(s.config.Venue, "stream", ctx.Err())
	default:
		return fault.Unreachable(errors.New(err.Error()), 0, "%s: the stream does not accept messages", s.config.Venue)
	}
}

// Serve calls handle with each message while write runs in another goroutine. It ends when
// ctx ends, the connection is lost or one of them returns an error, and returns that error
// after both have returned. A write that returns nil stops nothing.
func (s *Socket) Serve(ctx context.Context, handle func(context.Context, []byte) error, write func(context.Context) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var writer sync.WaitGroup
	writer.Go(func() {
		if err := write(ctx); err != nil {
			stop(err)
		}
	})
	err := s.readAll(ctx, handle)
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	stop(err)
	writer.Wait()
	return err
}

func (s *Socket) readAll(ctx context.Context, handle func(context.Context, []byte) error) error {
	for {
		message, err := s.Read(ctx)
		if err != nil {
			return err
		}
		if err := handle(ctx, message); err != nil {
			return err
		}
	}
}

// Close closes the connection without a closing handshake.
func (s *Socket) Close() { _ = s.conn.CloseNow() }
