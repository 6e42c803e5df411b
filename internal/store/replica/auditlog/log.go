// Package auditlog owns the stream AUDIT: the events about alerts, logins and owners where replicas share their state, as a chain
// for each owner like that of orders. Every replica may append. It refuses nothing that a replica reports; what the events mean
// is up to its callers, the stores beside it and package audit, which reads both streams.
package auditlog

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"candela/internal/kit/lru"
	"candela/internal/kit/principal"
	"candela/internal/store/chain"
	"candela/internal/store/replica/conn"
	"candela/lib/fault"
)

const (
	// Kind is the first token of the subjects. The owner follows.
	Kind = "audit"

	streamName = "AUDIT"

	maxTails   = 10_000    // owners whose last message is known here
	maxMessage = 256 << 10 // bytes of the bodies in a message; servers accept a megabyte by default
)

// Log writes the stream. A write names the last message of the stream, and each message is sealed for its number, so no message can
// be put twice or moved, and of two replicas that write at once one reads again. It is safe for concurrent use.
type Log struct {
	Reader

	// OnCheckpoint receives each signed checkpoint after it was stored. It must not block. Set it before the first write.
	OnCheckpoint func(chain.Signed)

	stream jetstream.Stream
	key    chain.Key
	now    func() time.Time

	mu    sync.Mutex // held by one writer at a time
	known bool       // seen and marks are those of the stream, as far as this replica knows
	seen  uint64     // number of the last message
	marks map[string]uint64
	tails lru.Cache[principal.Owner, tail]
}

// Open returns the log, and creates the stream if there is none.
func Open(ctx context.Context, c *conn.Conn, now func() time.Time) (*Log, error) {
	l := &Log{Reader: Reader{Conn: c}, key: chain.NewKey(c.Seals.ReceiptSeed), now: now}
	l.tails.Limit = maxTails
	var err error
	l.stream, err = c.OpenStream(ctx, jetstream.StreamConfig{
		Name: streamName, Storage: jetstream.FileStorage, AllowAtomicPublish: true, Subjects: []string{c.Subject(Kind, ">")},
		// Kept forever, but for what an erased owner had. Direct reads may come from a lagging server.
		DenyDelete: true, AllowDirect: false,
	})
	return l, err
}

// Record appends one event.
func (l *Log) Record(ctx context.Context, by principal.Caller, kind, subject string, body []byte) error {
	return l.append(ctx, "", 0, []chain.Event{{Owner: by.Subject, Kind: kind, Subject: subject, At: conn.StoredTime(l.now()), Actor: by.Key, Client: by.Client, Body: body}})
}

// Move appends events that were committed elsewhere, unless it did so already: from names their source, whose events up to mark
// these are. They are of one attempt: all are appended, or none.
func (l *Log) Move(ctx context.Context, from string, mark uint64, events []chain.Event) error {
	return l.append(ctx, from, mark, events)
}

func (l *Log) append(ctx context.Context, from string, mark uint64, events []chain.Event) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	id := rand.Text()
	tried, after := false, uint64(0) // an attempt without an acknowledgement may stand after a message
	return l.RetryWrite(ctx, "write the audit log", func(ctx context.Context) error {
		if err := l.know(ctx); err != nil {
			return err
		}
		if from != "" && l.marks[from] >= mark {
			return nil
		}
		if tried && from == "" && l.seen > after {
			if stands, err := l.stands(ctx, after, id); stands || err != nil {
				return err
			}
		}
		tried, after = true, l.seen
		return l.attempt(ctx, id, from, mark, events)
	})
}

// attempt appends events after the last message that this replica knows. The caller holds mu.
func (l *Log) attempt(ctx context.Context, id, from string, mark uint64, events []chain.Event) error {
	d := draft{log: l, id: id, marks: maps.Clone(l.marks), tails: make(map[principal.Owner]tail)}
	if from != "" {
		if d.marks == nil {
			d.marks = make(map[string]uint64)
		}
		d.marks[from] = mark
	}
	if err := d.add(ctx, events); err != nil {
		return err
	}
	l.known = false // until the servers say that it stands
	first, err := l.Publish(ctx, l.Name(), d.changes...)
	if err == nil {
		l.written(&d, first)
	}
	return err
}

// written notes what was appended.
func (l *Log) written(d *draft, first uint64) {
	l.known, l.seen, l.marks = true, first+uint64(len(d.changes))-1, d.marks
	for owner, next := range d.tails {
		l.tails.Put(owner, next, 1)
	}
	for _, made := range d.made {
		if l.OnCheckpoint != nil {
			l.OnCheckpoint(made)
		}
	}
}

// know reads the end of the stream, unless the last message is one of this replica.
func (l *Log) know(ctx context.Context) error {
	if l.known {
		return nil
	}
	l.tails = lru.Cache[principal.Owner, tail]{Limit: maxTails}
	state, err := l.StreamState(ctx, l.Name())
	if err != nil {
		return err
	}
	_, m, err := l.lastOf(ctx, l.Subject(Kind, ">"))
	if err != nil {
		return err
	}
	l.known, l.seen, l.marks = true, state.LastSeq, m.Marks
	return nil
}

