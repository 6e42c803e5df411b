package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"candela/internal/kit/principal"
	"candela/internal/store/chain"
	"candela/internal/store/ledger"
	"candela/internal/store/replica/conn"
	"candela/internal/store/replica/orders"
)

// Report is what Verify found in the order stream.
type Report struct {
	Events      uint64 // read, with those that are not chained
	Loose       uint64 // events without a chain: an older version wrote them
	Checkpoints uint64 // signed ones
	Key         string // ID of the key that signs; "" for none
	Chains      map[principal.Owner]chain.Chain
	Breaks      []ledger.Break

	expected map[principal.Owner]chain.Chain
	found    map[principal.Owner]bool
	keys     map[string]chain.SignedChange
}

// maxBreaks bounds a report: one break shows that the log cannot be trusted.
const maxBreaks = 20

// Verify reads the whole order stream and checks the chain of each owner. expected are links that were noted earlier and must be
// there. What it read and found wrong is in the report; an error means that it could not read.
//
// It finds a message that was changed, removed, moved or put in between, unless it was the last of its owner. It cannot find that
// the end was cut off, or an older copy put in its place: that contradicts only what was noted elsewhere.
func Verify(ctx context.Context, c *conn.Conn, expected map[principal.Owner]chain.Chain) (Report, error) {
	r := Report{Chains: make(map[principal.Owner]chain.Chain), expected: expected, found: make(map[principal.Owner]bool), keys: make(map[string]chain.SignedChange)}
	log := orders.Log{Conn: c, Foreign: func(seq uint64, subject string) {
		r.broken("message %d in %s was not sealed by a replica for its place: it was changed or moved, or a stranger wrote it", seq, subject)
	}}
	lost, err := log.Lost(ctx)
	if err != nil {
		return r, err
	}
	if lost > 0 {
		r.broken("the order stream lacks %d messages, and candela removes none", lost)
	}
	for part, err := range log.Parts(ctx, time.Time{}) {
		if err != nil {
			return r, err
		}
		r.add(part)
	}
	for owner, link := range expected {
		if !r.found[owner] {
			r.broken("the chain of owner %s does not have the expected link %d: the log was rewritten or replaced by an older copy", owner, link.Events)
		}
	}
	return r, nil
}

func (r *Report) broken(format string, args ...any) {
	if len(r.Breaks) < maxBreaks {
		r.Breaks = append(r.Breaks, ledger.Break{What: fmt.Sprintf(format, args...)})
	}
}

// add checks the events of a message.
func (r *Report) add(part orders.Part) {
	r.Events += uint64(len(part.All()))
	if len(part.Loose) > 0 {
		r.Loose += uint64(len(part.Loose))
		return
	}
	now := r.Chains[part.Owner]
	if part.Before != now {
		r.broken("message %d does not follow the events of owner %q before it: %d events and the hash %v by the message, %d and %v by the stream", part.Seq, part.Owner, part.Before.Events, part.Before.Hash, now.Events, now.Hash)
		now = part.Before
	}
	for i := range part.Events {
		e := &part.Events[i]
		if wrong := r.prove(e, now); wrong != "" {
			r.broken("message %d: event %d of owner %q %s", part.Seq, e.Seq, e.Owner, wrong)
		}
		now.Add(e.Hash)
		if want, asked := r.expected[part.Owner]; asked && want == now {
			r.found[part.Owner] = true
		}
	}
	r.Chains[part.Owner] = now
}

// prove checks an event about a key or a checkpoint, and returns what is wrong with it.
func (r *Report) prove(e *chain.Event, before chain.Chain) string {
	switch e.Kind {
	case chain.CheckpointKind:
		r.Checkpoints++
		var signed chain.Signed
		if json.Unmarshal(e.Body, &signed) != nil {
			return "is no checkpoint"
		}
		key, known := r.keys[signed.Signature.Key]
		switch c := signed.Checkpoint; {
		case c.Owner != e.Owner || c.Events != before.Events || c.Hash != before.Hash:
			return "is a checkpoint of other events: the log was rewritten after it was signed"
		case !known || signed.Verify(key.Change.Public) != nil:
			return "is a checkpoint without a valid signature"
		}
	case chain.KeyKind:
		var change chain.SignedChange
		if json.Unmarshal(e.Body, &change) != nil {
			return "is no change of a key"
		}
		if _, err := change.Verify(nil); err != nil {
			return "changes the key of receipts with a signature that is not valid"
		}
		r.Key, r.keys[change.Change.Key] = change.Change.Key, change
	}
	return ""
}

// Line is an event as a list shows it. One without a chain has no number and no hash.
type Line struct {
	Message uint64
	chain.Event
}

// Recent returns the newest events, the oldest of them first. It reads the whole stream.
func Recent(ctx context.Context, c *conn.Conn, n int) ([]Line, error) {
	var last []Line
	for part, err := range (orders.Log{Conn: c}).Parts(ctx, time.Time{}) {
		if err != nil {
			return nil, err
		}
		for _, e := range part.All() {
			last = append(last, Line{part.Seq, e})
		}
		if len(last) > 2*n+chain.SealEvery {
			last = append([]Line(nil), last[len(last)-n:]...)
		}
	}
	return last[max(0, len(last)-n):], nil
}
