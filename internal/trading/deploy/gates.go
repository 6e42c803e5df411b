package deploy

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"candela/lib/backtest"
	"candela/lib/fault"
	"candela/lib/market"
)

// Bounds of the gates between paper and money.
const (
	leastTrades = 30 // closed on paper
	leastDays   = 30 // or so many days
	quietDays   = 7  // without a pause of its own
	day         = 24 * time.Hour
)

// Gate is a condition before a deployment trades with money.
type Gate struct {
	Name  string `json:"gate"`
	Met   bool   `json:"met"`
	Needs string `json:"needs"`         // in words
	Now   string `json:"now,omitempty"` // how it stands
	Waive bool   `json:"may_be_accepted,omitempty"`
	Money bool   `json:"only_for_money,omitempty"` // at a test network it need not be met
}

// Gates says what a deployment on paper has shown, and what is missing before it may trade with money.
func (d *Deployments) Gates(ctx context.Context, name string) ([]Gate, error) {
	is, v, err := d.Drift(ctx, name)
	if err != nil {
		return nil, err
	}
	if v.Stage != Paper || v.State != Running && v.State != Paused {
		return nil, refuse(&v, "promoted")
	}
	book, _, err := d.Book(ctx, &v)
	if err != nil {
		return nil, err
	}
	opened := make(map[time.Time]bool) // a trade that was closed in parts is one
	for i := range book.Trades {
		opened[book.Trades[i].Opened] = true
	}
	trades, age := len(opened), d.cfg.Now().Sub(v.StartedAt)
	gates := []Gate{
		{
			Name: "proven", Met: trades >= leastTrades || age >= leastDays*day, Needs: fmt.Sprintf("%d closed trades or %d days on paper", leastTrades, leastDays),
			Now: fmt.Sprintf("%d trades in %d days", trades, int(age/day)),
		},
		{Name: "intents", Met: is.Different == "", Needs: "all it wanted is computed again as it was recorded", Now: is.Different},
		{Name: "verdict", Met: is.Verdict != Differing, Needs: "at most 5 % of its entries were missed or refused", Now: string(is.Verdict)},
		{Name: "quiet", Met: d.cfg.Now().Sub(v.troubled) >= quietDays*day, Needs: fmt.Sprintf("no pause of its own for %d days", quietDays), Now: pausedAt(v.troubled)},
		d.venueGate(ctx, &v),
	}
	for _, flag := range []string{backtest.FlagStart, backtest.FlagFew} {
		gates = append(gates, Gate{Name: flag, Met: !slices.Contains(v.Flags, flag), Needs: "its back-test has no such flag", Waive: true})
	}
	for i := range gates { // the money of a test network is play money
		gates[i].Money = !d.cfg.Brokers[Live].Money && gates[i].Name != "venue" && gates[i].Name != "intents"
	}
	return gates, nil
}

// Open reports whether the gate keeps a deployment on paper.
func (g *Gate) Open() bool { return !g.Met && !g.Money }

func pausedAt(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return "paused at " + market.Stamp(t.Unix())
}

// venueGate says whether the account with money takes what the strategy asks for.
func (d *Deployments) venueGate(ctx context.Context, v *Deployment) Gate {
	g := Gate{Name: "venue", Needs: "the broker trades " + v.Terms.Symbol.String() + " and holds what it asks for"}
	err := d.covers(ctx, v, Live)
	if g.Met = err == nil; err != nil {
		g.Now = err.Error()
	}
	return g
}

// covers returns an error unless the broker of a stage takes what a deployment asks for.
func (d *Deployments) covers(ctx context.Context, v *Deployment, stage Stage) error {
	b := d.cfg.Brokers[stage]
	if b.Capabilities == nil {
		return nil
	}
	can, err := b.Capabilities(ctx, v.Terms.Symbol)
	if err != nil {
		return err
	}
	if lacks := v.Needs.Lacks(can, !v.Terms.LongOnly); lacks != "" {
		return fault.New(fault.Unsupported, "protection_not_native", "the strategy asked for %s", lacks)
	}
	return nil
}

// checkDirect returns an error if a proposal cannot begin at a stage: it comes to money from paper, through the gates.
func (d *Deployments) checkDirect(ctx context.Context, name string, stage Stage) error {
	b := d.cfg.Brokers[stage]
	if b.Desk == nil {
		return nil
	}
	v, err := d.Get(ctx, name)
	if err != nil {
		return err
	}
	if b.Money {
		return fault.New(fault.Unsupported, "paper_first", "a strategy trades with money only after it has traded on paper: candela strategies start %s --stage paper, and later candela strategies promote %s", v.ID, v.ID).About("stage", string(stage), string(Paper))
	}
	return d.covers(ctx, &v, stage)
}

// Promote lets a deployment on paper trade on the account of the broker. What it holds on paper is closed; the account
// begins without a position. Only the owner may: a face that calls it has checked that it acts for the owner. accepted
// names gates that are not met and may be accepted.
func (d *Deployments) Promote(ctx context.Context, by, name string, limits Limits, accepted []string) (Deployment, error) {
	if err := d.checkStage(Live); err != nil {
		return Deployment{}, err
	}
	if !limits.Cap.IsPositive() {
		return Deployment{}, fault.Missing("--cap", "the most that the strategy may hold of the account, in the currency of its prices, such as 500")
	}
	waived, err := d.pass(ctx, name, accepted)
	if err != nil {
		return Deployment{}, err
	}
	return d.on(ctx, name, func(ctx context.Context, r *runner) error {
		if r.d.State != Running || r.d.Stage != Paper || r.d.leaving != "" {
			return refuse(&r.d, "promoted")
		}
		newest, err := r.cfg.Bars.Newest(ctx, r.d.Terms.Symbol, r.d.Terms.Interval)
		if err != nil {
			return err
		}
		to := &entry{
			Kind: entryPromoted, By: by, Stage: Live, Account: r.cfg.Brokers[Live].Account, Accepted: waived, Through: newest,
			Limits: &Limits{Budget: r.d.Limits.Budget, Cap: limits.Cap, MaxLoss: limits.MaxLoss},
		}
		if !r.flush(ctx) || !r.record(ctx, to) {
			return errNotRecorded
		}
		r.due = true
		return nil
	})
}

// pass returns an error that names the gates that are not met, and else those that were accepted.
func (d *Deployments) pass(ctx context.Context, name string, accepted []string) (waived []string, err error) {
	gates, err := d.Gates(ctx, name)
	if err != nil {
		return nil, err
	}
	var open []string
	for _, g := range gates {
		switch {
		case !g.Open():
		case g.Waive && slices.Contains(accepted, g.Name):
			waived = append(waived, g.Name)
		case g.Waive:
			open = append(open, g.Name+" (--accept "+g.Name+")")
		default:
			open = append(open, g.text())
		}
	}
	if len(open) > 0 {
		return nil, fault.New(fault.Conflict, "not_proven", "the strategy stays on paper: %s", strings.Join(open, "; "))
	}
	return waived, nil
}

func (g *Gate) text() string {
	if g.Now == "" {
		return g.Name + " needs " + g.Needs
	}
	return g.Name + " needs " + g.Needs + "; now: " + g.Now
}
