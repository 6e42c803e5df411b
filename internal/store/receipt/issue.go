package receipt

import (
	"context"
	"time"

	"candela/internal/kit/principal"
	"candela/internal/store/chain"
	"candela/lib/fault"
)

// Source is the log of which receipts are made.
type Source interface {
	// OrderStory returns the events of an order of an owner and of the orders of its group, in their order; an error with the
	// code order_not_found if the owner has no such order. There may be one more than limit.
	OrderStory(ctx context.Context, owner principal.Owner, id string, limit int) ([]chain.Event, error)
	// Stretch returns the part of an owner's chain between two checkpoints that has an event. Signed is zero if no checkpoint
	// follows. There may be one more link than limit.
	Stretch(ctx context.Context, owner principal.Owner, seq uint64, limit int) (Links, error)
	// PolicySeq returns the number of the last event before another that has a policy, by its hash, 0 for none.
	PolicySeq(ctx context.Context, hash string, before uint64) (uint64, error)
	Keys(ctx context.Context) ([]chain.SignedChange, error)
}

// Links is a part of an owner's chain.
type Links struct {
	Before chain.Chain
	Seqs   []uint64
	Hashes []chain.Hash
	Signed chain.Signed
}

// Issuer makes receipts. It is safe for concurrent use.
type Issuer struct {
	Source Source
	Key    func() (chain.Key, error) // the zero key if there is none
	Now    func() time.Time
}

// Issued is a receipt.
type Issued struct {
	Text []byte // the document in canonical form
	Note bool   // the order has a note: the client's words are in the receipt
}

// Issue makes the receipt of an owner's order.
func (i Issuer) Issue(ctx context.Context, owner principal.Owner, id string) (Issued, error) {
	key, err := i.Key()
	if err != nil {
		return Issued{}, err
	}
	changes, err := i.Source.Keys(ctx)
	if err != nil {
		return Issued{}, err
	}
	if n := len(changes); key.IsZero() || n == 0 || changes[n-1].Change.Key != key.ID() {
		return Issued{}, fault.New(fault.Unavailable, "no_receipt", "No receipt can be signed: the key of receipts is missing or is not the one that the log names last. The next start with --trade repairs that.")
	}
	events, err := i.Source.OrderStory(ctx, owner, id, maxEvents)
	if err != nil {
		return Issued{}, err
	}
	if len(events) > maxEvents {
		return Issued{}, fault.New(fault.Unsupported, "no_receipt", "Order %s and its group have more than %d events, too many for a receipt.", id, maxEvents)
	}
	r := Receipt{Type: documentType, Version: version, OrderID: id, IssuedAt: chain.Stamp(i.Now()), Installation: changes[0].Change.Key}
	note, err := i.describe(ctx, &r, events)
	if err != nil {
		return Issued{}, err
	}
	if err := i.prove(ctx, key, &r, events); err != nil {
		return Issued{}, err
	}
	return sign(key, r, note)
}

func sign(key chain.Key, r Receipt, note bool) (Issued, error) {
	signature, err := key.Sign(domain, r)
	if err != nil {
		return Issued{}, err
	}
	text, err := Document{r, signature}.Text()
	return Issued{text, note}, err
}

// describe fills in what the event of the order's creation says.
func (i Issuer) describe(ctx context.Context, r *Receipt, events []chain.Event) (note bool, err error) {
	for n := range events {
		e := &events[n]
		r.Events = append(r.Events, toEvent(e))
		if e.Kind != createdKind {
			continue
		}
		made, err := r.Events[n].origin()
		if err != nil {
			return false, err
		}
		note = note || made.Note != ""
		if e.Subject == r.OrderID {
			r.Mode = made.Mode
		}
		if hash := made.Policy; hash != "" && (r.Policy == nil || e.Subject == r.OrderID) {
			r.Policy = &Policy{Hash: hash}
			if r.Policy.Seq, err = i.Source.PolicySeq(ctx, hash, e.Seq); err != nil {
				return false, err
			}
		}
	}
	return note, nil
}

// prove adds the stretches of the chain that have the events. Where no checkpoint follows an event yet, one is signed for the
// receipt alone.
func (i Issuer) prove(ctx context.Context, key chain.Key, r *Receipt, events []chain.Event) error {
	for next := 0; next < len(events); {
		e := &events[next]
		links, err := i.Source.Stretch(ctx, e.Owner, e.Seq, maxLinks)
		if err != nil {
			return err
		}
		if len(links.Seqs) > maxLinks {
			return fault.New(fault.Unsupported, "no_receipt", "Order %s has events from before this installation signed checkpoints, more than %d events before the first. They cannot be proved.", r.OrderID, maxLinks)
		}
		part := Stretch{Before: links.Before.Hash, Links: make([]string, 0, len(links.Seqs))}
		c := links.Before
		for n, seq := range links.Seqs {
			text := links.Hashes[n].String()
			if next < len(events) && events[next].Seq == seq {
				text = ""
				next++
			}
			part.Links = append(part.Links, text)
			c.Add(links.Hashes[n])
		}
		signed := links.Signed
		if signed.Signature.Key == "" {
			if signed, err = key.Seal(chain.Checkpoint{Owner: e.Owner, Events: c.Events, Hash: c.Hash, At: chain.Stamp(i.Now())}); err != nil {
				return err
			}
		}
		if signed.Checkpoint.Hash != c.Hash || signed.Checkpoint.Events != c.Events || next < len(events) && &events[next] == e {
			return fault.New(fault.Unavailable, "no_receipt", "The log is not what was signed at event %d. Run candela audit verify.", e.Seq)
		}
		part.Checkpoint, part.Signature = signed.Checkpoint, signed.Signature
		r.Chain = append(r.Chain, part)
	}
	return nil
}
