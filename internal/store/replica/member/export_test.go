package member

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"
	"unicode"

	"github.com/nats-io/nats.go"

	"candela/internal/store/replica/conn"
	"candela/internal/store/replica/table"
)

// OwnerTime is how long a call waits for a shard owner.
const OwnerTime = ownerTimeout

// Unheard reports whether m's server knows that a replica is not subscribed to calls.
func (m *Group) Unheard(id string) bool {
	_, err := m.table.NATS().Request(m.peerSubject(id), nil, 50*time.Millisecond)
	return errors.Is(err, nats.ErrNoResponders)
}

// Alone returns a group without a connection and other replicas, which drains or owns everything.
func Alone(drains bool, log *slog.Logger) *Group {
	m := &Group{table: &table.Table{Conn: new(conn.Conn)}, id: "a", log: log, changed: make(chan struct{})}
	m.candidates.Store(&Candidates{newCandidate(m.id, drains)})
	return m
}

// LiveAfter applies heartbeats to replica a and reports whether b is live afterwards. A letter is
// a replica's heartbeat, and a capital letter its departure. The servers store one per second,
// those in brackets at once, and all after a "<" by a clock that is an hour behind.
func LiveAfter(beats string) bool {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	m := &Group{
		table: &table.Table{Conn: new(conn.Conn)}, id: "a", log: slog.New(slog.DiscardHandler), ctx: ctx,
		peers: make(map[string]*peer), changed: make(chan struct{}), reconnected: make(chan struct{}),
	}
	m.candidates.Store(&Candidates{newCandidate(m.id, false)})
	at, every := time.Unix(0, 0), time.Second
	for _, letter := range beats {
		switch letter {
		case '(':
			at, every = at.Add(every), 0
			continue
		case ')':
			every = time.Second
			continue
		case '<':
			at = at.Add(-time.Hour)
			continue
		}
		at = at.Add(every)
		one := conn.Message{Subject: m.subject(strings.ToLower(string(letter))), At: at}
		if unicode.IsLower(letter) {
			one.Data = []byte("{}")
		}
		m.apply(ctx, one)
	}
	return m.Live("b")
}

// Beats returns the number of own heartbeats received.
func (m *Group) Beats() uint64 { return m.ownSeen.Load() }
