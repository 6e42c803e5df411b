package receipt

import (
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
	if len(r.Events) == 0 || !slices.ContainsFunc(r.Events, func(e Event) bool { return e.Kind == "order_created" && e.Subject == r.OrderID }) {
		return found, errors.New("it does not have the event order_created of its order")
	}
	found.First = r.Events[0].Seq
	return found, r.verifyChain(keys, &found)
}

func (r Receipt) verifyChain(keys Keys, found *Found) error {
	rest := r.Events
	for n, part := range r.Chain {
		c := chain.Chain{Hash: part.Before}
		for _, link := range part.Links {
			var hash chain.Hash
			switch {
			case link != "":
				if err := hash.UnmarshalText([]byte(link)); err != nil {
					return fmt.Errorf("stretch %d: %w", n+1, err)
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
