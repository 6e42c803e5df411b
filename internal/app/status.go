package app

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/alerting/alert"
	"candela/internal/kit/principal"
	"candela/internal/kit/retry"
	"candela/internal/operate/control"
	"candela/internal/serve/httpd"
	"candela/internal/store"
	"candela/internal/store/statedir"
	"candela/internal/trading/broker/paper"
	"candela/internal/trading/desk"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/fault"
	"candela/lib/market"
	"candela/lib/ta"
)

// statusWait limits the wait for prices. It is shorter than the control socket's timeout.
const statusWait = 3 * time.Second

// statusOf returns the status function of the control socket, nil without a trading side.
// server is nil without HTTP.
func (t *trading) statusOf(rt Runtime, server func() httpd.Stats) func(context.Context) (control.Status, error) {
	if t == nil {
		return nil
	}
	return func(ctx context.Context) (control.Status, error) {
		ctx, cancel := context.WithTimeout(ctx, statusWait)
		defer cancel()
		s := control.Status{Running: true, Accounts: []control.AccountStatus{}, Replica: t.tradingReplica()}
		if server != nil {
			for _, b := range server().Budgets {
				s.Limits = append(s.Limits, control.LimitStatus(b))
			}
		}
		for _, one := range t.senders {
			now := one.Status()
			s.Receivers = append(s.Receivers, control.ReceiverStatus{Name: now.Name, Delivered: now.Delivered, Refused: now.Refused, Dropped: now.Dropped, Problem: now.Problem})
		}
		policy := t.policies.Status()
		s.Policy = &policy
		scripts := t.engine.Status()
		s.ScriptBars, s.Starved, s.ScriptsLate, s.ScriptsSkipped = scripts.ScriptBars, scripts.Starved, scripts.ScriptsLate, scripts.ScriptsSkipped
		if rt.Config.ManyOwners() {
			t.addManyStatus(ctx, rt, &s)
			return s, nil
		}
		alerts, err := t.alerts.Alerts(ctx, principal.Caller{Subject: accountOwner})
		if err != nil {
			return s, err
		}
		s.Alerts = len(alerts)
		for i := range alerts {
			countIdle(&s, &alerts[i], t.engine.NoVenue)
		}
		now, haltFiles, known := t.status(ctx)
		if !known {
			return s, nil
		}
		held, err := t.orders.Positions(ctx, principal.Caller{Subject: accountOwner})
		if err != nil {
			return s, err
		}
		open, err := t.orders.Orders(ctx, principal.Caller{Subject: accountOwner}, true)
		if err != nil {
			return s, err
		}
		one := newAccountStatus(rt.account(), now.State)
		one.Open, one.Uncertain, one.Pending = now.Open, now.Uncertain, now.Pending
		quantities := make(map[market.Symbol]decimal.Decimal, len(held))
		for _, p := range held {
			quantities[p.Symbol] = p.Quantity
			one.Positions = append(one.Positions, newPositionStatus(p, open))
		}
		countGroups(&one, open, quantities)
		one.Why = withHaltFiles(one.Why, haltFiles)
		s.Accounts = append(s.Accounts, one)
		return s, nil
	}
}

// tradingReplica returns the name of the replica that trades, "" on a single node and for none.
func (t *trading) tradingReplica() string {
	if t.replicas == nil {
		return ""
	}
	return t.replicas.Trades()
}

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

