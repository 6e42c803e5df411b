package orders

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"candela/internal/kit/principal"
	"candela/internal/kit/retry"
	"candela/internal/store/replica/conn"
	"candela/internal/trading/order"
	"candela/lib/market"
)

// Notices are stored in the messages of the events that they follow from, and published to the log of
// notifications afterwards. That is another stream, so a writer may end between the two; the next one
// publishes the rest. The log takes each notice once.

// NoticeLog is the log of notifications.
type NoticeLog interface {
	// NoticeCursor returns the number of the last message whose notices are in the log, and false if
	// none was ever saved.
	NoticeCursor(ctx context.Context) (uint64, bool, error)
	SaveNoticeCursor(ctx context.Context, seq uint64) error
	// AddNotices adds those that the log does not have, in their order. After an error some may be added.
	AddNotices(ctx context.Context, notices []order.Notice) error
}

const (
	maxQueuedNotices = 1000 // messages; the others are read again
	saveCursorEvery  = 5 * time.Second
	noticePause      = time.Second // after a failure
)

// storedNotice is a notice as a message holds it.
type storedNotice struct {
	Owner  principal.Owner `json:"owner"`
	ID     string          `json:"id"`
	Event  string          `json:"event"`
	Symbol market.Symbol   `json:"symbol,omitzero"`
	At     time.Time       `json:"at"`
	Data   json.RawMessage `json:"data"`
}

func storedNotices(notices []order.Notice) []storedNotice {
	all := make([]storedNotice, 0, len(notices))
	for _, n := range notices {
		all = append(all, storedNotice{n.Owner, n.ID, n.Event, n.Symbol, n.At, n.Data})
	}
	return all
}

// noticed is the notices of a message.
type noticed struct {
	seq     uint64
	notices []order.Notice
}

func (p *page[T]) noticed(seq uint64) noticed {
	n := noticed{seq: seq}
	for _, s := range p.Notices {
		n.notices = append(n.notices, order.Notice{Owner: s.Owner, ID: s.ID, Event: s.Event, Symbol: s.Symbol, At: s.At, Data: s.Data})
	}
	return n
}

// ofKept returns the notices of the events that are kept, which are a part of all in their order: only
// fills may be missing.
func ofKept(notices []order.Notice, events, kept []order.Event) []order.Notice {
	if len(events) == len(kept) || len(notices) == 0 {
		return notices
	}
	known := make(map[*order.Fill]bool)
	for _, e := range kept {
		known[e.Fill] = true
	}
	var left []order.Notice
	for _, n := range notices {
		if e := events[n.Of]; e.Kind != order.KindFill || known[e.Fill] {
			left = append(left, n)
		}
	}
	return left
}

// queueNotices has the notices of a message published. The caller holds mu.
func (o *Store) queueNotices(seq uint64, notices []order.Notice) {
	if len(notices) == 0 {
		return
	}
	if len(o.noticed) < maxQueuedNotices && !o.noticesBehind {
		o.noticed = append(o.noticed, noticed{seq, notices})
	} else {
		o.noticesBehind = true
	}
	select {
	case o.noticesReady <- struct{}{}:
	default:
	}
}

// takeNotices returns the queued notices, and up to which message to read others if some were not queued.
func (o *Store) takeNotices() (queued []noticed, readTo uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	queued = o.noticed
	o.noticed = nil
	if o.noticesBehind {
		o.noticesBehind = false
		for subject, seq := range o.lastWritten {
			if strings.HasPrefix(subject, o.Subject(orderKind, "")) || strings.HasPrefix(subject, o.Subject(deskKind, "")) {
				readTo = max(readTo, seq)
			}
		}
	}
	return queued, readTo
}

// OpenNotices returns a function that publishes notices to a log until its context ends: those that an
// earlier writer left, then those that are written here. It must be called before the first is.
func (o *Store) OpenNotices(ctx context.Context, to NoticeLog) (run func(context.Context), err error) {
	cursor, known, err := to.NoticeCursor(ctx)
	if err == nil && !known {
		cursor = o.fencingToken
		err = to.SaveNoticeCursor(ctx, cursor)
	}
	p := &noticePublisher{store: o, to: to, cursor: cursor, saved: cursor}
	return p.run, err
}

// noticePublisher is used by one goroutine.
type noticePublisher struct {
	store         *Store
	to            NoticeLog
	cursor, saved uint64
	savedAt       time.Time
}

func (p *noticePublisher) run(ctx context.Context) {
	failing := false
	for behind := p.store.fencingToken; ctx.Err() == nil; {
		err := p.read(ctx, behind)
		if err == nil {
			behind = 0
			err = p.follow(ctx, &behind)
		}
		if err != nil && ctx.Err() == nil && !failing {
			failing = true
			p.store.Log.ErrorContext(ctx, "order notices not published yet", "error", err)
		}
		if err == nil {
			failing = false
		}
		_ = retry.Sleep(ctx, noticePause) // the loop ends with ctx
	}
	final, cancel := context.WithTimeout(context.WithoutCancel(ctx), conn.AttemptTimeout)
	defer cancel()
	_ = p.save(final, 0) // else some are published again, which the log ignores
}

// follow publishes what is queued until something has to be read, which sets behind, or fails.
func (p *noticePublisher) follow(ctx context.Context, behind *uint64) error {
	for {
		select {
		case <-p.store.noticesReady:
		case <-time.After(saveCursorEvery):
		case <-ctx.Done():
			return nil
		}
		queued, readTo := p.store.takeNotices()
		for _, n := range queued {
			if err := p.publish(ctx, n); err != nil {
				*behind = max(readTo, queued[len(queued)-1].seq) // the rest is read again
				return err
			}
		}
		if readTo > 0 {
			*behind = readTo
			return nil
		}
		if err := p.save(ctx, saveCursorEvery); err != nil {
			return err
		}
	}
}

// read publishes the notices of the messages after the cursor, up to one.
func (p *noticePublisher) read(ctx context.Context, end uint64) error {
	o := p.store
	if end <= p.cursor {
		return nil
	}
	for m, err := range o.readUntil(ctx, end, jetstream.OrderedConsumerConfig{
		FilterSubjects: []string{o.Subject(orderKind, ">"), o.Subject(deskKind, ">"), o.writer()},
		DeliverPolicy:  jetstream.DeliverByStartSequencePolicy, OptStartSeq: p.cursor + 1,
	}) {
		if err != nil {
			return err
		}
		var found page[json.RawMessage]
		if m.Forged != "" || json.Unmarshal(m.Data, &found) != nil {
			continue // the account itself reports what it cannot read
		}
		if err := p.publish(ctx, found.noticed(m.Seq)); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	p.cursor = max(p.cursor, end)
	return p.save(ctx, saveCursorEvery)
}

// publish adds the notices of a message to the log and moves the cursor.
func (p *noticePublisher) publish(ctx context.Context, n noticed) error {
	if n.seq <= p.cursor {
		return nil
	}
	if len(n.notices) > 0 {
		if err := p.to.AddNotices(ctx, n.notices); err != nil {
			return err
		}
	}
	p.cursor = n.seq
	return nil
}

// save saves the cursor if it has moved and was not saved for a while.
func (p *noticePublisher) save(ctx context.Context, every time.Duration) error {
	if p.cursor == p.saved || time.Since(p.savedAt) < every {
		return nil
	}
	if err := p.to.SaveNoticeCursor(ctx, p.cursor); err != nil {
		return err
	}
	p.saved, p.savedAt = p.cursor, time.Now()
	return nil
}
