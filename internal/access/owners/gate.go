package owners

import (
	"cmp"
	"context"

	"candela/internal/access/oauth"
	"candela/internal/access/upstream"
	"candela/internal/kit/principal"
	"candela/lib/fault"
)

// Gate records owners who sign in and keeps suspended ones out. It implements oauth.Owners.
type Gate struct {
	Records func() Records // nil while the store is not open
}

var _ oauth.Owners = Gate{}

func (g Gate) records() (Records, error) {
	if records := g.Records(); records != nil {
		return records, nil
	}
	return nil, ErrNotOpen
}

// SignedIn implements oauth.Owners.
func (g Gate) SignedIn(ctx context.Context, owner principal.Owner, who upstream.Identity) (principal.Owner, error) {
	records, err := g.records()
	if err != nil {
		return "", err
	}
	linked, err := records.OwnerOf(ctx, who.Issuer, who.Subject)
	if err != nil {
		return "", err
	}
	o, err := records.SeeOwner(ctx, Owner{ID: cmp.Or(linked, owner), Issuer: who.Issuer, Subject: who.Subject, Email: who.Email, Name: who.Name})
	if err != nil {
		return "", err
	}
	return o.ID, admitted(o)
}

// Active implements oauth.Owners.
func (g Gate) Active(ctx context.Context, owner principal.Owner) error {
	records, err := g.records()
	if err != nil {
		return err
	}
	o, err := records.Owner(ctx, owner)
	if fault.KindOf(err) == fault.NotFound {
		return nil // approved before there were records
	}
	if err != nil {
		return err
	}
	return admitted(o)
}

// admitted refuses owners who are suspended or erased.
func admitted(o Owner) error {
	switch o.State {
	case Active:
		return nil
	case Erased:
		return oauth.ErrErased
	case Suspended:
	}
	return oauth.ErrSuspended
}

// CheckMode refuses a store that was made for many owners in an installation for one, and the
// other way round: nobody would find what is theirs.
func CheckMode(ctx context.Context, kept Records, many bool) error {
	hasMany, hasOne, err := kept.MadeFor(ctx, oauth.SoleOwner)
	switch {
	case err != nil:
		return err
	case hasMany && !many:
		return &fault.Error{
			Kind: fault.Unsupported, Code: "owners_mode", Field: "owners", Value: "single",
			Message: "The state directory has the records of many owners. Start with --owners oidc, or choose another --home.",
		}
	case many && hasOne && !hasMany:
		return &fault.Error{
			Kind: fault.Unsupported, Code: "owners_mode", Field: "owners", Value: "oidc",
			Message: "The state directory has alerts or orders of one owner. Give them to a person with candela owners adopt, or choose another --home.",
		}
	}
	return nil
}
