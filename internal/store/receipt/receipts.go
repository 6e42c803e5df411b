package receipt

import (
	"context"
	"time"

	"candela/internal/kit/principal"
	"candela/internal/store/chain"
)

// Receipts makes receipts of the orders of callers. It is safe for concurrent use.
type Receipts struct {
	// Open returns the log for one receipt, or an error while it cannot be read.
	Open  func() (Source, error)
	Key   func() (chain.Key, error)
	Owner func(principal.Caller) principal.Owner
}

// Receipt returns the receipt of an order of the caller's account, in canonical form.
func (r Receipts) Receipt(ctx context.Context, caller principal.Caller, id string) ([]byte, error) {
	log, err := r.Open()
	if err != nil {
		return nil, err
	}
	made, err := Issuer{Source: log, Key: r.Key, Now: time.Now}.Issue(ctx, r.Owner(caller), id)
	return made.Text, err
}

// Keys returns the public keys as a JWK set.
func (r Receipts) Keys(ctx context.Context) ([]byte, error) {
	log, err := r.Open()
	if err != nil {
		return nil, err
	}
	changes, err := log.Keys(ctx)
	if err != nil {
		return nil, err
	}
	return NewKeys(changes).JWKS()
}
