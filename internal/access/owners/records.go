// Package owners is about the people of an installation that works for many: their records, what they may do, and
// an operator's commands that suspend, export and erase them. A store keeps the records.
package owners

import (
	"cmp"
	"context"
	"iter"
	"time"

	"candela/internal/access/plan"
	"candela/internal/kit/principal"
	"candela/lib/fault"
)

// Owner is the record of a person for whom this installation works, where there are many.
type Owner struct {
	ID      principal.Owner `json:"owner"` // made from issuer and subject
	Issuer  string          `json:"issuer,omitempty"`
	Subject string          `json:"subject,omitempty"`
	Email   string          `json:"email,omitempty"` // as last reported; never an identity
	Name    string          `json:"name,omitempty"`  // the same
	Plan    string          `json:"plan,omitempty"`  // "" for the default
	State   State           `json:"state"`
	Since   time.Time       `json:"since"` // of the state
	First   time.Time       `json:"first_seen"`
	Last    time.Time       `json:"last_seen"`
}

// State is whether an owner may use the installation. Its values are stored.
type State string

// The states.
const (
	Active    State = "active"
	Suspended State = "suspended"
	Erased    State = "erased"
)

// ParseState returns the state of a name; "" stands for any.
func ParseState(name string) (State, error) {
	switch s := State(name); s {
	case "", Active, Suspended, Erased:
		return s, nil
	}
	return "", fault.Field("state", name, "active, suspended or erased", string(Active), string(Suspended), string(Erased))
}

// Standing is what decides what an owner may do.
type Standing struct {
	State State
	Plan  string // "" for the default
}

// Usual reports whether an owner is active and on the default plan, as most are.
func (s Standing) Usual() bool { return s == Standing{State: Active} }

// Erasure proves that an owner was erased. The audit log has it.
type Erasure struct {
	Owner    principal.Owner  `json:"owner"`
	At       time.Time        `json:"at"`
	Rows     map[string]int64 `json:"rows"`      // deleted, by table
	Events   int64            `json:"events"`    // of the audit log whose content is gone
	LastHash string           `json:"last_hash"` // of the last of them; with replicas of the chain that they were
	By       string           `json:"by,omitempty"`
}

// Identity is a further person who is an owner.
type Identity struct {
	Issuer  string `json:"issuer"`
	Subject string `json:"subject"`
}

// ExportedRow is one row of an owner's export.
type ExportedRow struct {
	Table string
	JSON  []byte
}

// Records keeps the records of owners.
type Records interface {
	SeeOwner(ctx context.Context, o Owner) (Owner, error)
	Owner(ctx context.Context, id principal.Owner) (Owner, error)
	Owners(ctx context.Context, after principal.Owner) iter.Seq2[Owner, error]
	OwnerOf(ctx context.Context, issuer, subject string) (id principal.Owner, err error)
	SetOwnerState(ctx context.Context, id principal.Owner, state State) (Owner, error)
	SetOwnerPlan(ctx context.Context, id principal.Owner, plan string) (Owner, error)
	LinkOwner(ctx context.Context, id principal.Owner, issuer, subject string) (Owner, error)
	EraseOwner(ctx context.Context, id principal.Owner) (Erasure, error)
	// Identities returns the identities that were linked to an owner.
	Identities(ctx context.Context, id principal.Owner) ([]Identity, error)
	// ImportOwner stores a record of another store as it is, with its linked identities. It reports
	// false, and does nothing, if there is one.
	ImportOwner(ctx context.Context, o Owner, linked []Identity) (bool, error)
	// MadeFor reports whether there are records of many owners, and whether the owner of an
	// installation for one has something.
	MadeFor(ctx context.Context, sole principal.Owner) (many, one bool, err error)
	// Standings returns those owners who are not active or not on the default plan.
	Standings(ctx context.Context) (map[principal.Owner]Standing, error)
	ExportOwner(ctx context.Context, id principal.Owner) iter.Seq2[ExportedRow, error]
	Adopt(ctx context.Context, from principal.Owner, to Owner) (moved map[string]int64, err error)
}

// Filter chooses owners. The zero value chooses all.
type Filter struct {
	State State  `json:"state,omitempty"`
	Plan  string `json:"plan,omitempty"` // plan.Default for that one; "" for any
}

// Fits reports whether a filter chooses an owner. One who was erased is on no plan.
func (f Filter) Fits(o Owner) bool {
	return (f.State == "" || o.State == f.State) && (f.Plan == "" || o.State != Erased && cmp.Or(o.Plan, plan.Default) == f.Plan)
}

// Page is a part of the list of owners.
type Page struct {
	Owners []Owner `json:"owners"`
	More   bool    `json:"more,omitempty"`
}

// Detail is a record and what the owner has.
type Detail struct {
	Owner
	Clients int `json:"clients"` // approved, and browsers logged in
	Alerts  int `json:"alerts"`  // active
}
