package deploy_test

import (
	"context"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/testkit/longtest"
	"candela/internal/trading/deploy"
	"candela/internal/trading/order"
	"candela/lib/backtest"
	"candela/lib/fault"
	"candela/lib/market"
)

// pair is a strategy that may come from paper to an account with money, in virtual time.
type pair struct {
	*process
	t           *testing.T
	cfg         deploy.Config
	journals    *journals
	paper, live *account
	venue       *venue
	d           deploy.Deployment
}

// sturdy buys at every other bar and sells at the next.
const sturdy = `//@version=6
strategy("x", initial_capital = 10000)
if bar_index % 2 == 0
    strategy.entry("L", strategy.long, qty = 1)
    strategy.exit("X", "L", loss = 1000, profit = 2000)
else
    strategy.close_all()`

// newPair starts the strategy on paper, on bars that have closed before. The other account has money, or play money.
func newPair(t *testing.T, money bool, flags ...string) *pair {
	t.Helper()
	p := &pair{t: t, paper: openAt(t, onThePaper), live: openAt(t, onThePaper), venue: &venue{bars: smooth(400), closed: 120}}
	p.price(p.venue.bars[119].C)
	time.Sleep(2 * time.Second)
	p.journals = newJournals()
	p.cfg = config(p.journals, p.venue, time.Now)
	p.cfg.Brokers = map[deploy.Stage]deploy.Broker{
		deploy.Paper: {Desk: p.paper.Desk, Account: "owner"},
		deploy.Live: {Desk: p.live.Desk, Account: "owner/test-live", Money: money, Capabilities: func(context.Context, market.Symbol) (order.Capabilities, error) {
			return order.Capabilities{Stops: true}, nil
		}},
	}
	p.process = startWith(t, p.cfg)
	terms := termsOf(p.venue, 60)
	terms.Program.Script, terms.Symbol = sturdy, p.paper.symbol
	d, err := p.Propose(t.Context(), "agent", deploy.Deployment{Name: "x", Terms: terms, Record: deploy.Record{Flags: flags, Needs: deploy.Needs{Lines: 3}}})
	if err != nil {
		t.Fatal(err)
	}
	if money {
		if _, err = p.Start(t.Context(), "owner", d.ID, deploy.Live, capped(100)); code(err) != "paper_first" {
			t.Errorf("started with money at once: %v", err)
		}
	}
	if p.d, err = p.Start(t.Context(), "owner", d.ID, deploy.Paper, capped(1000)); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *pair) stop() {
	p.kill()
	p.paper.stop()
	p.live.stop()
}

func capped(most int64) *deploy.Limits { return &deploy.Limits{Cap: decimal.NewFromInt(most)} }

func code(err error) string {
	if f := fault.Of(err); f != nil {
		return f.Code
	}
	return ""
}

func (p *pair) price(x float64) {
	p.paper.price(x)
	p.live.price(x)
}

// to closes bars up to one.
func (p *pair) to(n int) deploy.Deployment {
	p.t.Helper()
	for i := p.venue.closed; i < n; i++ {
		b := p.venue.bars[i]
		p.live.trade(b)
		p.paper.trade(b)
		p.Deliver(deploy.Sub{Symbol: p.d.Terms.Symbol, Interval: market.Minute5}, p.venue.close(i+1))
		d, err := p.Synced(p.t.Context(), p.d.ID)
		if err != nil {
			p.t.Fatal(err)
		}
		p.d = d
	}
	return p.d
}

// held returns what the strategy holds on both accounts.
func (p *pair) held() (paper, live string) {
	p.t.Helper()
	synctest.Wait()
	_, a, err := p.paper.DeploymentBook(p.t.Context(), p.d.ID, p.d.Terms.Symbol)
	_, b, err2 := p.live.DeploymentBook(p.t.Context(), p.d.ID, p.d.Terms.Symbol)
	if err != nil || err2 != nil {
		p.t.Fatal(err, err2)
	}
	return a.String(), b.String()
}

// open returns the names of the gates that are not met.
func (p *pair) open() string {
	p.t.Helper()
	gates, err := p.Gates(p.t.Context(), p.d.ID)
	if err != nil {
		p.t.Fatal(err)
	}
	var names []string
	for _, g := range gates {
		if !g.Met {
			names = append(names, g.Name)
		}
	}
	return strings.Join(names, " ")
}

