// Package audit reads what replicas record as an audit log, and makes receipts of it. It writes nothing.
package audit

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"candela/internal/kit/id"
	"candela/internal/kit/principal"
	"candela/internal/store/chain"
	"candela/internal/store/receipt"
	"candela/internal/store/replica/conn"
	"candela/internal/store/replica/orders"
	"candela/internal/trading/order"
	"candela/lib/fault"
)

const (
	// clockMargin is by how much the clocks of replicas and servers may differ where an order is looked for by the time in its ID.
	// If it is not found, everything is read.
	clockMargin = 5 * time.Minute

	maxGroup = 500 // orders of a group, with those that protected its position later

	// MaxRead is how many messages a replica reads for the receipt that a client asks for: some seconds.
	MaxRead = 100_000
)

// Source has the events of one order and its group as a receipt needs them. It is read once, and used by one goroutine.
type Source struct {
	Most uint64 // messages that it reads at most; 0 for as many as there are

	log  orders.Log
	seen uint64 // messages that were read

	owner   principal.Owner
	heads   []string // orders of which the group has the name
	ids     []string // orders of the group
	late    bool     // an order turned out to be of the group after some of its events were passed over
	events  []chain.Event
	parts   []receipt.Links // of the chain, each with some of the events
	placed  uint64          // message of the first event
	loose   int             // events of the group without a chain
	limit   int
	running chain.Chain // of the owner so far
	begun   bool
	open    bool         // the last of parts has no checkpoint yet
	proofs  []chain.Part // keys and policies
}

// NewSource returns a source that reads over a connection.
func NewSource(c *conn.Conn) *Source { return &Source{log: orders.Log{Conn: c}} }

// Key returns the key that all replicas have.
func Key(c *conn.Conn) chain.Key { return chain.NewKey(c.Seals.ReceiptSeed) }

// OrderStory implements receipt.Source.
func (s *Source) OrderStory(ctx context.Context, owner principal.Owner, name string, limit int) ([]chain.Event, error) {
	placed, since, err := s.find(ctx, name, owner)
	if err != nil {
		return nil, err
	}
	s.owner, s.limit, s.ids, s.heads = owner, limit, []string{name}, nil
	if !placed.External {
		s.heads = []string{placed.Head()}
		since = sinceMade(placed.Head(), since)
	}
	for {
		if err := s.read(ctx, since, name); err != nil {
			return nil, err
		}
		if made := s.first(placed.Head()); made || placed.External || since.IsZero() {
			if !s.late {
				break
			}
		} else {
			since = time.Time{} // the clocks differ by more
		}
	}
	if s.loose > 0 {
		return nil, fault.New(fault.Unsupported, "no_receipt", "Order %s and its group have %d events from before this installation chained them. They cannot be proved.", name, s.loose)
	}
	return s.events, nil
}

// sinceMade returns from when on an order with an ID is read, the zero time for everything.
func sinceMade(name string, latest time.Time) time.Time {
	made, ok := id.Time(name)
	if !ok || latest.IsZero() {
		return time.Time{}
	}
	if made = made.Add(-clockMargin); made.Before(latest) {
		return made
	}
	return latest
}

// first reports whether the event that created an order was read.
func (s *Source) first(name string) bool {
	return s.loose > 0 || slices.ContainsFunc(s.events, func(e chain.Event) bool { return e.Subject == name && e.Kind == createdKind() })
}

func createdKind() string { return chain.OrderKind + order.KindCreated.String() }

// find returns how an order of an owner was placed, of any if none is named, and from when on it is found.
func (s *Source) find(ctx context.Context, name string, owners ...principal.Owner) (order.Origin, time.Time, error) {
	since := sinceMade(name, time.Now())
	for {
		found, err := s.created(ctx, since, name, owners...)
		if found != nil || err != nil {
			if err != nil {
				return order.Origin{}, since, err
			}
			return *found, since, nil
		}
		if since.IsZero() {
			return order.Origin{}, since, &fault.Error{Kind: fault.NotFound, Code: "order_not_found", Field: "order_id", Value: name, Message: "no order of that id; get_orders lists those that there are"}
		}
		since = time.Time{}
	}
}

func (s *Source) created(ctx context.Context, since time.Time, name string, owners ...principal.Owner) (*order.Origin, error) {
	for part, err := range s.log.Parts(ctx, since, owners...) {
		if err = cmp.Or(err, s.count(name)); err != nil {
			return nil, err
		}
		for _, e := range part.All() {
			if e.Subject != name || e.Kind != createdKind() {
				continue
			}
			var body order.Event
			if err := json.Unmarshal(e.Body, &body); err != nil {
				return nil, conn.Corrupted("read order", err)
			}
			if body.Origin != nil {
				return body.Origin, nil
			}
		}
	}
	return nil, nil //nolint:nilnil // there is none
}

// OrderOwner returns the owner of an order, for an operator who has its ID alone.
func (s *Source) OrderOwner(ctx context.Context, name string) (principal.Owner, error) {
	found, _, err := s.find(ctx, name)
	return found.Owner, err
}

// count counts a message that is read for an order.
func (s *Source) count(name string) error {
	if s.seen++; s.Most == 0 || s.seen <= s.Most {
		return nil
	}
	return fault.New(fault.Unsupported, "no_receipt", "Order %s is followed by more than %d messages of its owner, too many to read in a call. On the server's machine, candela receipt %s reads them all.", name, s.Most, name)
}

