package commands

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"time"

	"candela/internal/kit/principal"
	"candela/internal/operate/control"
	"candela/internal/operate/status"
	"candela/internal/store"
	"candela/internal/store/replica/deskproxy"
	"candela/internal/store/replica/member"
	"candela/internal/store/replica/orders"
	"candela/internal/store/statedir"
	"candela/internal/trading/desk"
	"candela/internal/trading/order"
	"candela/internal/work/ordering"
	"candela/lib/fault"
)

// byTrades names the command in the audit log.
const byTrades = "candela trades"

// OwnerTrades has the trades of the program that runs.
type OwnerTrades struct {
	Desk interface {
		Trades(ctx context.Context, caller principal.Caller, q order.TradeQuery) (order.TradePage, error)
	}
	Account    string
	ManyOwners bool
}

// Trades returns what an owner's orders took out of positions.
func (o OwnerTrades) Trades(ctx context.Context, owner principal.Owner, q order.TradeQuery) (control.AccountTrades, error) {
	caller, err := callerOf(o.ManyOwners, owner, byTrades)
	if err != nil {
		return control.AccountTrades{}, err
	}
	page, err := o.Desk.Trades(ctx, caller, q)
	return control.AccountTrades{Account: status.AccountName(o.Account), Page: page}, err
}

// tradesCall asks for all trades of an owner.
type tradesCall struct {
	owner principal.Owner
	query order.TradeQuery
}

// Trades returns all trades that a query asks for, by account: of the program that runs, or of the store.
func (c *Set) Trades(ctx context.Context, owner principal.Owner, q order.TradeQuery) ([]control.AccountTrades, error) {
	account, running := "", true
	page, err := ordering.AllTrades(ctx, q, func(ctx context.Context, q order.TradeQuery) (order.TradePage, error) {
		some, reached, err := control.ListTrades(ctx, c.home, owner, q)
		account, running = some.Account, running && reached
		return some.Page, err
	})
	switch {
	case err != nil:
		return nil, err
	case running:
		return []control.AccountTrades{{Account: account, Page: page}}, nil
	default:
		return c.elsewhere.trades(ctx, tradesCall{owner, q})
	}
}

// accounts returns the accounts of an owner.
func (t tradesCall) accounts(at Installation) ([]string, error) {
	caller, err := callerOf(at.ManyOwners, t.owner, byTrades)
	if at.ManyOwners {
		return []string{string(caller.Subject)}, err
	}
	return at.Accounts, err
}

// stored reads the trades of accounts that nobody trades on, without those that have none.
func (t tradesCall) stored(ctx context.Context, s desk.Store, at Installation) ([]control.AccountTrades, error) {
	names, err := t.accounts(at)
	if err != nil {
		return nil, err
	}
	t.query.Most = math.MaxInt
	var all []control.AccountTrades
	for _, name := range names {
		page, err := desk.StoredTrades(ctx, s, principal.Owner(name), t.query)
		if err != nil {
			return nil, err
		}
		if len(page.Trades) > 0 {
			all = append(all, control.AccountTrades{Account: status.AccountName(name), Page: page})
		}
	}
	return all, nil
}

// trades reads the store of the state directory.
func (l local) trades(ctx context.Context, t tradesCall) ([]control.AccountTrades, error) {
	if _, err := os.Stat(filepath.Join(l.Home, store.At(l.Stores, l.Home).File)); errors.Is(err, os.ErrNotExist) {
		return nil, nil // nothing was ever traded here
	}
	held, err := statedir.LockEngine(l.Home)
	if statedir.IsLocked(err) {
		err = fault.New(fault.Unavailable, statedir.LockedCode, "a program trades in state directory %s and does not respond. See its log.", l.Home).About("home", l.Home, "")
	}
	if err != nil {
		return nil, err
	}
	defer held.Release()
	stored, err := store.At(l.Stores, l.Home).Open(ctx, l.Home, time.Now)
	if err != nil {
		return nil, err
	}
	all, err := t.stored(ctx, stored, l.Installation)
	return all, errors.Join(err, stored.Close())
}

// trades asks the replica that trades, or reads the store if none runs.
func (s shared) trades(ctx context.Context, t tradesCall) ([]control.AccountTrades, error) {
	conn, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	names, err := member.Names(ctx, conn)
	if err != nil {
		return nil, err
	}
	if !anyReplica(names) {
		stored, err := orders.Open(ctx, conn, time.Now)
		if err != nil {
			return nil, err
		}
		return t.stored(ctx, stored, s.Installation)
	}
	caller, err := callerOf(s.ManyOwners, t.owner, byTrades)
	if err != nil {
		return nil, err
	}
	one, reached, err := askTrading(ctx, conn, s, func(ctx context.Context, d *deskproxy.Desk) (control.AccountTrades, error) {
		page, err := ordering.AllTrades(ctx, t.query, func(ctx context.Context, q order.TradeQuery) (order.TradePage, error) {
			return d.Trades(ctx, caller, q)
		})
		return control.AccountTrades{Account: status.AccountName(d.Name()), Page: page}, err
	})
	if err == nil && !reached {
		err = change{}.notReceived()
	}
	return []control.AccountTrades{one}, err
}
