package deploy_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/kit/principal"
	"candela/internal/trading/deploy"
	"candela/internal/trading/desk"
	"candela/internal/trading/drift"
	"candela/internal/trading/order"
	"candela/lib/market"
)

// smooth makes bars around 100 that open where the one before closed, the first of them before now.
func smooth(n int) []market.Bar {
	const before = 120
	r := rand.New(rand.NewPCG(4, 9))
	cents := func(x float64) float64 { return math.Round(x*100) / 100 }
	bars, last := make([]market.Bar, n), 100.0
	first := time.Now().Unix() - int64(before)*300
	for i := range bars {
		o := last
		c := cents(o + (100-o)/100 + r.NormFloat64())
		bars[i] = market.Bar{T: first + int64(i)*300, O: o, H: cents(max(o, c) + r.Float64()), L: cents(min(o, c) - r.Float64()), C: c, V: 1000}
		last = c
	}
	return bars
}

// dying is a desk and a journal whose user is killed at some of its calls, before or after they are carried out.
type dying struct {
	deploy.Desk
	*journals
	at    func(call int) (before, after bool)
	mu    sync.Mutex
	calls int
	kill  func()
	dead  atomic.Bool
}

// mayKill takes what kills the process that begins.
func (d *dying) mayKill(stop func()) {
	d.kill = func() { d.dead.Store(true); stop() }
}

// call carries out a call, unless the process is killed before, and reports whether it lives.
func (d *dying) call(do func()) bool {
	if d.dead.Load() {
		return false
	}
	d.mu.Lock()
	before, after := d.at(d.calls)
	d.calls++
	d.mu.Unlock()
	if !before {
		do()
	}
	if before || after {
		d.kill()
	}
	return !before && !after
}

func (d *dying) Place(ctx context.Context, by principal.Caller, r order.Request) (placed order.Placed, err error) {
	if !d.call(func() { placed, err = d.Desk.Place(ctx, by, r) }) {
		return order.Placed{}, context.Canceled
	}
	return placed, err
}

func (d *dying) Cancel(ctx context.Context, by principal.Caller, id string) (o order.Order, err error) {
	if !d.call(func() { o, err = d.Desk.Cancel(ctx, by, id) }) {
		return order.Order{}, context.Canceled
	}
	return o, err
}

func (d *dying) AppendJournal(ctx context.Context, owner principal.Owner, name string, entries [][]byte) (err error) {
	if !d.call(func() { err = d.journals.AppendJournal(ctx, owner, name, entries) }) {
		return context.Canceled
	}
	return err
}

// traded is what a run over bars came to.
type traded struct {
	fills                    []string // each with its bar and price
	calls                    int      // of the desk and the journal
	closes, same, less, held int
	kills                    int
	parts                    int // closes with several lines
	denied, entries          int // orders
	drift                    deploy.Drift
}

