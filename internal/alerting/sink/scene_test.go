package sink

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/alerting/notify"
	"candela/internal/alerting/notify/local"
	"candela/internal/alerting/sink/sinktest"
	"candela/internal/kit/principal"
)

// shelf is a store in memory.
type shelf struct {
	mu      sync.Mutex
	cursors map[string]uint64
	writes  int
	err     error
}

func (s *shelf) Cursors(context.Context) (map[principal.Owner]map[string]uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return map[principal.Owner]map[string]uint64{"owner": maps.Clone(s.cursors)}, s.err
}

func (s *shelf) SaveCursors(_ context.Context, owner principal.Owner, cursors map[string]uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil || owner != "owner" {
		return errors.New("the disk is full")
	}
	s.writes++
	maps.Copy(s.cursors, cursors)
	return nil
}

func (s *shelf) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

func (s *shelf) next() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cursors["sink:webhook"]
}

// attempt is a request that reached the receiver.
type attempt struct {
	seq   uint64
	after time.Duration // since the scene began
}

// scene is an inbox, a store and a scripted receiver. It runs inside a synctest bubble.
type scene struct {
	t     *testing.T
	began time.Time
	log   *local.Inbox
	store *shelf
	out   *bytes.Buffer // what was logged; read it when no sink runs
	slog  *slog.Logger
	seq   uint64
	sink  *Sink // started last
	post  func(Notice) error

	mu       sync.Mutex
	attempts []attempt
	answer   func(seq uint64) (status int, header http.Header, err error)
}

func newScene(t *testing.T) *scene {
	t.Helper()
	s := &scene{t: t, began: time.Now(), store: &shelf{cursors: map[string]uint64{}}, out: &bytes.Buffer{}}
	s.slog = slog.New(slog.NewTextHandler(s.out, &slog.HandlerOptions{Level: slog.LevelDebug}))
	s.reopen()
	s.takes()
	return s
}

// reopen gives the scene an empty log, as a new process has.
func (s *scene) reopen() {
	log, err := local.Open(local.Config{Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		s.t.Fatal(err)
	}
	s.log = log
}

// takes makes the receiver take everything.
func (s *scene) takes() {
	s.answers(func(uint64) (int, http.Header, error) { return 200, nil, nil })
}

func (s *scene) answers(f func(seq uint64) (int, http.Header, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = f
}

// RoundTrip is the receiver.
func (s *scene) RoundTrip(req *http.Request) (*http.Response, error) {
	seq, err := strconv.ParseUint(req.Header.Get(HeaderSeq), 10, 64)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.attempts = append(s.attempts, attempt{seq, time.Since(s.began)})
	answer := s.answer
	s.mu.Unlock()
	status, header, err := answer(seq)
	if errors.Is(err, errHang) {
		<-req.Context().Done()
		return nil, req.Context().Err()
	}
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader("ok"))}, nil
}

var errHang = errors.New("hang")

// start runs a sink. stop ends it and returns its error.
func (s *scene) start() (stop func() error) {
	s.t.Helper()
	to := newPoster(s.t, "https://a.example/hunter2?key=hunter3")
	to.transport = s
	return s.startWith("webhook", to)
}

func (s *scene) startWith(name string, to Receiver) (stop func() error) {
	s.t.Helper()
	sink := New(Target{name, to}, Config{
		Owner: "owner", Notifications: s.log, Store: s.store, Now: time.Now, Rand: func() float64 { return 0.5 }, Log: s.slog, Post: s.post,
	})
	s.sink = sink
	ctx, cancel := context.WithCancel(s.t.Context())
	done, ready := make(chan error, 1), make(chan struct{})
	go func() { done <- sink.Run(ctx, context.WithoutCancel(ctx), func() { close(ready) }) }()
	select {
	case <-ready:
	case err := <-done:
		done <- err
	}
	return func() error {
		cancel()
		return <-done
	}
}

// fire appends n entries.
func (s *scene) fire(n int) {
	for range n {
		s.seq++
		s.log.Append([]notify.Entry{*sinktest.Entry(s.seq, time.Now())})
	}
}

// seqs waits until nothing happens any more and returns what was tried.
func (s *scene) seqs() []uint64 {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	var seqs []uint64
	for _, a := range s.attempts {
		seqs = append(seqs, a.seq)
	}
	return seqs
}

func (s *scene) wants(want ...uint64) {
	s.t.Helper()
	if got := s.seqs(); !slices.Equal(got, want) {
		s.t.Fatalf("sent %v, want %v", got, want)
	}
}

// fails makes the receiver fail n times, then take everything.
func (s *scene) fails(n int, status int, header http.Header) {
	s.answers(func(uint64) (int, http.Header, error) {
		if n--; n >= 0 {
			return status, header, nil
		}
		return 200, nil, nil
	})
}

func bubble(t *testing.T, run func(s *scene)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { run(newScene(t)) })
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
