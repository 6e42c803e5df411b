package provider

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync"
	"time"

	"candela/internal/data/upstream"
	"candela/lib/fault"
)

// StreamProtocol is how a venue speaks over a WebSocket. A StreamRunner uses one for each
// connection and calls one method of it at a time.
type StreamProtocol interface {
	// Key names the stream that carries a subscription.
	Key(ctx context.Context, sub Sub) (string, error)
	// Requests returns the messages that begin or end the streams with these keys,
	// and how many confirmations they bring.
	Requests(keys []string, begin bool) (messages [][]byte, confirmations int)
	// Handle processes a message of the venue and passes its events to c.
	Handle(c *StreamConn, message []byte) error
}

// StreamRunner runs the streams of a venue that speaks over WebSockets.
type StreamRunner struct {
	Venue  string
	Caps   Caps
	Hosts  *upstream.Hosts
	Socket upstream.SocketConfig
	MaxAge time.Duration // when the stream announces its end; 0 means never
	Now    func() time.Time
}

// confirmWithin is how long a venue may take to confirm subscriptions, besides the
// time that asking for them takes.
const confirmWithin = 30 * time.Second

// Run is Streamer.Stream over a protocol.
func (w StreamRunner) Run(ctx context.Context, d StreamProtocol, subs []Sub, changes <-chan Change, emit Emit) error {
	if len(subs) == 0 {
		return fault.Missing("subscriptions", "at least one symbol and interval")
	}
	c := &StreamConn{wire: w, dialect: d, emit: emit, subs: make(map[string]Sub, len(subs)), inForce: make(chan struct{})}
	keys, err := c.add(ctx, subs)
	if err != nil {
		return err
	}
	w.Socket.Venue, w.Socket.OnPing = w.Venue, c.pinged
	if c.socket, err = w.Hosts.Dial(ctx, w.Socket); err != nil {
		return err
	}
	defer c.socket.Close()
	return c.socket.Serve(ctx, c.handle, func(ctx context.Context) error { return c.write(ctx, keys, changes) })
}

// StreamConn is one connection. Its exported methods are for the dialect, while
// it handles a message.
type StreamConn struct {
	wire    StreamRunner
	dialect StreamProtocol
	socket  *upstream.Socket
	emit    Emit

	mu       sync.Mutex
	ctx      context.Context // of the message that is handled
	subs     map[string]Sub  // by key
	sequence EventFilter
	waiting  int           // confirmations that have not come
	inForce  chan struct{} // closed when the first subscriptions are confirmed
	ready    bool
}

// Sub returns the subscription with a key, and false when there is none, as just
// after a drop.
func (c *StreamConn) Sub(key string) (Sub, bool) {
	sub, ok := c.subs[key]
	return sub, ok
}

// Emit sends an event, unless it is a repeat, too late, or of a time when not
// all subscriptions were in force: what came before will be read.
func (c *StreamConn) Emit(e Event) error {
	if e.Kind != Ending && !c.ready || !c.sequence.Allow(&e) {
		return nil
	}
	return c.emit(c.ctx, e)
}

// Confirm takes note that the venue confirmed a request. When the first ones are
// in force it says so.
func (c *StreamConn) Confirm() error {
	c.waiting--
	if c.ready || c.waiting > 0 {
		return nil
	}
	c.ready = true
	close(c.inForce)
	return c.emit(c.ctx, Event{Kind: Alive, At: c.wire.Now()})
}

// Alive reports that the venue is there. It does not wait when nobody listens: the
// next sign of life comes soon.
func (c *StreamConn) Alive() {
	if !c.ready {
		return
	}
	_ = c.emit(c.ctx, Event{Kind: Alive, At: c.wire.Now()})
}

func (c *StreamConn) pinged() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Alive()
}

// handle holds the lock until the message is dealt with, so that after a drop was
// taken no event of it comes.
func (c *StreamConn) handle(ctx context.Context, message []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ctx = ctx
	return c.dialect.Handle(c, message)
}

