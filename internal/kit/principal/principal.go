// Package principal says on whose behalf a call is made: the owner, the client and
// the token. Transports create a Caller; every other package receives one.
package principal

import (
	"context"
	"errors"
	"time"
)

// Owner is the id of a person for whom the installation works: alerts, orders and positions
// belong to one. Every method that reads or changes what belongs to an owner takes it as an
// Owner, and first, so that no other text can be passed for it. The zero value is no owner:
// nothing belongs to it.
type Owner string

// Caller identifies who makes a call. It is stored and sent between replicas under
// its field names.
type Caller struct {
	Subject Owner     // the owner, to whom alerts, orders and positions belong
	Key     string    // identifies the token without being the token; "local" on stdio; "" for the service, and for the owner at the machine
	Expires time.Time // when the token expires; zero for never

	Client    string // the client's own name for itself, unverified; "" when unknown
	ClientKey string // the same for a client that returns with a new token; "" when unknown

	// Session distinguishes the streams of one token: a client may open several. It is ""
	// if the client named none, and has no other meaning.
	Session string `json:"-"`

	// Scope is what the token may do. It is checked where a call arrives, so it is neither
	// stored nor sent.
	Scope Scope `json:"-"`
}

// ErrTokenEnded is the cause of a context that ended because its token was revoked or
// has expired. Transports that know tokens pass such a context, so that each call of a
// batch is checked against the token's state at that moment.
var ErrTokenEnded = errors.New("token ended")

// ConsoleKey is the Key of the owner at the console.
const ConsoleKey = "console"

type tokenKey struct{}

// WithToken returns a context for work done with the token that key identifies.
func WithToken(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, tokenKey{}, key)
}

// TokenOf returns the key of the token that ctx was made for, or "" if there is none.
func TokenOf(ctx context.Context) string {
	key, _ := ctx.Value(tokenKey{}).(string)
	return key
}

// TokenEnded reports whether ctx ended because its token did.
func TokenEnded(ctx context.Context) bool {
	return ctx.Err() != nil && errors.Is(context.Cause(ctx), ErrTokenEnded)
}