// read reads the owner's events from a time on, for an order.
func (s *Source) read(ctx context.Context, since time.Time, name string) error {
	s.events, s.parts, s.placed, s.loose, s.begun, s.open, s.late = nil, nil, 0, 0, false, false, false
	for part, err := range s.log.Parts(ctx, since, s.owner) {
		if err = cmp.Or(err, s.count(name)); err != nil {
			return err
		}
		if err := s.add(part); err != nil {
			return err
		}
		if len(s.events) > s.limit {
			return nil
		}
	}
	return nil
}

// add adds the events of a message.
func (s *Source) add(part chain.Part) error {
	for _, e := range part.Loose {
		if mine, err := s.mine(&e); err != nil {
			return err
		} else if mine {
			s.loose++
		}
	}
	if len(part.Loose) > 0 {
		return nil
	}
	if s.begun && part.Before != s.running {
		return altered(part.Seq)
	}
	s.running, s.begun = part.Before, true
	for i := range part.Events {
		e := &part.Events[i]
		mine, err := s.mine(e)
		if err == nil {
			err = s.link(e, mine)
		}
		if err != nil {
			return err
		}
		if mine && len(s.events) == 0 {
			s.placed = part.Seq
		}
		if mine {
			s.events = append(s.events, *e)
		}
		s.running.Add(e.Hash)
	}
	return nil
}

func altered(seq uint64) error {
	return fault.New(fault.Unavailable, "no_receipt", "The log is not what was written at message %d of the order stream. Run candela audit verify.", seq)
}

// link adds an event to the part of the chain that has events of the order, and ends it with a checkpoint.
func (s *Source) link(e *chain.Event, mine bool) error {
	if s.open && e.Kind == chain.CheckpointKind {
		last := &s.parts[len(s.parts)-1]
		if err := json.Unmarshal(e.Body, &last.Signed); err != nil {
			return conn.Corrupted("read checkpoint", err)
		}
		s.open = false
	}
	if mine && !s.open {
		s.parts, s.open = append(s.parts, receipt.Links{Before: s.running}), true
	}
	if s.open {
		last := &s.parts[len(s.parts)-1]
		last.Seqs, last.Hashes = append(last.Seqs, e.Seq), append(last.Hashes, e.Hash)
	}
	return nil
}

// mine reports whether an event is of the group, which may grow by it.
func (s *Source) mine(e *chain.Event) (bool, error) {
	known := slices.Contains(s.ids, e.Subject)
	switch e.Kind {
	case createdKind(), chain.OrderKind + order.KindGrouped.String():
	default:
		return known && isOrder(e), nil
	}
	var body order.Event
	if err := json.Unmarshal(e.Body, &body); err != nil {
		return false, conn.Corrupted("read order", err)
	}
	head := ""
	if body.Origin != nil {
		head = body.Origin.Head()
	} else if body.Group != nil {
		head = body.Group.Name
	}
	switch {
	case len(s.heads) == 0: // of an external order there is no group
	case known && !slices.Contains(s.heads, head) && body.Group != nil:
		s.heads, s.late = append(s.heads, head), true
	case !known && slices.Contains(s.heads, head) && len(s.ids) < maxGroup:
		s.ids, known = append(s.ids, e.Subject), true
		s.late = s.late || body.Origin == nil
	}
	return known, nil
}

func isOrder(e *chain.Event) bool {
	return len(e.Kind) > len(chain.OrderKind) && e.Kind[:len(chain.OrderKind)] == chain.OrderKind
}

// Stretch implements receipt.Source.
func (s *Source) Stretch(_ context.Context, _ principal.Owner, seq uint64, _ int) (receipt.Links, error) {
	for _, part := range s.parts {
		if slices.Contains(part.Seqs, seq) {
			return part, nil
		}
	}
	return receipt.Links{}, nil
}

// PolicySeq implements receipt.Source. The number is that within the events of no owner.
func (s *Source) PolicySeq(ctx context.Context, hash string, _ uint64) (seq uint64, err error) {
	all, err := s.installation(ctx)
	for _, part := range all {
		for _, e := range part.Events {
			if e.Kind == chain.PolicyKind && e.Subject == hash && part.Seq < s.placed {
				seq = e.Seq
			}
		}
	}
	return seq, err
}

// Keys implements receipt.Source.
func (s *Source) Keys(ctx context.Context) ([]chain.SignedChange, error) {
	all, err := s.installation(ctx)
	var changes []chain.SignedChange
	for _, part := range all {
		for _, e := range part.Events {
			if e.Kind != chain.KeyKind {
				continue
			}
			var change chain.SignedChange
			if err := json.Unmarshal(e.Body, &change); err != nil {
				return nil, conn.Corrupted("read keys", err)
			}
			changes = append(changes, change)
		}
	}
	return changes, err
}

// installation returns the events of no owner: keys and policies. They are read once.
func (s *Source) installation(ctx context.Context) ([]chain.Part, error) {
	if s.proofs != nil {
		return s.proofs, nil
	}
	var all []chain.Part
	for part, err := range s.log.Parts(ctx, time.Time{}, "") {
		if err != nil {
			return nil, err
		}
		all = append(all, part)
	}
	s.proofs = all
	return all, nil
}