// TestPromote_GatesStandBetweenPaperAndMoney lets a strategy prove itself on paper, and moves it to the account with money: what
// it holds on paper is closed, and the account with money begins with the next entry.
func TestPromote_GatesStandBetweenPaperAndMoney(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t, true, backtest.FlagFew)
		defer func() { p.stop() }()
		p.to(130)
		if got := p.open(); got != "proven few_trades" {
			t.Errorf("open after ten bars: %s", got)
		}
		if _, err := p.Promote(t.Context(), "owner", p.d.ID, *capped(500), []string{"few_trades", "proven"}); code(err) != "not_proven" || !strings.Contains(err.Error(), "30 closed trades") {
			t.Errorf("promoted too early: %v", err)
		}
		p.to(191)
		if got := p.open(); got != "few_trades" {
			t.Errorf("open after 70 bars: %s", got)
		}
		if _, err := p.Promote(t.Context(), "owner", p.d.ID, *capped(500), nil); code(err) != "not_proven" || !strings.Contains(err.Error(), "--accept few_trades") {
			t.Errorf("promoted with a flag that nobody accepted: %v", err)
		}
		if _, err := p.Promote(t.Context(), "owner", p.d.ID, deploy.Limits{}, []string{"few_trades"}); code(err) != "missing_argument" && !strings.Contains(err.Error(), "--cap") {
			t.Errorf("promoted without a cap: %v", err)
		}
		if paper, live := p.held(); paper != "1" || live != "0" {
			t.Fatalf("before: %s on paper, %s with money", paper, live)
		}
		d, err := p.Promote(t.Context(), "owner", p.d.ID, *capped(500), []string{"few_trades"})
		if err != nil || d.Stage != deploy.Live || d.PromotedBy != "owner" || d.Account != "owner/test-live" || len(d.Accepted) != 1 || !d.Limits.Cap.Equal(decimal.NewFromInt(500)) {
			t.Fatalf("%+v %v", d, err)
		}
		time.Sleep(5 * time.Second)
		if paper, live := p.held(); paper != "0" || live != "0" {
			t.Errorf("after: %s on paper, %s with money", paper, live)
		}
		if _, err := p.Promote(t.Context(), "owner", p.d.ID, *capped(500), nil); code(err) != "strategy_state" {
			t.Errorf("promoted twice: %v", err)
		}
		p.to(193)
		if paper, live := p.held(); paper != "0" || live != "1" {
			t.Errorf("at the next entry: %s on paper, %s with money", paper, live)
		}
		p.to(211)
		is, _, err := p.Drift(t.Context(), p.d.ID)
		if err != nil || is.Different != "" || is.Entries < 8 || is.Entries > 10 || is.Verdict == deploy.Differing {
			t.Errorf("since the promotion: %+v %v", is, err)
		}
		p.elsewhere()
	})
}

// elsewhere restarts the process with another account at the broker: the strategy sends nothing there.
func (p *pair) elsewhere() {
	p.kill()
	other := p.cfg
	other.Brokers = maps.Clone(p.cfg.Brokers)
	b := other.Brokers[deploy.Live]
	b.Account = "owner/test-other"
	other.Brokers[deploy.Live] = b
	p.process = startWith(p.t, other)
	before := len(p.orders())
	if d := p.to(220); d.Stage != deploy.Live || !strings.Contains(d.Detail, "owner/test-live") || len(p.orders()) != before {
		p.t.Errorf("%+v: %d orders, not %d", d, len(p.orders()), before)
	}
	if _, err := p.Stop(p.t.Context(), "owner", p.d.ID, true); code(err) != "strategy_state" {
		p.t.Errorf("stopped where its account is not: %v", err)
	}
	p.kill()
	p.process = startWith(p.t, p.cfg)
	if d, err := p.Stop(p.t.Context(), "owner", p.d.ID, true); err != nil || d.State.Final() && d.Detail != "" {
		p.t.Errorf("%+v %v", d, err)
	}
	time.Sleep(10 * time.Second)
	if paper, live := p.held(); paper != "0" || live != "0" {
		p.t.Errorf("at the end: %s on paper, %s with money", paper, live)
	}
}

func (p *pair) orders() []order.Order {
	p.t.Helper()
	all, err := p.live.OrderPage(p.t.Context(), callerOf(&p.d), order.Query{Most: 500})
	if err != nil {
		p.t.Fatal(err)
	}
	return all.Orders
}

// TestPromote_KilledWhileItLeaves kills the process before and after each call of a promotion: nothing stays on paper, and the
// account with money has each entry once.
func TestPromote_KilledWhileItLeaves(t *testing.T) {
	t.Parallel()
	for _, after := range []bool{false, true} {
		for call := range longtest.Pick(3, 6) {
			synctest.Test(t, func(t *testing.T) {
				p := newPair(t, false)
				defer func() { p.stop() }()
				p.to(131)
				through := &dying{Desk: p.paper.Desk, journals: p.journals, at: func(n int) (bool, bool) { return n == call && !after, n == call && after }}
				dies := p.cfg
				dies.Brokers = maps.Clone(p.cfg.Brokers)
				dies.Brokers[deploy.Paper], dies.Journal = deploy.Broker{Desk: through, Account: "owner"}, through
				p.kill()
				p.process = startWith(t, dies, through.mayKill)
				_, err := p.Promote(t.Context(), "owner", p.d.ID, *capped(500), nil)
				time.Sleep(5 * time.Second)
				p.kill()
				p.process = startWith(t, p.cfg)
				if d, _ := p.Get(t.Context(), p.d.ID); d.Stage == deploy.Paper {
					if err == nil {
						t.Fatalf("call %d: a promotion that was answered is lost", call)
					}
					if _, err := p.Promote(t.Context(), "owner", p.d.ID, *capped(500), nil); err != nil {
						t.Fatal(err)
					}
				}
				time.Sleep(5 * time.Second)
				if paper, live := p.held(); paper != "0" || live != "0" {
					t.Errorf("call %d, after: %t: %s on paper, %s with money", call, after, paper, live)
				}
				if p.to(133); len(p.orders()) != 3 {
					t.Errorf("call %d, after: %t: %d orders with money, an entry has 3", call, after, len(p.orders()))
				}
				if paper, live := p.held(); paper != "0" || live != "1" {
					t.Errorf("call %d, after: %t: %s on paper, %s with money", call, after, paper, live)
				}
			})
		}
	}
}
