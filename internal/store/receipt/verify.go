package receipt

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"candela/internal/store/chain"
)

// Found is what a receipt proves.
type Found struct {
	Key     Key  // that signed it
	Vouched bool // the key is the first of the installation, or a key before it vouches for it
	Events  int
	First   uint64 // number of the first event
	Last    string // time of the last checkpoint
}

// Verify checks a document against the keys of an installation: that its signature and those of its checkpoints are of one of
// them, and that its events are in the chain between the checkpoints.
func Verify(d Document, keys Keys) (Found, error) {
	r := d.Receipt
	if r.Type != documentType || r.Version != version {
		return Found{}, fmt.Errorf("type %q, version %d: this program verifies %s, version %d", r.Type, r.Version, documentType, version)
	}
	key, ok := keys.find(d.Signature.Key)
	if !ok {
		return Found{}, fmt.Errorf("it is signed with key %s, which is not among the given ones", d.Signature.Key)
	}
	if err := d.Signature.Verify(key.Public, domain, r); err != nil {
		return Found{}, fmt.Errorf("receipt: %w", err)
	}
	found := Found{Key: key, Vouched: keys.vouched(key), Events: len(r.Events)}
	if err := cmp.Or(r.verifyEvents(), r.verifyHead(keys)); err != nil {
		return found, err
	}
	found.First = r.Events[0].Seq
	return found, r.verifyChain(keys, &found)
}

// verifyEvents checks that there are events, each once, in the order of the log, of one owner.
func (r Receipt) verifyEvents() error {
	for i := 1; i < len(r.Events); i++ {
		switch before, e := &r.Events[i-1], &r.Events[i]; {
		case e.Seq <= before.Seq:
			return fmt.Errorf("event %d comes after event %d", e.Seq, before.Seq)
		case e.Owner != before.Owner:
			return fmt.Errorf("event %d is of another owner than event %d", e.Seq, before.Seq)
		}
	}
	return nil
}

// verifyHead compares what a receipt says of itself with its events and the keys.
func (r Receipt) verifyHead(keys Keys) error {
	at := slices.IndexFunc(r.Events, func(e Event) bool { return e.Kind == createdKind && e.Subject == r.OrderID })
	if at < 0 {
		return errors.New("it does not have the event order_created of its order")
	}
	made, err := r.Events[at].origin()
	if err != nil {
		return err
	}
	policy := ""
	if r.Policy != nil {
		policy = r.Policy.Hash
	}
	switch {
	case made.Mode != r.Mode:
		return fmt.Errorf("it says that the order is %s, and its event order_created %s", r.Mode, made.Mode)
	case made.Policy != "" && made.Policy != policy:
		return fmt.Errorf("it names the policy %q, and its event order_created %q", policy, made.Policy)
	case len(keys) > 0 && keys[0].Change != nil && keys[0].Change.Change.Old == "" && r.Installation != keys[0].ID():
		return fmt.Errorf("it is of installation %s, and the keys are of %s", r.Installation, keys[0].ID())
	}
	return nil
}

func (r Receipt) verifyChain(keys Keys, found *Found) error {
	rest, end := r.Events, uint64(0)
	for n, part := range r.Chain {
		if links := uint64(len(part.Links)); links == 0 || part.Checkpoint.Events < end+links || part.Before == (chain.Hash{}) && part.Checkpoint.Events != links {
			return fmt.Errorf("stretch %d has %d links up to event %d of the owner, and the one before it ends with event %d", n+1, links, part.Checkpoint.Events, end)
		}
		end = part.Checkpoint.Events
		c := chain.Chain{Hash: part.Before}
		for _, link := range part.Links {
			var hash chain.Hash
			switch {
			case link != "":
				if err := hash.UnmarshalText([]byte(link)); err != nil || hash.String() != link {
					return fmt.Errorf("stretch %d: hash %q is not one in lower-case hexadecimal digits", n+1, link)
				}
			case len(rest) == 0:
				return fmt.Errorf("stretch %d has more events than the receipt", n+1)
			case rest[0].Owner != part.Checkpoint.Owner:
				return fmt.Errorf("event %d is of another owner than the checkpoint", rest[0].Seq)
			default:
				hash, rest = rest[0].sum(), rest[1:]
			}
			c.Add(hash)
		}
		key, ok := keys.find(part.Signature.Key)
		if !ok {
			return fmt.Errorf("stretch %d is signed with key %s, which is not among the given ones", n+1, part.Signature.Key)
		}
		if c.Hash != part.Checkpoint.Hash {
			return fmt.Errorf("the events of stretch %d do not come to its checkpoint: one was changed, added or removed", n+1)
		}
		if err := (chain.Signed{Checkpoint: part.Checkpoint, Signature: part.Signature}).Verify(key.Public); err != nil {
			return fmt.Errorf("checkpoint %d: %w", n+1, err)
		}
		found.Last = part.Checkpoint.At
	}
	if len(rest) > 0 {
		return fmt.Errorf("event %d is in no stretch of the chain", rest[0].Seq)
	}
	return nil
}
