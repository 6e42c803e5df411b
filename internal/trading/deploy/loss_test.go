package deploy_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/data/provider"
	"candela/internal/trading/broker/paper/papertest"
	"candela/internal/trading/deploy"
	"candela/internal/trading/desk"
	"candela/lib/market"
)

// holds buys once and holds; it has a resting entry that a pause cancels.
const holds = `//@version=6
strategy("x", initial_capital = 10000, pyramiding = 2)
if bar_index == 130
    strategy.entry("L", strategy.long, qty = 10)
if bar_index > 130
    strategy.entry("M", strategy.long, qty = 1, limit = 50)`

// falling makes bars that stand at 100 and then fall by one each.
func falling(n, from int) []market.Bar {
	bars, last := make([]market.Bar, n), 100.0
	first := time.Now().Unix() - 120*300
	for i := range bars {
		o := last
		if i >= from {
			last--
		}
		bars[i] = market.Bar{T: first + int64(i)*300, O: o, H: o, L: last, C: last, V: 1000}
	}
	return bars
}

// TestPause_LossLimit pauses a strategy at the close at which its account has lost what it may, keeps what it holds, and
// lets it go on only with a higher limit.
func TestPause_LossLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := openAccount(t)
		defer a.stop()
		const begun = 120
		j, v := newJournals(), &venue{bars: falling(200, 140), closed: begun}
		a.price(100)
		time.Sleep(2 * time.Second)
		cfg := config(j, v, time.Now)
		cfg.Brokers = onPaper(a.Desk)
		p := startWith(t, cfg)
		defer func() { p.kill() }()
		terms := termsOf(v, 0)
		terms.Program.Script, terms.Symbol = holds, papertest.BTCUSDT().Symbol
		d, err := p.Propose(t.Context(), "agent", deploy.Deployment{Name: "x", Terms: terms, Record: deploy.Record{Limits: deploy.Limits{MaxLoss: decimal.NewFromInt(1)}}})
		if err == nil {
			d, err = p.Start(t.Context(), "owner", d.ID, deploy.Paper, &deploy.Limits{Cap: decimal.NewFromInt(20_000), MaxLoss: decimal.NewFromInt(45)})
		}
		if err != nil {
			t.Fatal(err)
		}
		to := func(n int) (now deploy.Deployment, held decimal.Decimal) {
			t.Helper()
			for i := v.closed; i < n; i++ {
				b := v.bars[i]
				time.Sleep(time.Until(time.Unix(b.T+300, 0)))
				a.paper.Observe(provider.Event{Sub: provider.Sub{Symbol: terms.Symbol, Interval: market.Minute5}, Kind: provider.Closed, Bar: b, Price: b.C, At: time.Now()}, provider.Clock{})
				a.price(b.C)
				synctest.Wait()
				p.Deliver(deploy.Sub{Symbol: terms.Symbol, Interval: market.Minute5}, v.close(i+1))
				if now, err = p.Synced(t.Context(), d.ID); err != nil {
					t.Fatal(err)
				}
			}
			_, held, err := a.DeploymentBook(t.Context(), d.ID, terms.Symbol)
			if err != nil {
				t.Fatal(err)
			}
			return now, held
		}
		ten := decimal.NewFromInt(10)
		if now, held := to(143); now.State != deploy.Running || !held.Equal(ten) {
			t.Fatalf("after a loss of about 31.50: %+v, %s", now, held)
		}
		now, held := to(145)
		if now.State != deploy.Paused || now.Cause != deploy.LossLimit || !strings.Contains(now.Detail, "lost 51.5") || !held.Equal(ten) {
			t.Fatalf("after a loss of about 51.50: %+v, %s", now, held)
		}
		if open, err := a.Orders(t.Context(), desk.DeploymentCaller(owner, d.ID, "x"), true); err != nil || len(open) > 0 {
			t.Errorf("a pause leaves entries: %v %v", open, err)
		}
		if now, _ = to(150); now.Through != v.bars[149].T {
			t.Errorf("its bars are not computed: %+v", now)
		}
		p.kill()
		p = startWith(t, cfg) // the limit lasts over a restart
		if now, err = p.Resume(t.Context(), "owner", d.ID, decimal.Zero); err != nil || now.State != deploy.Running {
			t.Fatalf("%+v %v", now, err)
		}
		if now, _ = to(151); now.Cause != deploy.LossLimit {
			t.Errorf("resumed with the same limit: %+v", now)
		}
		if now, err = p.Resume(t.Context(), "owner", d.ID, decimal.NewFromInt(300)); err != nil || !now.Limits.MaxLoss.Equal(decimal.NewFromInt(300)) || !now.Limits.Cap.Equal(decimal.NewFromInt(20_000)) {
			t.Fatalf("%+v %v", now, err)
		}
		if now, _ = to(155); now.State != deploy.Running {
			t.Errorf("resumed with another limit: %+v", now)
		}
		if now, held = to(175); now.Cause != deploy.LossLimit || !held.Equal(ten) {
			t.Errorf("after a loss of more than 300: %+v %s", now, held)
		}
	})
}
