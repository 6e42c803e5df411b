// Package status says what is going on in an installation: in a program that runs, and in a store that no program uses.
// Package commands and the control socket ask it; it changes nothing.
package status

import (
	"cmp"
	"context"
	"iter"
	"os"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"candela/internal/access/oauth"
	"candela/internal/alerting/alert"
	"candela/internal/kit/principal"
	"candela/internal/operate/control"
	"candela/internal/store"
	"candela/internal/trading/broker/paper"
	"candela/internal/trading/desk"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/market"
)

// countIdle counts an alert if nothing evaluates it. noVenue may be nil.
func countIdle(s *control.Status, a *alert.Alert, noVenue func(*alert.Alert) string) {
	switch {
	case a.IsBroken():
		s.Broken++
	case a.IsSetAside():
		s.SetAside++
	case noVenue != nil && noVenue(a) != "":
		s.NotEvaluated++
	}
}

// withHaltFiles adds the halt files that the reason does not name: a reason names one, and
// the owner has to remove them all.
func withHaltFiles(why string, files []string) string {
	for _, file := range files {
		if strings.Contains(why, file) {
			continue
		}
		if why != "" {
			why += ". "
		}
		why += "The file " + file + " halts trading; remove it, then run candela resume"
	}
	return why
}

// AccountName is the name of an account as the owner sees it.
func AccountName(account string) string {
	return cmp.Or(strings.TrimPrefix(strings.TrimPrefix(account, oauth.SoleOwner), "/"), paper.Name)
}

// newAccountStatus names an account and says whether it trades.
func newAccountStatus(account string, state guard.State) control.AccountStatus {
	return control.AccountStatus{Account: AccountName(account), TradingState: control.StateOf(state), Positions: []control.PositionStatus{}}
}

// countGroups counts open orders, those of a group as one, by what they are for. held is the
// signed quantity of each position.
func countGroups(s *control.AccountStatus, open []order.Order, held map[market.Symbol]decimal.Decimal) {
	protects, local, group := make(map[string]bool), make(map[string]bool), make(map[string]bool)
	for _, o := range open {
		name := cmp.Or(o.Group.Name, o.ID)
		if o.Group.Name != "" {
			name = o.Symbol.String() + " " + name // a venue's own are unique in a symbol
		}
		group[name] = o.Group.Name != ""
		protects[name] = protects[name] || o.Protects(held[o.Symbol])
		local[name] = local[name] || o.Local()
	}
	for name, grouped := range group {
		if grouped {
			s.Groups++
		} else {
			s.Single++
		}
		if protects[name] {
			s.Protect++
			if !grouped {
				s.Alone++
			}
		}
		if local[name] {
			s.Held++
		}
	}
}

// entryDigits is how exact an average price is shown to people.
const entryDigits = 8

// Position shows a position with the orders that are open.
func Position(p order.PricedPosition, open []order.Order) control.PositionStatus {
	entry, _ := p.Average()
	one := control.PositionStatus{Symbol: p.Symbol.String(), Side: p.Side().String(), Quantity: p.Quantity.Abs().String(), Entry: entry.Round(entryDigits).String()}
	if last := p.Quote.Last; last.IsPositive() {
		one.Current, one.Unrealized = last.String(), p.Unrealised(last).String()
	}
	one.Currency = order.QuoteOf(p.Symbol, p.Base)
	one.Stake = p.Stake()
	open = slices.DeleteFunc(slices.Clone(open), func(o order.Order) bool { return o.Symbol != p.Symbol })
	if naked := order.WithoutStop(p.Quantity, open); naked.IsPositive() {
		one.WithoutStop = naked.String()
	}
	for _, l := range p.Plan {
		if l.Quantity.IsPositive() {
			one.Plan = append(one.Plan, l.Text(decimal.Decimal.String))
		}
	}
	return one
}

// CountAlerts counts stored alerts, and those that nothing would evaluate: those that usable does not take.
func CountAlerts(all iter.Seq2[alert.Alert, error], usable *alert.Index, s *control.Status) error {
	for a, err := range all {
		if err != nil && a.ID == "" {
			return err
		}
		if err == nil && a.Idle == nil {
			err = usable.AddInactive(a)
		}
		if err != nil {
			a.MarkBroken(err)
		}
		s.Alerts++
		countIdle(s, &a, nil)
	}
	return nil
}

// AddHalted adds the owners of many whom the operator has halted one by one, the first of them by name.
func AddHalted(s *control.Status, first []principal.Owner, n int) {
	s.HaltedOwners = n
	for _, owner := range first[:min(len(first), desk.MaxHalted)] {
		s.Halted = append(s.Halted, string(owner))
	}
}

// Stored is a store that no program uses.
type Stored struct {
	store.Store

	Accounts []string     // names of the owner's accounts
	Usable   *alert.Index // empty, of the alerts
	HaltFile string       // halts trading if it exists

	ManyOwners bool
}

// Add adds the contents of the store to s.
func (from Stored) Add(ctx context.Context, s *control.Status) error {
	haltFile := from.HaltFile
	if err := CountAlerts(from.Alerts(ctx), from.Usable, s); err != nil {
		return err
	}
	_, statErr := os.Lstat(haltFile)
	var untraded []control.AccountStatus
	for _, account := range from.Accounts {
		state, book, err := desk.LoadStored(ctx, from.Store, principal.Owner(account))
		if err != nil {
			return err
		}
		if len(state.Restrictions) == 0 && len(book.Orders()) == 0 && len(book.Positions()) == 0 {
			continue // never used
		}
		if from.ManyOwners {
			state = state.OfHost()
		}
		one := newAccountStatus(account, state)
		if statErr == nil {
			one.TradingState = control.TradingState{Level: guard.Halted.String(), Why: "the file " + haltFile + " halts trading; remove it, then run candela resume"}
		}
		if len(book.Orders()) == 0 && len(book.Positions()) == 0 {
			untraded = append(untraded, one)
			continue
		}
		for _, o := range book.Open() {
			one.Open++
			if o.Status == order.Uncertain {
				one.Uncertain++
			}
			if o.Status == order.PendingApproval && (o.Group.Name == "" || o.Group.Name == o.ID) {
				one.Pending++
			}
		}
		quantities := make(map[market.Symbol]decimal.Decimal)
		watched := slices.DeleteFunc(book.Open(), func(o order.Order) bool { return o.Local() }) // nothing watches the others now
		for _, p := range book.Positions() {
			if !p.Quantity.IsZero() {
				quantities[p.Symbol] = p.Quantity
				one.Positions = append(one.Positions, Position(order.PricedPosition{Position: p, Plan: book.Lines(p.Symbol)}, watched))
			}
		}
		countGroups(&one, book.Open(), quantities)
		s.Accounts = append(s.Accounts, one)
	}
	// A halt without a running program is stored for every possible account. Naming them
	// would suggest that they exist.
	if len(untraded) > 1 {
		untraded[0].Account = control.Untraded
		untraded = untraded[:1]
	}
	s.Accounts = append(s.Accounts, untraded...)
	return from.addHalted(ctx, s)
}

// addHalted adds the owners of many who are halted one by one.
func (from Stored) addHalted(ctx context.Context, s *control.Status) error {
	if !from.ManyOwners {
		return nil
	}
	halted, err := desk.HostedHalts(ctx, from.OwnersWith)
	halted = slices.DeleteFunc(halted, func(owner principal.Owner) bool { return slices.Contains(from.Accounts, string(owner)) })
	AddHalted(s, halted, len(halted))
	return err
}
