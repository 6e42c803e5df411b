package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"candela/internal/kit/principal"
	"candela/internal/store/chain"
	"candela/internal/store/receipt"
)

// OrderStory returns the events of an owner's order and of the orders of its group, in their order, at most one more than limit.
func (a *Audit) OrderStory(ctx context.Context, owner principal.Owner, id string, limit int) ([]Event, error) {
	ids, err := a.group(ctx, owner, id)
	if err != nil {
		return nil, err
	}
	from, err := a.made(ctx, ids[0])
	if err != nil {
		return nil, err
	}
	events, err := a.eventsOf(ctx, owner, ids, from, limit)
	if err == nil && !slices.ContainsFunc(events, func(e Event) bool { return e.Subject == id && e.Kind == chain.OrderKind+"created" }) {
		events, err = a.eventsOf(ctx, owner, ids, 0, limit) // the clock was set back
	}
	for i := range events {
		if events[i].Sum() != events[i].Hash {
			return nil, damaged(fmt.Sprintf("event %d", events[i].Seq), errors.New("it has another hash"))
		}
	}
	return events, err
}

// eventsOf returns the events of some orders from a number on.
func (a *Audit) eventsOf(ctx context.Context, owner principal.Owner, ids []string, from uint64, limit int) ([]Event, error) {
	args := []any{owner, from}
	for _, one := range ids {
		args = append(args, one)
	}
	marks := strings.TrimSuffix(strings.Repeat("?,", len(ids)), ",")
	return collect(rows(ctx, a.db, "read the events of an order", scanEvent,
		selectEvents+"WHERE owner = ? AND seq >= ? AND substr(kind, 1, 6) = 'order_' AND subject IN ("+marks+") ORDER BY seq LIMIT ?", append(args, limit+1)...))
}

// maxGroup bounds the orders of a group, with those that protected its position later.
const maxGroup = 500

// group returns the IDs of an owner's order and of the orders that belong to the same entry, the oldest first.
func (a *Audit) group(ctx context.Context, owner principal.Owner, id string) ([]string, error) {
	var body []byte
	if err := a.db.QueryRowContext(ctx, "SELECT body FROM orders WHERE owner = ? AND id = ?", owner, id).Scan(&body); err != nil {
		return nil, orderFailure(id, err)
	}
	asked, err := parseOrder(body)
	if err != nil || asked.External {
		return []string{id}, err
	}
	head := asked.Head()
	var ids []string
	for body, err := range rows(ctx, a.db, "read the orders", column[[]byte], "SELECT body FROM orders WHERE owner = ? AND instr(body, ?) > 0 ORDER BY created, id LIMIT ?", owner, head, maxGroup) {
		if err != nil {
			return nil, err
		}
		o, err := parseOrder(body)
		if err != nil {
			return nil, err
		}
		if o.ID == head || o.Head() == head {
			ids = append(ids, o.ID)
		}
	}
	if !slices.Contains(ids, id) {
		ids = append(ids, id)
	}
	return ids, nil
}

// Stretch returns the part of an owner's chain between two checkpoints that has an event, with at most one more link than limit.
func (a *Audit) Stretch(ctx context.Context, owner principal.Owner, seq uint64, limit int) (receipt.Links, error) {
	tx, err := snapshot(ctx, a.db)
	if err != nil {
		return receipt.Links{}, err
	}
	defer func() { _ = tx.Rollback() }() // nothing to undo
	var links receipt.Links
	first, signed, err := checkpoint(ctx, tx, "SELECT seq, body FROM events WHERE owner = ? AND "+ofProofs+"AND seq < ? ORDER BY seq DESC LIMIT 1", owner, seq)
	if err != nil {
		return links, err
	}
	links.Before = Chain{Events: signed.Checkpoint.Events, Hash: signed.Checkpoint.Hash}
	end, signed, err := checkpoint(ctx, tx, "SELECT seq, body FROM events WHERE owner = ? AND "+ofProofs+"AND seq > ? ORDER BY seq LIMIT 1", owner, seq)
	if err != nil {
		return links, err
	}
	links.Signed = signed
	if end == 0 {
		end = 1<<63 - 1
	}
	scan := func(scan scanner) (e Event, err error) {
		var hash []byte
		err = scan(&e.Seq, &hash)
		copy(e.Hash[:], hash)
		return e, err
	}
	for e, err := range rows(ctx, tx, "read the events of an owner", scan, "SELECT seq, hash FROM events WHERE owner = ? AND seq >= ? AND seq < ? ORDER BY seq LIMIT ?", owner, first, end, limit+1) {
		if err != nil {
			return links, err
		}
		links.Seqs, links.Hashes = append(links.Seqs, e.Seq), append(links.Hashes, e.Hash)
	}
	return links, nil
}

// checkpoint returns the checkpoint that a query finds, and 0 if there is none.
func checkpoint(ctx context.Context, db querier, query string, owner principal.Owner, seq uint64) (at uint64, signed chain.Signed, err error) {
	var body []byte
	err = db.QueryRowContext(ctx, query, owner, chain.CheckpointKind, seq).Scan(&at, &body)
	if noRow(err) {
		return 0, signed, nil
	}
	if err == nil && json.Unmarshal(body, &signed) != nil {
		err = damaged(fmt.Sprintf("event %d", at), errors.New("no valid body"))
	}
	return at, signed, failure("read a checkpoint", err)
}

// PolicySeq returns the number of the last event before another that has a policy, by its hash, 0 for none.
func (a *Audit) PolicySeq(ctx context.Context, hash string, before uint64) (seq uint64, err error) {
	err = a.db.QueryRowContext(ctx, "SELECT coalesce(max(seq), 0) FROM events WHERE owner = ? AND "+ofProofs+"AND subject = ? AND seq < ?", "", chain.PolicyKind, hash, before).Scan(&seq)
	return seq, failure("read the policies", err)
}

// OrderOwner returns the owner of an order, for an operator who has its ID alone.
func (a *Audit) OrderOwner(ctx context.Context, id string) (owner principal.Owner, err error) {
	err = a.db.QueryRowContext(ctx, "SELECT owner FROM orders WHERE id = ?", id).Scan(&owner)
	if err != nil {
		err = orderFailure(id, err)
	}
	return owner, err
}
