package fake

import (
	"context"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// Session is one client's conversation with a fake venue's stream. One goroutine
// only: the Feed's loop for that client.
type Session interface {
	// Receive answers a message of the client's.
	Receive(message []byte) [][]byte
	// Tick returns what is new since the tick before.
	Tick() [][]byte
}

// waker is a Session that sends events between two ticks.
type waker interface{ Wake() <-chan struct{} }

// StreamFaults say how a stream misbehaves. The shares are of the data messages,
// from 0 to 1.
type StreamFaults struct {
	Duplicate, Reorder, Late, Lose float64
	Silent                         bool // nothing is sent but pings
}

// Feed is the WebSocket side that the fakes share. It is safe for concurrent use.
type Feed struct {
	Step     time.Duration // between two ticks
	PingWait time.Duration // between two pings
	MaxAge   time.Duration // after which a connection is cut
	Binary   bool          // messages come in binary frames
	Seed     uint64

	mu     sync.Mutex
	faults StreamFaults
	conns  map[*client]struct{}
	opened int
}

type client struct {
	kill   context.CancelFunc
	notice chan []byte
}

// Set changes how the streams misbehave.
func (f *Feed) Set(faults StreamFaults) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults = faults
}

// Drop cuts every connection.
func (f *Feed) Drop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for c := range f.conns {
		c.kill()
	}
}

// Announce sends a message to every client.
func (f *Feed) Announce(message string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for c := range f.conns {
		select {
		case c.notice <- []byte(message):
		default: // the client has one already and does not read it
		}
	}
}

// Connections returns how many clients there are, and were.
func (f *Feed) Connections() (open, ever int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.conns), f.opened
}

// Serve runs one connection to its end.
func (f *Feed) Serve(w http.ResponseWriter, r *http.Request, s Session) {
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true})
	if err != nil {
		return // Accept has answered
	}
	defer conn.CloseNow() //nolint:errcheck // however it ends, it is over
	conn.SetReadLimit(1 << 20)
	ctx, kill := context.WithCancel(r.Context())
	defer kill()
	c := &client{kill: kill, notice: make(chan []byte, 1)}
	f.mu.Lock()
	if f.conns == nil {
		f.conns = make(map[*client]struct{})
	}
	f.conns[c] = struct{}{}
	f.opened++
	number := f.opened
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		delete(f.conns, c)
		f.mu.Unlock()
	}()
	incoming := make(chan []byte, 256) // the loop may wait for a pong, which the reader must get to
	var reader sync.WaitGroup
	defer reader.Wait()
	defer conn.CloseNow() //nolint:errcheck // lets the reader go
	reader.Go(func() {
		defer kill()
		for {
			_, message, err := conn.Read(ctx)
			if err != nil {
				return
			}
			select {
			case incoming <- message:
			case <-ctx.Done():
				return
			}
		}
	})
	l := &line{conn: conn, kind: websocket.MessageText, random: rand.New(rand.NewPCG(f.Seed, uint64(number)))} //nolint:gosec // a seeded fake
	if f.Binary {
		l.kind = websocket.MessageBinary
	}
	f.loop(ctx, c, l, s, incoming)
}

func (f *Feed) loop(ctx context.Context, c *client, l *line, s Session, incoming <-chan []byte) {
	tick, ping, age := time.NewTicker(f.Step), time.NewTicker(f.PingWait), time.NewTimer(f.MaxAge)
	defer tick.Stop()
	defer ping.Stop()
	defer age.Stop()
	l.late = time.NewTimer(delay)
	defer l.late.Stop()
	var wake <-chan struct{}
	if w, ok := s.(waker); ok {
		wake = w.Wake()
	}
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case <-age.C:
			return
		case message := <-incoming:
			err = l.writeAll(ctx, s.Receive(message))
		case <-l.late.C:
			err = l.writeAll(ctx, l.held)
			l.held = nil
		case message := <-c.notice:
			err = l.write(ctx, message)
		case <-ping.C:
			err = l.conn.Ping(ctx)
		case <-wake:
			err = f.tick(ctx, l, s)
		case <-tick.C:
			err = f.tick(ctx, l, s)
		}
		if err != nil {
			return
		}
	}
}

// tick sends what is new, unless the feed is silent.
func (f *Feed) tick(ctx context.Context, l *line, s Session) error {
	f.mu.Lock()
	faults := f.faults
	f.mu.Unlock()
	messages := s.Tick()
	if faults.Silent {
		return nil
	}
	return l.send(ctx, messages, faults)
}

// line is the way to one client, on which messages may be lost, doubled, swapped
// or held back.
type line struct {
	conn   *websocket.Conn
	kind   websocket.MessageType
	random *rand.Rand
	held   [][]byte // late messages
	late   *time.Timer
}

// delay is how late a late message is.
const delay = time.Second

func (l *line) send(ctx context.Context, messages [][]byte, f StreamFaults) error {
	out := make([][]byte, 0, len(messages))
	for _, m := range messages {
		switch x := l.random.Float64(); {
		case x < f.Lose:
		case x < f.Lose+f.Late:
			if len(l.held) == 0 {
				l.late.Reset(delay)
			}
			l.held = append(l.held, m)
		case x < f.Lose+f.Late+f.Duplicate:
			out = append(out, m, m)
		case x < f.Lose+f.Late+f.Duplicate+f.Reorder && len(out) > 0:
			out = append(out, out[len(out)-1])
			out[len(out)-2] = m
		default:
			out = append(out, m)
		}
	}
	return l.writeAll(ctx, out)
}

func (l *line) writeAll(ctx context.Context, messages [][]byte) error {
	for _, m := range messages {
		if err := l.write(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

func (l *line) write(ctx context.Context, message []byte) error {
	// Connections of Network have no buffers, so that a reader who pauses for a
	// while stops us as no real one would.
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	return l.conn.Write(ctx, l.kind, message)
}
