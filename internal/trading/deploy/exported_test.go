package deploy_test

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/data/provider"
	"candela/internal/kit/principal"
	"candela/internal/testkit/exportedtest"
	"candela/internal/testkit/longtest"
	"candela/internal/testkit/pagetest"
	"candela/internal/trading/deploy"
	"candela/lib/backtest"
	"candela/lib/backtest/simulate"
	"candela/lib/market"
	"candela/lib/pine"
	"candela/lib/pine/eval"
)

var update = flag.Bool("update", false, "write its part of docs/strategy-parity.md; with LONGTEST=1, which runs every strategy")

// shortBar is the length of a bar in seconds. The bars of the archive are taken for bars of a minute: nothing here depends on
// their length, and a day of virtual time takes the tickers of the desk with it.
const shortBar = 60

// exportedPrograms compiles scripts of the archive for an account that counts as the paper account does.
type exportedPrograms struct{ lists *asListed } // of a perpetual future; nil on spot

func (p exportedPrograms) Program(_ context.Context, _ principal.Owner, t *deploy.Terms) (deploy.Made, error) {
	checked, found := pine.Check(t.Program.Script, nil)
	if checked == nil {
		return deploy.Made{}, fmt.Errorf("%v", found)
	}
	script := &backtest.Script{
		Program: checked.Program, Tick: 0.01, Step: 1e-5, Paper: &backtest.PaperCosts{Commission: 0.1, Slippage: 0.05},
		Env: eval.Env{
			Interval: t.Interval, Limits: eval.Limits{BarSteps: 2_000_000, Memory: 64 << 20, Instances: 20_000},
			Symbol: eval.Symbol{Ticker: "ETHUSDT", Prefix: "BINANCE", Type: "crypto", Currency: "USDT", Base: "ETH", Tick: 0.01},
		},
		Adjust: func(c *simulate.Config) { c.Capital = t.Capital.InexactFloat64() },
	}
	var program backtest.Program = script
	if p.lists != nil {
		program = p.lists.program(script)
	}
	return deploy.Made{
		Program: program, Tick: t.Tick, Step: t.Step, Closes: func(open int64) time.Time { return time.Unix(open+shortBar, 0) },
	}, nil
}

// runs is what the strategies of the archive came to, each through its runner, the desk and the paper account.
type runs struct {
	started, trading int
	refused          map[string]int
	bars             int

	closes, equal, less int // closes at which the book was compared with the model
	intents             int
	different           int // intents that were computed again otherwise than they were recorded
	entries             int
	causes              map[string]int
	steps               map[string]int // strategies with the step
	same                int            // strategies without any
	denied              denials
	name                string // of the strategy that runs
	lists               *lists // of the strategies that run on a perpetual future; nil on spot
}

// denials counts why orders of strategies were not taken, by the rule or the code that stands at the beginning of an error.
type denials map[string]int

func (denials) Enabled(context.Context, slog.Level) bool { return true }
func (d denials) WithAttrs([]slog.Attr) slog.Handler     { return d }
func (d denials) WithGroup(string) slog.Handler          { return d }

func (d denials) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		if err, is := a.Value.Any().(error); is && strings.HasPrefix(r.Message, "order of a strategy") {
			rule, _, _ := strings.Cut(err.Error(), ":")
			d[strings.TrimRight(strings.Fields(rule)[0], ",")]++
		}
		return true
	})
	return nil
}

// TestExported_ThroughTheDesk lets the strategies that were exported from TradingView trade on the paper account, in
// virtual time: one in 40 over 300 bars, with LONGTEST all of them over 1,300. At no close the book is larger than
// the model or against it, and what they wanted is computed again as it was recorded.
func TestExported_ThroughTheDesk(t *testing.T) {
	t.Parallel()
	archive := exportedtest.Load(t)
	n := longtest.Pick(500, 1500)
	sum := runs{refused: make(map[string]int), causes: make(map[string]int), steps: make(map[string]int), denied: make(denials), bars: n}
	for i := range archive.Strategies {
		s := &archive.Strategies[i]
		if strings.HasPrefix(s.Name, "symbol-specified") || !longtest.On() && i%40 != 0 {
			continue
		}
		synctest.Test(t, func(t *testing.T) { sum.add(t, s, archive.Bars[:n]) })
	}
	if sum.trading == 0 || sum.different > 0 {
		t.Errorf("%+v", sum)
	}
	t.Logf("%+v", sum)
	if longtest.On() {
		pagetest.Part(t, "docs/strategy-parity.md", "parity", "LONGTEST=1 go test ./internal/trading/deploy -run Exported -update", sum.page(), *update)
	}
}

// moved returns bars of a minute, of which a number has closed soon.
func moved(bars []market.Bar, closed int) []market.Bar {
	first := (time.Now().Unix()/shortBar + 1 - int64(closed)) * shortBar
	all := slices.Clone(bars)
	for i := range all {
		all[i].T = first + int64(i)*shortBar
	}
	return all
}

