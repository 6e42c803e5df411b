package audit

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"candela/internal/store/chain"
	"candela/internal/store/ledger"
	"candela/internal/store/replica/auditlog"
	"candela/internal/store/replica/conn"
	"candela/internal/store/replica/orders"
)

// The streams of the audit log, as its lists name them.
const (
	ordersName = "orders"
	othersName = "others" // the stream AUDIT
)

const (
	firstStep = 128    // messages of a stream that are read at first
	maxStep   = 8192   // and at once
	maxScan   = 50_000 // for a page
	maxPage   = 500    // events of it
)

// Line is an event as a list shows it. One without a chain has no number and no hash.
type Line struct {
	Log     string // the stream, orders or others
	Message uint64
	chain.Event
}

// backward reads a stream from a message back to the first.
type backward struct {
	name    string
	read    func(ctx context.Context, from, to uint64) iter.Seq2[chain.Part, error]
	before  uint64 // messages from here on were read
	step    uint64
	waiting []chain.Part // read and not taken yet, ascending
	scanned uint64
}

// peek returns the newest message that was not taken, nil for none.
func (b *backward) peek(ctx context.Context) (*chain.Part, error) {
	for len(b.waiting) == 0 && b.before > 1 {
		from := b.before - min(b.before-1, b.step)
		for part, err := range b.read(ctx, from, b.before-1) {
			if err != nil {
				return nil, err
			}
			if len(part.All()) > 0 {
				b.waiting = append(b.waiting, part)
			}
		}
		b.scanned += b.before - from
		b.before, b.step = from, min(4*b.step, maxStep)
	}
	if len(b.waiting) == 0 {
		return nil, nil //nolint:nilnil // there is none
	}
	return &b.waiting[len(b.waiting)-1], nil
}

// at returns the number below which nothing was taken.
func (b *backward) at() uint64 {
	if n := len(b.waiting); n > 0 {
		return b.waiting[n-1].Seq + 1
	}
	return b.before
}

// newest has both streams, from their ends or from where an earlier page ended.
type newest struct{ streams [2]*backward }

func openNewest(ctx context.Context, c *conn.Conn) (*newest, error) {
	log, others := orders.Log{Conn: c}, auditlog.Reader{Conn: c}
	n := &newest{[2]*backward{
		{name: ordersName, read: log.Range, step: firstStep},
		{name: othersName, read: func(ctx context.Context, from, to uint64) iter.Seq2[chain.Part, error] {
			return others.Parts(ctx, from, to)
		}, step: firstStep},
	}}
	for i, last := range []func(context.Context) (uint64, error){log.Last, others.Last} {
		seq, err := last(ctx)
		if err != nil {
			return nil, err
		}
		n.streams[i].before = seq + 1
	}
	return n, nil
}

// resume continues where a page ended.
func (n *newest) resume(place string) {
	var at [2]uint64
	if _, err := fmt.Sscanf(place, "%d.%d", &at[0], &at[1]); err != nil {
		return // the newest
	}
	for i, b := range n.streams {
		b.before = min(b.before, max(at[i], 1))
	}
}

func (n *newest) place() string {
	return fmt.Sprintf("%d.%d", n.streams[0].at(), n.streams[1].at())
}

func (n *newest) scanned() uint64 { return n.streams[0].scanned + n.streams[1].scanned }

// take returns the events of the next message of the two streams, newest first; none after the last.
func (n *newest) take(ctx context.Context) ([]Line, error) {
	var from *backward
	var next *chain.Part
	for _, b := range n.streams {
		part, err := b.peek(ctx)
		if err != nil {
			return nil, err
		}
		if part != nil && (next == nil || lastOf(part).At.After(lastOf(next).At)) {
			from, next = b, part
		}
	}
	if next == nil {
		return nil, nil
	}
	events := next.All()
	lines := make([]Line, 0, len(events))
	for _, e := range slices.Backward(events) {
		lines = append(lines, Line{from.name, next.Seq, e})
	}
	from.waiting = from.waiting[:len(from.waiting)-1]
	return lines, nil
}

func lastOf(part *chain.Part) *chain.Event {
	all := part.All()
	return &all[len(all)-1]
}

// Recent returns the newest events of both streams, the oldest of them first. It reads no more messages than it must to find them.
func Recent(ctx context.Context, c *conn.Conn, n int) ([]Line, error) {
	from, err := openNewest(ctx, c)
	if err != nil {
		return nil, err
	}
	var all []Line
	for len(all) < n {
		some, err := from.take(ctx)
		if err != nil {
			return nil, err
		}
		if len(some) == 0 {
			break
		}
		all = append(all, some...)
	}
	all = all[:min(n, len(all))]
	slices.Reverse(all)
	return all, nil
}

// Log is the audit log of replicas, as the console reads it. It is safe for concurrent use.
type Log struct{ Conn *conn.Conn }

// Page returns the newest events that match. It reads a bounded number of messages, so a page may have fewer events than the limit although
// there are more, and it ends with a message, so that it may have more.
func (l Log) Page(ctx context.Context, f ledger.Filter) (p ledger.Page, err error) {
	from, err := openNewest(ctx, l.Conn)
	if err != nil {
		return p, err
	}
	from.resume(f.Before)
	limit := min(max(f.Limit, 1), maxPage)
	for len(p.Events) < limit && from.scanned() < maxScan {
		some, err := from.take(ctx)
		if err != nil {
			return p, err
		}
		if len(some) == 0 || some[0].At.Before(f.Since) {
			return p, nil
		}
		for i := range some {
			if f.Matches(&some[i].Event) {
				p.Events = append(p.Events, some[i].Event)
			}
		}
	}
	p.Next = from.place()
	return p, nil
}

// Verify reads both streams and checks the chain of each owner.
func (l Log) Verify(ctx context.Context) (ledger.Report, error) {
	found, err := Verify(ctx, l.Conn, nil)
	return ledger.Report{Events: found.Events, Checkpoints: found.Checkpoints, Key: found.Key, Breaks: found.Breaks}, err
}
