package status

import (
	"context"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/access/oauth"
	"candela/internal/alerting/alert"
	"candela/internal/alerting/engine"
	"candela/internal/alerting/sink"
	"candela/internal/kit/principal"
	"candela/internal/operate/control"
	"candela/internal/trading/broker/paper"
	"candela/internal/trading/desk"
	"candela/internal/trading/order"
	"candela/internal/trading/policy"
	"candela/lib/market"
)

// Running is a program that trades, as it says itself what it is doing.
type Running struct {
	Account    string                                                  // that is traded on
	Replica    func() string                                           // that trades; "" for none and on a single node
	Limits     func() []control.LimitStatus                            // nil without HTTP
	Receivers  func() []sink.Status                                    // of alerts
	Policy     func() policy.Status                                    // in force
	Engine     func() engine.Status                                    // of alerts
	NoVenue    func(*alert.Alert) string                               // why no venue has what an alert is on
	Alerts     Alerts                                                  // of owners
	Orders     Orders                                                  // and positions of the account
	Trading    func(ctx context.Context) (desk.Status, []string, bool) // the account, its halt files, and whether they are known
	ManyOwners bool
}

// Alerts lists the alerts of owners.
type Alerts interface {
	Alerts(ctx context.Context, caller principal.Caller) ([]alert.Alert, error)
}

// Orders has what is in an account.
type Orders interface {
	Positions(ctx context.Context, caller principal.Caller) ([]order.PricedPosition, error)
	Orders(ctx context.Context, caller principal.Caller, open bool) ([]order.Order, error)
}

// statusWait limits the wait for prices. It is shorter than the control socket's timeout.
const statusWait = 3 * time.Second

// Status is what the program does now.
func (r Running) Status(ctx context.Context) (control.Status, error) {
	ctx, cancel := context.WithTimeout(ctx, statusWait)
	defer cancel()
	s := control.Status{Running: true, Accounts: []control.AccountStatus{}, Replica: r.Replica()}
	if r.Limits != nil {
		s.Limits = r.Limits()
	}
	for _, now := range r.Receivers() {
		s.Receivers = append(s.Receivers, control.ReceiverStatus{Name: now.Name, Delivered: now.Delivered, Refused: now.Refused, Dropped: now.Dropped, Problem: now.Problem})
	}
	s.Policy = new(r.Policy())
	scripts := r.Engine()
	s.ScriptBars, s.Starved, s.ScriptsLate, s.ScriptsSkipped = scripts.ScriptBars, scripts.Starved, scripts.ScriptsLate, scripts.ScriptsSkipped
	if r.ManyOwners {
		r.addMany(ctx, &s)
		return s, nil
	}
	owner := principal.Caller{Subject: oauth.SoleOwner}
	alerts, err := r.Alerts.Alerts(ctx, owner)
	if err != nil {
		return s, err
	}
	s.Alerts = len(alerts)
	for i := range alerts {
		countIdle(&s, &alerts[i], r.NoVenue)
	}
	return s, r.addAccount(ctx, owner, &s)
}

// addAccount adds the account of the one owner, if it is known.
func (r Running) addAccount(ctx context.Context, owner principal.Caller, s *control.Status) error {
	now, haltFiles, known := r.Trading(ctx)
	if !known {
		return nil
	}
	held, err := r.Orders.Positions(ctx, owner)
	if err != nil {
		return err
	}
	open, err := r.Orders.Orders(ctx, owner, true)
	if err != nil {
		return err
	}
	one := newAccountStatus(r.Account, now.State)
	one.Open, one.Uncertain, one.Pending = now.Open, now.Uncertain, now.Pending
	quantities := make(map[market.Symbol]decimal.Decimal, len(held))
	for _, p := range held {
		quantities[p.Symbol] = p.Quantity
		one.Positions = append(one.Positions, Position(p, open))
	}
	countGroups(&one, open, quantities)
	one.Why = withHaltFiles(one.Why, haltFiles)
	s.Accounts = append(s.Accounts, one)
	return nil
}

// addMany adds the accounts of all owners together. What an owner has is for the owner.
func (r Running) addMany(ctx context.Context, s *control.Status) {
	alerts := r.Engine()
	s.Alerts, s.NotEvaluated = alerts.Alerts+alerts.Broken+alerts.SetAside, alerts.NotEvaluated
	s.Broken, s.SetAside = alerts.Broken, alerts.SetAside
	now, haltFiles, known := r.Trading(ctx)
	if !known {
		return
	}
	AddHalted(s, now.Halted, now.HaltedOwners)
	one := newAccountStatus(r.Account, now.State.OfHost())
	one.Account = paper.Name + " accounts of all owners"
	one.Open, one.Single, one.Uncertain, one.Pending = now.Open, now.Open, now.Uncertain, now.Pending
	one.Why = withHaltFiles(one.Why, haltFiles)
	s.Accounts = append(s.Accounts, one)
}