// tradeOver lets a strategy trade on an account over bars, killed with its desk at some calls of that. At each close its
// book is what its model will hold at the next open, or less, and never on the other side.
func tradeOver(t *testing.T, at, source string, n int, killed func(call int) (before, after bool)) (out traded) {
	t.Helper()
	const begun = 120
	a := openAt(t, at)
	defer func() { a.stop() }()
	j, v := newJournals(), &venue{bars: smooth(n), closed: begun}
	a.price(v.bars[begun-1].C)
	time.Sleep(2 * time.Second)
	through := &dying{Desk: a.Desk, journals: j, at: func(int) (before, after bool) { return false, false }}
	cfg := config(j, v, time.Now)
	cfg.Brokers, cfg.Journal = a.brokers(through), through
	p := startWith(t, cfg, through.mayKill)
	terms := termsOf(v, 60)
	terms.Symbol, terms.Step, terms.Program.Script = a.symbol, a.step, source
	d, err := p.Propose(t.Context(), "agent", deploy.Deployment{Name: "x", Terms: terms})
	if err == nil {
		d, err = p.Start(t.Context(), "owner", d.ID, a.stage, &deploy.Limits{Cap: decimal.NewFromInt(20_000)})
	}
	if err != nil {
		t.Fatal(err)
	}
	through.mu.Lock()
	through.at, through.calls = killed, 0
	through.mu.Unlock()
	for i := begun; i < n; i++ {
		b := v.bars[i]
		a.trade(b)
		v.close(i + 1)
		p.Deliver(deploy.Sub{Symbol: terms.Symbol, Interval: market.Minute5}, b)
		now, err := p.Synced(t.Context(), d.ID)
		for {
			if err == nil && !through.dead.Load() {
				now, err = a.synced(p, d.ID, 20*time.Second)
			}
			if err == nil && !through.dead.Load() {
				break
			}
			p.kill()
			out.kills++
			a.restart()
			through.Desk = a.Desk
			through.dead.Store(false)
			p = startWith(t, cfg, through.mayKill)
			_, err = a.synced(p, d.ID, 3*time.Second) // after a minute it would miss its entries
		}
		if now.State != deploy.Running || now.Through != b.T {
			t.Fatalf("%+v", now)
		}
		_, has, err := a.DeploymentBook(t.Context(), d.ID, terms.Symbol)
		if err != nil {
			t.Fatal(err)
		}
		target := now.Model.Target
		if rest := has.Sub(now.Model.Target); !rest.IsNegative() && rest.Mul(decimal.NewFromFloat(b.C)).LessThan(a.least) {
			has = now.Model.Target // the venue does not let it sell so little
		}
		switch out.closes++; {
		case has.IsNegative() || has.GreaterThan(target):
			t.Fatalf("bar %d: the book has %s, the model %s", i, has, target)
		case has.Equal(target):
			out.same++
		default:
			out.less++ // a stop whose price has passed at the close, a fee in what was bought, or an entry that a rule denied
		}
		if !has.IsZero() {
			out.held++
		}
		if lines := linesOf(t, a, &d); len(lines) > 1 {
			out.parts++
		}
	}
	all, err := a.Orders(t.Context(), desk.DeploymentCaller(owner, d.ID, "x"), false)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range all {
		if o.Status == order.Denied {
			out.denied++
		} else if !o.ReduceOnly {
			out.entries++
		}
		for _, f := range o.Fills {
			out.fills = append(out.fills, fmt.Sprintf("%s %s %s at %s", f.At.Truncate(5*time.Minute).Format(time.DateTime), f.Side, f.Quantity, f.Price))
		}
	}
	slices.Sort(out.fills)
	out.calls = through.calls
	through.at = func(int) (before, after bool) { return false, false }
	out.drift = checkDrift(t, a, p.Deployments, d.ID)
	p.kill()
	return out
}

// checkDrift compares a strategy with its account: what it wanted is computed again, and the steps from the model to the
// account add up to what the desk says that it earned.
func checkDrift(t *testing.T, a *account, of *deploy.Deployments, id string) deploy.Drift {
	t.Helper()
	got, v, err := of.Drift(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	book, _, err := a.DeploymentBook(t.Context(), id, v.Terms.Symbol)
	if err != nil {
		t.Fatal(err)
	}
	p := book.Position(v.Terms.Symbol)
	earned, _ := p.Net(v.Terms.Quote)
	earned = earned.Add(p.Quantity.Mul(got.Mark)).Sub(p.Cost)
	last := got.Curve[len(got.Curve)-1]
	if math.Abs(last.Model-got.Model.InexactFloat64()) > 1e-6 || math.Abs(last.Account-got.Account.InexactFloat64()) > 1e-6 || len(got.Curve) > drift.MostPoints {
		t.Errorf("the curve of %d points ends with %+v, and the drift is %s and %s", len(got.Curve), last, got.Model, got.Account)
	}
	steps := decimal.Zero
	for _, s := range got.Steps {
		steps = steps.Add(s.Amount)
	}
	if got.Different != "" || got.Intents != v.Intents || got.Revised > 0 || !got.Account.Sub(earned).Round(8).IsZero() || !got.Held.Equal(p.Quantity) || !steps.Equal(got.Gap) {
		t.Errorf("%+v: earned %s, held %s, steps %s", got, earned, p.Quantity, steps)
	}
	return got
}

// linesOf returns the lines of a strategy.
func linesOf(t *testing.T, a *account, d *deploy.Deployment) (lines []order.Line) {
	t.Helper()
	positions, err := a.Positions(t.Context(), callerOf(d))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range positions {
		lines = append(lines, p.Plan...)
	}
	return slices.DeleteFunc(lines, func(l order.Line) bool { return l.Deployment != d.ID || !l.Quantity.IsPositive() })
}
