package ledger

import (
	"context"
	"crypto/sha256"

	"candela/internal/kit/principal"
)

// chainDomain begins what is hashed for the chain of an owner.
const chainDomain = "candela owner chain 1\n"

// Chain is the events of one owner as a chain of their own: it is the same whatever other owners did,
// and what was erased of others changes nothing. The hash of each link is over the one before and
// the hash of the event, which the export of the owner has.
type Chain struct {
	Events uint64 `json:"events"`
	Hash   Hash   `json:"hash"`
}

// Add adds the next event of the owner by its hash.
func (c *Chain) Add(event Hash) {
	sum := sha256.New()
	sum.Write([]byte(chainDomain))
	sum.Write(c.Hash[:])
	sum.Write(event[:])
	c.Events++
	sum.Sum(c.Hash[:0])
}

// Chain returns the chain of an owner, and whether it had a given link on the way: one that was noted
// down earlier and must still be there. Whether the events are what was written, Verify says.
func (a *Audit) Chain(ctx context.Context, owner principal.Owner, link Chain) (now Chain, found bool, err error) {
	found = link == Chain{}
	for e, err := range rows(ctx, a.db, "read the events of an owner", scanEvent, selectEvents+"WHERE owner = ? ORDER BY seq", owner) {
		if err != nil {
			return now, false, err
		}
		now.Add(e.Hash)
		found = found || now == link
	}
	return now, found, nil
}
