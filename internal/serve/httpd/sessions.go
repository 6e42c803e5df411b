package httpd

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"candela/internal/alerting/notify"
	"candela/internal/kit/principal"
	"candela/internal/kit/shutdown"
)

// maxStreams is how many streams of one token may be open, each of another session.
const maxStreams = 4

// displacedRetry is how long a client should wait before it opens a stream again that newer
// sessions have displaced: at once, and they would displace each other without end.
const displacedRetry = 10 * time.Minute

// Streams opens the streams of tokens.
type Streams interface {
	notify.Streams

	// Attached returns the session of the token's stream, and false if no replica has one.
	Attached(caller principal.Caller) (session string, open bool)
}

// sessionOf returns what distinguishes the streams of a token. The header has no other
// meaning, and any length.
func sessionOf(r *http.Request) string {
	id := r.Header.Get(sessionHeader)
	if id == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:8])
}

// sessions holds the streams that are open at this server, for each token the oldest first.
// The newest of a token has its events; the others wait, in case it closes. It is safe for
// concurrent use.
type sessions struct {
	displaced atomic.Uint64 // streams

	mu     sync.Mutex
	tokens map[string][]*session
}

// session is one open stream.
type session struct {
	caller *principal.Caller
	end    context.CancelCauseFunc
	turn   chan struct{} // holds one token; receives when the stream may have become the newest
}

// add adds the caller's newest stream until leave. A stream of the same session ends: a
// client that reconnects is alive, and its old connection may take minutes to fail. So does
// the oldest beyond maxStreams. The returned context ends with ctx, when the server stops,
// and when another stream ends this one.
func (s *sessions) add(ctx context.Context, caller *principal.Caller) (_ context.Context, added *session, leave func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	added = &session{caller: caller, end: cancel, turn: make(chan struct{}, 1)}
	s.mu.Lock()
	open := s.tokens[caller.Key]
	if i := slices.IndexFunc(open, func(o *session) bool { return o.caller.Session == caller.Session }); i >= 0 {
		open[i].end(errTakenOver)
		open = slices.Delete(open, i, i+1)
	} else if len(open) >= maxStreams {
		open[0].end(errDisplaced)
		open = slices.Delete(open, 0, 1)
		s.displaced.Add(1)
	}
	s.tokens[caller.Key] = append(open, added)
	s.mu.Unlock()
	unstop := context.AfterFunc(shutdown.Context(ctx), func() { cancel(errStopping) })
	return ctx, added, func() {
		unstop()
		cancel(nil)
		s.remove(added)
	}
}

// remove removes a stream, and gives its turn to the next one.
func (s *sessions) remove(gone *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := gone.caller.Key
	open := s.tokens[key]
	i := slices.Index(open, gone)
	if i < 0 {
		return // another stream has ended it
	}
	open = slices.Delete(open, i, i+1)
	s.tokens[key] = open
	switch {
	case len(open) == 0:
		delete(s.tokens, key)
	case i == len(open):
		open[i-1].offerTurn()
	}
}

// newest returns the newest stream of a token, or nil.
func (s *sessions) newest(key string) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	open := s.tokens[key]
	if len(open) == 0 {
		return nil
	}
	return open[len(open)-1]
}

func (s *session) offerTurn() {
	select {
	case s.turn <- struct{}{}:
	default:
	}
}

// budget returns the limit of a token's streams and its usage.
func (s *sessions) budget() Budget {
	s.mu.Lock()
	defer s.mu.Unlock()
	most := 0
	for _, open := range s.tokens {
		most = max(most, len(open))
	}
	return Budget{"streams", "token", maxStreams, float64(most), s.displaced.Load()}
}

// reader reads a token's events for one of its streams. It has none while another stream
// has them. One goroutine uses it.
type reader struct {
	*session
	all     *sessions
	streams Streams
	events  notify.Stream // nil while another stream has the events
}

// open takes the events from the token's other streams, unless a newer one was opened
// meanwhile.
func (r *reader) open(ctx context.Context, lastEventID string) error {
	if r.all.newest(r.caller.Key) != r.session {
		return nil
	}
	events, err := r.streams.Open(ctx, *r.caller, lastEventID)
	if err != nil {
		return err
	}
	r.events = events
	if newest := r.all.newest(r.caller.Key); newest != r.session {
		r.close()
		if newest != nil {
			newest.offerTurn() // this one may have taken the events from it
		}
	}
	return nil
}

// resume takes the events if no stream of the token has them, here or at another replica,
// and this is the newest here. If that fails it is tried again at the next keep-alive. The
// stream ends if one of the same session has the events.
func (r *reader) resume(ctx context.Context) error {
	if r.events != nil {
		return nil
	}
	session, attached := r.streams.Attached(*r.caller)
	switch {
	case !attached:
		_ = r.open(ctx, "")
	case session == r.caller.Session:
		return errTakenOver
	}
	return nil
}

// wake receives when there may be events or, without them, when there may be a turn.
func (r *reader) wake() <-chan struct{} {
	if r.events == nil {
		return r.turn
	}
	return r.events.Ready()
}

// yield waits for another turn after another stream has taken over.
func (r *reader) yield(ctx context.Context) error {
	r.close()
	return r.resume(ctx)
}

func (r *reader) close() {
	if r.events != nil {
		r.events.Close()
		r.events = nil
	}
}
