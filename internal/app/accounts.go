package app

import (
	"context"
	"time"

	"candela/internal/access/owners"
	"candela/internal/kit/principal"
	"candela/internal/operate/control"
	"candela/internal/store"
	"candela/internal/trading/accounts"
	"candela/internal/trading/desk"
	"candela/internal/trading/order"
)

// runningDesk is what trades in this process: a desk, or those of many owners.
type runningDesk interface {
	Status() desk.Status
	OpenByStatus() map[order.Status]int
	RevokeTokens(keys ...string)
	Day() []desk.Sample
}

// accountStore keeps the accounts of all owners.
type accountStore interface {
	desk.Store
	store.Journals
	OrderOwners(ctx context.Context) ([]principal.Owner, error)
	OwnersWith(ctx context.Context, state, text string) ([]principal.Owner, error)
}

// ownAccounts returns accounts for many owners, each with paper money of his own.
func (t *trading) ownAccounts(rt Runtime, kept accountStore, standing func(owner principal.Owner) owners.Standing) *accounts.Accounts {
	return accounts.New(accounts.Config{
		Open: func(ctx context.Context, owner principal.Owner, prices desk.Market) (accounts.Opened, error) {
			venue, err := t.newVenue(rt, kept, owner)
			if err != nil {
				return accounts.Opened{}, err
			}
			if err := venue.paper.Load(ctx); err != nil {
				return accounts.Opened{}, err
			}
			cfg := t.deskConfig(rt, venue, kept)
			cfg.Owner, cfg.OwnerAliases, cfg.Market, cfg.HaltFile = owner, nil, prices, ""
			cfg.Hosted = true
			return accounts.Opened{Desk: desk.New(cfg), Observe: t.pricesOf(venue.paper)}, nil //nolint:contextcheck // prices come after the account was opened
		},
		Traders: kept.OrderOwners, Standing: func(owner principal.Owner) accounts.Standing { return tradingStanding(standing(owner).State) },
		Halted: func(ctx context.Context) ([]principal.Owner, error) {
			return desk.HostedHalts(ctx, kept.OwnersWith)
		},
		Admit: t.limits.Orders(), Store: kept, Host: accountOwner, Market: t.engine, Broker: t.venue.Name(), Mode: t.venue.Mode(),
		HaltFile: rt.haltFile(), Log: rt.Log, Now: time.Now,
	})
}

// ownerHalts returns what halts and resumes single owners.
func (t *trading) ownerHalts() control.OwnerHalter {
	many, _ := t.orders.(control.OwnerHalter)
	return many
}

// tradingStanding is what the state of an owner means for trading.
func tradingStanding(state owners.State) accounts.Standing {
	switch state {
	case owners.Suspended:
		return accounts.Suspended
	case owners.Erased:
		return accounts.Erased
	case owners.Active:
	}
	return accounts.Active
}

var (
	_ account      = (*accounts.Accounts)(nil)
	_ runningDesk  = (*accounts.Accounts)(nil)
	_ accountStore = (*localStore)(nil)
)