// stands reports whether a message with an ID was stored after another.
func (l *Log) stands(ctx context.Context, after uint64, id string) (bool, error) {
	for m, err := range l.between(ctx, after+1, l.seen, l.Subject(Kind, ">")) {
		var one message
		if err == nil && m.Forged == "" {
			err = json.Unmarshal(m.Data, &one)
		}
		if err != nil || one.ID == id {
			return err == nil, err
		}
	}
	return false, nil
}

// tail returns the chain of an owner. The caller holds mu, and the end of the stream is known.
func (l *Log) tail(ctx context.Context, owner principal.Owner) (tail, error) {
	if known, ok := l.tails.Get(owner); ok {
		return known, nil
	}
	found, m, err := l.lastOf(ctx, l.subject(owner))
	if err != nil || !found {
		return tail{}, err
	}
	_, next := m.events(owner)
	return next, nil
}

// draft is the messages of one write.
type draft struct {
	log     *Log
	id      string
	marks   map[string]uint64
	tails   map[principal.Owner]tail
	changes []conn.Change
	made    []chain.Signed
}

var errTooMany = &fault.Error{Kind: fault.Invalid, Code: "too_large", Message: "The write exceeds the size limit of the shared store."}

// add adds the messages of events, those of each owner in their order.
func (d *draft) add(ctx context.Context, events []chain.Event) error {
	byOwner := make(map[principal.Owner][]chain.Event)
	for _, e := range events {
		byOwner[e.Owner] = append(byOwner[e.Owner], e)
	}
	for _, owner := range slices.Sorted(maps.Keys(byOwner)) {
		for rest := byOwner[owner]; len(rest) > 0; {
			n, size := 0, 0
			for n < len(rest) && (n == 0 || size+len(rest[n].Body) <= maxMessage) && n < chain.SealEvery/2 {
				size += len(rest[n].Body)
				n++
			}
			if err := d.message(ctx, owner, rest[:n]); err != nil {
				return err
			}
			rest = rest[n:]
		}
	}
	if len(d.changes) > conn.MaxBatch {
		return errTooMany
	}
	return nil
}

// message adds one message.
func (d *draft) message(ctx context.Context, owner principal.Owner, events []chain.Event) error {
	next, begun := d.tails[owner]
	var err error
	if !begun {
		if next, err = d.log.tail(ctx, owner); err != nil {
			return err
		}
	}
	m := message{ID: d.id, Chain: next.Chain, Sealed: next.sealed, Marks: d.marks}
	add := func(e chain.Event) {
		m.Events = append(m.Events, stored{e.At, e.Kind, e.Subject, e.Actor, e.Client, e.Body})
		next.extend(&e)
	}
	for _, e := range events {
		var body bytes.Buffer // as it is stored
		if err := json.Compact(&body, e.Body); err != nil {
			return conn.Final(err)
		}
		e.Owner, e.Body = owner, body.Bytes()
		if now := d.log.now(); chain.Due(next.Events, next.sealed, next.at, now) {
			signed, err := d.log.key.Seal(chain.Checkpoint{Owner: owner, Events: next.Events, Hash: next.Hash, At: chain.Stamp(now)})
			if err != nil {
				return conn.Final(err)
			}
			body, err := json.Marshal(signed)
			if err != nil {
				return conn.Final(err)
			}
			next.sealed = next.Events
			d.made = append(d.made, signed)
			add(chain.Event{Owner: owner, Kind: chain.CheckpointKind, At: conn.StoredTime(now), Body: body})
		}
		add(e)
	}
	data, err := m.encode()
	if err != nil {
		return err
	}
	d.tails[owner] = next
	ch := conn.Change{Subject: d.log.subject(owner), Data: data}
	if len(d.changes) == 0 {
		ch.CompareAndSet, ch.WholeStream, ch.Revision = true, true, d.log.seen
	}
	d.changes = append(d.changes, ch)
	return nil
}

// ChainOf returns the chain of an owner as it is now.
func (l *Log) ChainOf(ctx context.Context, owner principal.Owner) (now chain.Chain, err error) {
	err = l.RetryRead(ctx, func(ctx context.Context) error {
		found, m, err := l.lastOf(ctx, l.subject(owner))
		if err == nil && found {
			_, tail := m.events(owner)
			now = tail.Chain
		}
		return err
	})
	return now, conn.Unavailable("read events", err)
}

// Erase removes the events of an owner, and returns the chain that they were. The chains of all owners are noted first, so that the
// log shows what was there.
func (l *Log) Erase(ctx context.Context, owner principal.Owner) (was chain.Chain, err error) {
	if err := l.NoteHeads(ctx); err != nil {
		return was, err
	}
	err = l.RetryWrite(ctx, "erase events", func(ctx context.Context) error {
		found, m, err := l.lastOf(ctx, l.subject(owner))
		if err != nil || !found {
			return err // an attempt without an acknowledgement may have removed them
		}
		_, now := m.events(owner)
		was = now.Chain
		ctx, cancel := context.WithTimeout(ctx, conn.AttemptTimeout)
		defer cancel()
		return l.stream.Purge(ctx, jetstream.WithPurgeSubject(l.subject(owner)))
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	l.known = false
	return was, err
}