// add notes subscriptions and returns the keys of those that are new.
func (c *StreamConn) add(ctx context.Context, subs []Sub) ([]string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var keys []string
	for _, sub := range subs {
		if !c.wire.Caps.Has(sub.Interval) {
			return nil, UnsupportedInterval(c.wire.Venue, sub.Interval, c.wire.Caps)
		}
		key, err := c.dialect.Key(ctx, sub)
		if err != nil {
			return nil, err
		}
		if _, have := c.subs[key]; !have {
			c.subs[key] = sub
			keys = append(keys, key)
		}
	}
	if most := c.wire.Caps.MaxSubs; most > 0 && len(c.subs) > most {
		return nil, fault.Field("subscriptions", strconv.Itoa(len(c.subs)), fmt.Sprintf("at most %d in one stream", most))
	}
	return keys, nil
}

// drop forgets subscriptions and returns the keys of those there were.
func (c *StreamConn) drop(subs []Sub) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var keys []string
	for key, have := range c.subs {
		if slices.Contains(subs, have) {
			delete(c.subs, key)
			c.sequence.Forget(have)
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// write subscribes, and then follows the changes and the age of the connection.
func (c *StreamConn) write(ctx context.Context, keys []string, changes <-chan Change) error {
	if err := c.request(ctx, keys, true); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(confirmWithin):
		return fault.Unreachable(nil, 0, "%s: the subscriptions were not confirmed within %v", c.wire.Venue, confirmWithin)
	case <-c.inForce:
	}
	var ending <-chan time.Time
	if c.wire.MaxAge > 0 {
		ending = time.After(c.wire.MaxAge)
	}
	for {
		var err error
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ending:
			err = c.emit(ctx, Event{Kind: Ending, At: c.wire.Now()})
		case change := <-changes:
			err = c.change(ctx, change)
		}
		if err != nil {
			return err
		}
	}
}

func (c *StreamConn) change(ctx context.Context, change Change) error {
	if err := c.request(ctx, c.drop(change.Drop), false); err != nil {
		return err
	}
	keys, err := c.add(ctx, change.Add)
	if err != nil {
		return err
	}
	return c.request(ctx, keys, true)
}

// request begins or ends streams. What is awaited is noted before the first
// message is sent: an answer must not find that nothing is awaited while more is
// to come.
func (c *StreamConn) request(ctx context.Context, keys []string, begin bool) error {
	if len(keys) == 0 {
		return nil
	}
	c.mu.Lock()
	messages, confirmations := c.dialect.Requests(keys, begin)
	c.waiting += confirmations
	c.mu.Unlock()
	for _, message := range messages {
		if err := c.socket.Send(ctx, message); err != nil {
			return err
		}
	}
	return nil
}

// EventFilter turns what a venue sends, which may repeat itself, arrive late or out
// of order, into what a Streamer promises. It drops; it never holds back. The
// zero value is ready; one goroutine only.
type EventFilter struct{ last map[Sub]lastSent }

// lastSent is the last event let through of a subscription.
type lastSent struct {
	at              time.Time
	closed, forming int64 // open times
}

// Allow reports whether the event may be sent after those admitted before. An
// event that is admitted gets a time no earlier than theirs.
func (s *EventFilter) Allow(e *Event) bool {
	if e.Kind == Ending || e.Kind == Alive || e.Kind == Marked {
		return true
	}
	t, ok := s.last[e.Sub]
	if !ok {
		t = lastSent{closed: math.MinInt64, forming: math.MinInt64}
	}
	switch e.Kind {
	case Closed:
		if e.Bar.T <= t.closed {
			return false
		}
		t.closed = e.Bar.T
	case Forming:
		olderState := e.Bar.T == t.forming && e.At.Before(t.at)
		if e.Bar.T <= t.closed || e.Bar.T < t.forming || olderState {
			return false
		}
		t.forming = e.Bar.T
	default:
	}
	if e.At.Before(t.at) {
		e.At = t.at
	}
	t.at = e.At
	if s.last == nil {
		s.last = make(map[Sub]lastSent)
	}
	s.last[e.Sub] = t
	return true
}

// Forget lets a subscription start again.
func (s *EventFilter) Forget(sub Sub) { delete(s.last, sub) }