// add lets a strategy trade over bars.
func (y *runs) add(t *testing.T, s *exportedtest.Strategy, bars []market.Bar) {
	t.Helper()
	const begun = 200
	y.name = s.Name
	a := openAccount(t)
	if y.lists != nil {
		a.stop()
		a = openPerpetual(t)
	}
	defer a.stop()
	j, v := newJournals(), &venue{bars: moved(bars, begun), closed: begun}
	time.Sleep(time.Until(time.Unix(v.bars[begun-1].T+shortBar, 0)))
	a.price(v.bars[begun].O)
	time.Sleep(2 * time.Second)
	cfg := config(j, v, time.Now)
	cfg.Brokers, cfg.Programs, cfg.Log = onPaper(a.Desk), exportedPrograms{listed(y.lists, s, bars, v.bars)}, slog.New(y.denied)
	p := startWith(t, cfg)
	defer p.kill()
	terms := termsOf(v, 0)
	terms.Program.Script, terms.Symbol, terms.Interval, terms.LongOnly = s.Source, a.symbol, market.Minute1, y.lists == nil
	most := decimal.NewFromInt(90_000)
	if y.lists != nil {
		terms.Step, terms.FeeBps, terms.SlipBps, terms.Leverage = decimal.New(1, -4), decimal.Zero, decimal.Zero, decimal.NewFromInt(perpetualLeverage)
		most = decimal.NewFromInt(1_000_000_000)
	}
	d, err := p.Propose(t.Context(), "agent", deploy.Deployment{Name: "x", Terms: terms})
	if err == nil {
		d, err = p.Start(t.Context(), "owner", d.ID, deploy.Paper, &deploy.Limits{Cap: most})
	}
	if err != nil || d.State != deploy.Running {
		y.refused[whyNot(&d, err)]++
		return
	}
	y.started++
	for i := begun; i+1 < len(v.bars); i++ {
		if !y.bar(t, a, p, v, &d, i) {
			y.refused[whyNot(&d, nil)]++
			return
		}
	}
	y.compare(t, a, p, d.ID)
	if y.lists != nil {
		y.lists.compare(t, s, a, bars, v.bars, begun)
	}
}

func whyNot(d *deploy.Deployment, err error) string {
	why := string(d.Cause) + ": " + d.Detail
	if err != nil {
		why = err.Error()
	}
	if _, after, found := strings.Cut(why, "column "); found { // of a script: the place in it is not what counts
		_, why, _ = strings.Cut(after, ": ")
	}
	why, _, _ = strings.Cut(why, " cannot be had")
	return why
}

// bar closes a bar, and holds the book beside the model. It reports false for a strategy that has paused.
func (y *runs) bar(t *testing.T, a *account, p *process, v *venue, d *deploy.Deployment, i int) bool {
	t.Helper()
	b, symbol := v.bars[i], d.Terms.Symbol
	time.Sleep(time.Until(time.Unix(b.T+shortBar, 0)))
	a.paper.Observe(provider.Event{Sub: provider.Sub{Symbol: symbol, Interval: market.Minute1}, Kind: provider.Closed, Bar: b, Price: b.C, At: time.Now()}, provider.Clock{})
	a.price(v.bars[i+1].O) // the model trades at the next open
	synctest.Wait()
	v.close(i + 1)
	p.Deliver(deploy.Sub{Symbol: symbol, Interval: market.Minute1}, b)
	now, err := p.Synced(t.Context(), d.ID)
	if err != nil {
		t.Fatal(err)
	}
	if *d = now; d.State != deploy.Running {
		return false
	}
	_, has, err := a.DeploymentBook(t.Context(), d.ID, symbol)
	if err != nil {
		t.Fatal(err)
	}
	switch target := now.Model.Target; {
	case has.Sign() == -target.Sign() && !has.IsZero() || has.Abs().GreaterThan(target.Abs()):
		t.Fatalf("%s, bar %d: the book has %s, the model %s", y.name, i, has, target)
	case has.Equal(target):
		y.equal++
	default:
		y.less++
	}
	y.closes++
	return true
}

// compare explains the difference between the account and the model at the end.
func (y *runs) compare(t *testing.T, a *account, p *process, id string) {
	t.Helper()
	is := checkDrift(t, a, p.Deployments, id)
	y.intents += is.Intents
	if is.Different != "" {
		y.different++
	}
	if y.entries += is.Entries; is.Entries > 0 {
		y.trading++
	}
	for cause, n := range is.Causes {
		y.causes[cause] += n
	}
	if len(is.Steps) == 0 {
		y.same++
	}
	for _, s := range is.Steps {
		y.steps[strings.TrimSpace(s.Name+" "+s.Cause)]++
	}
}

// page returns the part of docs/strategy-parity.md.
func (y *runs) page() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d strategies ran over %d bars each, %d of them had trades, and wanted %d orders. At %d closes the book was compared with its model: "+
		"equal at %d (%.2f %%), smaller at %d, larger or against it at 0. At the end %d accounts had earned what their models had, to the last digit, and the models had made %d entries.\n\n| What | Number |\n|---|---:|\n", y.started, y.bars, y.trading, y.intents, y.closes,
		y.equal, 100*float64(y.equal)/float64(max(1, y.closes)), y.less, y.same, y.entries)
	for _, part := range []struct {
		title string
		of    map[string]int
	}{{"entries with another quantity: ", y.causes}, {"strategies with the step ", y.steps}, {"orders that were not taken, by the reason: ", y.denied}, {"strategies that did not run: ", y.refused}} {
		keys := slices.SortedFunc(maps.Keys(part.of), func(x, z string) int { return cmp.Or(cmp.Compare(part.of[z], part.of[x]), strings.Compare(x, z)) })
		for _, k := range keys {
			fmt.Fprintf(&b, "| %s%s | %d |\n", part.title, k, part.of[k])
		}
	}
	fmt.Fprintf(&b, "| intents that were computed again otherwise than they were recorded | %d |\n", y.different)
	return b.String()
}