// addManyStatus adds the accounts of all owners together. What an owner has is for the owner.
func (t *trading) addManyStatus(ctx context.Context, rt Runtime, s *control.Status) {
	alerts := t.engine.Status()
	s.Alerts, s.NotEvaluated = alerts.Alerts+alerts.Broken+alerts.SetAside, alerts.NotEvaluated
	s.Broken, s.SetAside = alerts.Broken, alerts.SetAside
	now, haltFiles, known := t.status(ctx)
	if !known {
		return
	}
	one := newAccountStatus(rt.account(), now.State)
	one.Account = paper.Name + " accounts of all owners"
	one.Open, one.Single, one.Uncertain, one.Pending = now.Open, now.Open, now.Uncertain, now.Pending
	one.Why = withHaltFiles(one.Why, haltFiles)
	s.Accounts = append(s.Accounts, one)
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

// loaded returns the status of a desk once its account is loaded. It reports false when
// ctx ends first.
func loaded(ctx context.Context, status func() desk.Status) (desk.Status, bool) {
	for {
		if now := status(); now.Broker != "" {
			return now, true
		}
		if retry.Sleep(ctx, 20*time.Millisecond) != nil {
			return desk.Status{}, false
		}
	}
}

func newAccountStatus(account string, state guard.State) control.AccountStatus {
	name := strings.TrimPrefix(strings.TrimPrefix(account, accountOwner), "/")
	if name == "" {
		name = paper.Name
	}
	return control.AccountStatus{Account: name, TradingState: control.StateOf(state), Positions: []control.PositionStatus{}}
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

func newPositionStatus(p order.PricedPosition, open []order.Order) control.PositionStatus {
	entry, _ := p.Average()
	one := control.PositionStatus{Symbol: p.Symbol.String(), Side: p.Side().String(), Quantity: p.Quantity.Abs().String(), Entry: entry.Round(entryDigits).String()}
	if last := p.Quote.Last; last.IsPositive() {
		one.Current, one.Unrealized = last.String(), p.Unrealised(last).String()
	}
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

// ReadStatus asks the program that trades in a state directory, or reads the store if
// none does. It changes nothing but the schema of a store that an earlier version wrote.
func ReadStatus(ctx context.Context, home string) (control.Status, error) {
	s, reached, err := control.ReadStatus(ctx, home)
	if reached || err != nil {
		return s, err
	}
	return storedStatus(ctx, home)
}

// storedStatus reads the store of a state directory in which no program is trading.
func storedStatus(ctx context.Context, home string) (control.Status, error) {
	s := control.Status{Accounts: []control.AccountStatus{}}
	kind := StoreAt(home)
	if _, err := os.Stat(filepath.Join(home, kind.File)); errors.Is(err, fs.ErrNotExist) {
		return s, nil // nothing was ever traded here
	}
	held, err := statedir.LockEngine(home)
	if statedir.IsLocked(err) {
		return s, fault.New(fault.Unavailable, statedir.LockedCode, "a program trades in state directory %s and does not respond. See its log.", home).
			About("home", home, "")
	}
	if err != nil {
		return s, err
	}
	defer held.Release()
	stored, err := kind.Open(ctx, home, time.Now)
	if err != nil {
		return s, err
	}
	err = readStore(ctx, stored, storedLibrary(home), filepath.Join(home, statedir.HaltName), &s)
	return s, errors.Join(err, stored.Close())
}

// countAlerts counts stored alerts, and those that nothing would evaluate.
func countAlerts(all iter.Seq2[alert.Alert, error], library ta.Library, s *control.Status) error {
	usable := alert.NewIndexOf(library)
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

// readStore adds the contents of a store to s.
func readStore(ctx context.Context, from store.Store, library ta.Library, haltFile string, s *control.Status) error {
	if err := countAlerts(from.Alerts(ctx), library, s); err != nil {
		return err
	}
	_, statErr := os.Lstat(haltFile)
	var untraded []control.AccountStatus
	for _, account := range accountNames() {
		state, book, err := desk.LoadStored(ctx, from, principal.Owner(account))
		if err != nil {
			return err
		}
		if len(state.Restrictions) == 0 && len(book.Orders()) == 0 && len(book.Positions()) == 0 {
			continue // never used
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
				one.Positions = append(one.Positions, newPositionStatus(order.PricedPosition{Position: p, Plan: book.Lines(p.Symbol)}, watched))
			}
		}
		countGroups(&one, book.Open(), quantities)
		s.Accounts = append(s.Accounts, one)
	}
	// A halt without a running program is stored for every possible account. Naming them
	// would suggest that they exist.
	if len(untraded) > 1 {
		untraded[0].Account = Untraded
		untraded = untraded[:1]
	}
	s.Accounts = append(s.Accounts, untraded...)
	return nil
}

// Untraded stands for all accounts on which nothing was traded yet.
const Untraded = "accounts without orders"
