package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"candela/internal/kit/principal"
	"candela/internal/store/chain"
	"candela/internal/store/ledger"
	"candela/internal/store/replica/auditlog"
	"candela/internal/store/replica/conn"
	"candela/internal/store/replica/orders"
)

// Report is what Verify found in the two streams.
type Report struct {
	Events      uint64                          // read, with those that are not chained
	Loose       uint64                          // events without a chain: an older version wrote them
	Checkpoints uint64                          // signed ones
	Key         string                          // ID of the key that signs; "" for none
	Chains      map[principal.Owner]chain.Chain // of orders and trading states
	Others      map[principal.Owner]chain.Chain // of alerts, logins and owners
	Breaks      []ledger.Break

	expected map[principal.Owner]chain.Chain
	found    map[principal.Owner]bool
	keys     map[string]chain.SignedChange
	erased   map[principal.Owner]bool
	doubts   map[principal.Owner]string // of owners whose events are not as they were noted
}

// maxBreaks bounds a report: one break shows that the log cannot be trusted.
const maxBreaks = 20

// Verify reads both streams and checks the chains of each owner. expected are links that were noted earlier and must be there, in one
// of the two. What it read and found wrong is in the report; an error means that it could not read.
//
// It finds a message that was changed, removed, moved or put in between, unless it was the last of its owner; in the stream AUDIT also
// that one, once the chains were noted. It cannot find that the end of a stream was cut off, or an older copy put in its place: that
// contradicts only what was noted elsewhere.
func Verify(ctx context.Context, c *conn.Conn, expected map[principal.Owner]chain.Chain) (Report, error) {
	r := Report{
		Chains: make(map[principal.Owner]chain.Chain), Others: make(map[principal.Owner]chain.Chain), expected: expected, found: make(map[principal.Owner]bool),
		keys: make(map[string]chain.SignedChange), erased: make(map[principal.Owner]bool), doubts: make(map[principal.Owner]string),
	}
	if err := r.readOrders(ctx, c); err != nil {
		return r, err
	}
	if err := r.readOthers(ctx, c); err != nil {
		return r, err
	}
	for owner, link := range expected {
		if !r.found[owner] {
			r.broken("the chains of owner %s do not have the expected link %d: the log was rewritten or replaced by an older copy", owner, link.Events)
		}
	}
	return r, nil
}

func (r *Report) foreign(seq uint64, subject string) {
	r.broken("message %d in %s was not sealed by a replica for its place: it was changed or moved, or a stranger wrote it", seq, subject)
}

// readOrders checks the order stream.
func (r *Report) readOrders(ctx context.Context, c *conn.Conn) error {
	log := orders.Log{Conn: c, Foreign: r.foreign}
	lost, err := log.Lost(ctx)
	if err != nil {
		return err
	}
	if lost > 0 {
		r.broken("the order stream lacks %d messages, and candela removes none", lost)
	}
	for part, err := range log.Parts(ctx, time.Time{}) {
		if err != nil {
			return err
		}
		r.add(part, r.Chains)
	}
	return nil
}

// readOthers checks the stream AUDIT, whose checkpoints are signed with the keys in the order stream.
func (r *Report) readOthers(ctx context.Context, c *conn.Conn) error {
	log := auditlog.Reader{Conn: c, Foreign: r.foreign}
	last, err := log.Last(ctx)
	if err != nil {
		return err
	}
	for part, err := range log.Parts(ctx, 1, last) {
		if err != nil {
			return err
		}
		r.add(part, r.Others)
	}
	removed, err := log.Removed(ctx)
	if err != nil {
		return err
	}
	if removed > 0 && len(r.erased) == 0 {
		r.broken("the stream AUDIT lacks %d messages, and candela removes those of erased owners alone", removed)
	}
	for _, owner := range slices.Sorted(maps.Keys(r.doubts)) {
		if !r.erased[owner] {
			r.broken("%s", r.doubts[owner])
		}
	}
	return nil
}

func (r *Report) broken(format string, args ...any) {
	if len(r.Breaks) < maxBreaks {
		r.Breaks = append(r.Breaks, ledger.Break{What: fmt.Sprintf(format, args...)})
	}
}

// add checks the events of a message.
func (r *Report) add(part chain.Part, chains map[principal.Owner]chain.Chain) {
	r.Events += uint64(len(part.All()))
	if len(part.Loose) > 0 {
		r.Loose += uint64(len(part.Loose))
		return
	}
	now := chains[part.Owner]
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
	chains[part.Owner] = now
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
	case auditlog.HeadsKind:
		return r.compare(e)
	case "owner_erased":
		r.erased[principal.Owner(e.Subject)] = true
	}
	return ""
}

// compare compares the chains of owners with what an event notes.
func (r *Report) compare(e *chain.Event) string {
	var heads auditlog.Heads
	if json.Unmarshal(e.Body, &heads) != nil {
		return "notes no chains"
	}
	for owner, want := range heads {
		if now := r.Others[owner]; now != want && r.doubts[owner] == "" {
			r.doubts[owner] = fmt.Sprintf("owner %q had %d events in the stream AUDIT when they were noted, with the hash %v; it has %d, %v", owner, want.Events, want.Hash, now.Events, now.Hash)
		}
	}
	return ""
}
