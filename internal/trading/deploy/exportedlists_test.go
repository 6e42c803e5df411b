package deploy_test

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/data/provider"
	"candela/internal/testkit/exportedtest"
	"candela/internal/testkit/longtest"
	"candela/internal/testkit/pagetest"
	"candela/internal/trading/broker"
	"candela/internal/trading/broker/paper"
	"candela/internal/trading/broker/paper/papertest"
	"candela/internal/trading/deploy"
	"candela/internal/trading/desk/desktest"
	"candela/internal/trading/margin"
	"candela/internal/trading/order"
	"candela/lib/backtest"
	"candela/lib/backtest/simulate"
	"candela/lib/market"
	"candela/lib/pine/eval"
)

const perpetualLeverage = 2

// asListed lets a script count as a paper account with a perpetual future and without costs does, with the money that it
// declares, and see the times of the bars as they were exported.
type asListed struct {
	strategy    *exportedtest.Strategy
	bars, moved []market.Bar
}

// listed is how scripts run whose trades are compared with lists, nil where they are not.
func listed(y *lists, s *exportedtest.Strategy, bars, moved []market.Bar) *asListed {
	if y == nil {
		return nil
	}
	return &asListed{s, bars, moved}
}

func (a *asListed) program(s *backtest.Script) backtest.Program {
	a.prepare(s)
	return dated{s, a}
}

func (a *asListed) prepare(s *backtest.Script) {
	perp := &simulate.Perp{Leverage: perpetualLeverage, Span: shortBar * 1000}
	for _, tier := range margin.Usual("BTC") {
		perp.Tiers = append(perp.Tiers, simulate.Tier{
			Notional: tier.Notional.InexactFloat64(), Maintenance: tier.Maintenance.InexactFloat64(), Amount: tier.Amount.InexactFloat64(), MaxLeverage: tier.MaxLeverage.InexactFloat64(),
		})
	}
	s.Step, s.Paper, s.Adjust = 1e-4, &backtest.PaperCosts{Perp: perp}, nil
	s.Env.Symbol.Ticker, s.Env.Interval = "ETHUSDT.P", market.Minute15
	if source, has := a.strategy.Inputs["Source"].(string); has {
		s.Env.Inputs = []eval.Value{{Set: true, Str: source}}
	}
}

// dated is a script that sees its bars at their times.
type dated struct {
	*backtest.Script
	as *asListed
}

func (x dated) Start(account *simulate.Account) (backtest.Instance, error) {
	i, err := x.Script.Start(account)
	return &datedRun{i, x.as}, err
}

type datedRun struct {
	backtest.Instance
	as *asListed
}

func (r *datedRun) Next(b market.Bar) error {
	b.T = r.as.bars[(b.T-r.as.moved[0].T)/shortBar].T
	return r.Instance.Next(b)
}

func (r *datedRun) Close() {
	if holds, ok := r.Instance.(interface{ Close() }); ok {
		holds.Close()
	}
}

// openPerpetual starts a desk with a paper account of a perpetual future, without costs.
func openPerpetual(t *testing.T) *account {
	t.Helper()
	inst := papertest.BTCUSDT()
	inst.Symbol.Name, inst.Class, inst.Settle, inst.Step, inst.MinQuantity = market.PerpetualOf(inst.Symbol.Name), provider.Perpetual, "USDT", decimal.New(1, -4), decimal.New(1, -4)
	inst.MaxQuantity = decimal.NewFromInt(10_000_000)
	a := &account{t: t, prices: &desktest.Market{}, store: desktest.NewStore(), symbol: inst.Symbol, step: inst.Step, stage: deploy.Paper, leverage: perpetualLeverage}
	venue, journal := papertest.NewMarket(inst), &papertest.Journal{}
	a.set = func(price decimal.Decimal) { venue.Set(a.symbol, order.Quote{Last: price, At: time.Now()}) }
	a.open = func() broker.Broker {
		a.paper = paper.New(paper.Config{
			Journal: journal, Market: venue, Now: time.Now, Log: slog.New(slog.DiscardHandler), Cash: map[string]decimal.Decimal{"USDT": decimal.NewFromInt(10_000_000_000)},
			Leverage: func(market.Symbol) decimal.Decimal { return decimal.NewFromInt(perpetualLeverage) },
			Funding: func(context.Context, market.Symbol, time.Time, time.Time) ([]provider.Funding, error) {
				return nil, nil
			},
		})
		if err := a.paper.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
		return a.paper
	}
	a.price(100)
	a.start()
	return a
}

// Why a trade of a list is not one of the account.
const (
	byTouch    = "a limit that the price touches and does not pass"
	byTrail    = "a trailing stop: on paper it moves between bars"
	byEntryBar = "an exit in the bar of its entry"
	bySetting  = "a setting without effect on paper: fills at the close, margins and costs of the script, ticks that a limit must be passed by, a limit of orders a day"
	bySize     = "bars, sides and prices are equal, and the quantity is not: it is of an equity that differs, by costs, by the rate of the day or by an earlier trade"
	byAccount  = "the model made it, and the account did not: it has one stop and one target for all that it holds, follows an order that fills within a bar at its close, or a rule or the venue refused the order"
	byTurn     = "an order with a price turns the position round: on paper the second part follows"
	byEarlier  = "the positions differ since an earlier trade"
	byBacktest = "the back-test over these bars has it otherwise too: backtests.md has such lists, and some know earlier bars"
	byNothing  = "unexplained"
)

// lists compares what strategies traded on the account with the lists of trades that TradingView exported.
type lists struct {
	strategies, marketOnly int
	trades, equal          int
	marketTrades, same     int // of those that order at the market alone
	causes                 map[string]int
	shorts                 int
}

// dealt is a part of a trade: where it was bought or sold.
type dealt struct {
	bar  int
	buy  bool
	cent int64
}

func centsOf(p float64) int64 { return int64(math.Round(p * 100)) }

// deals are quantities in ten thousandths.
type deals map[dealt]int64

func (d deals) add(bar int, buy bool, price, quantity float64) {
	d[dealt{bar, buy, centsOf(price)}] += int64(math.Round(quantity * 1e4))
}

// parts are the two ends of a trade.
func parts(x *exportedtest.Trade, at map[int64]int) (in, out dealt) {
	return dealt{at[x.EntryTime/1000], x.Long, centsOf(x.EntryPrice)}, dealt{at[x.ExitTime/1000], !x.Long, centsOf(x.ExitPrice)}
}

// compare counts the trades of a list that were entered after the start.
func (y *lists) compare(t *testing.T, s *exportedtest.Strategy, a *account, bars, moved []market.Bar, begun int) {
	t.Helper()
	at := times(bars)
	var trades []exportedtest.Trade
	want := make(deals)
	for _, x := range s.Trades(t) {
		in, known := at[x.EntryTime/1000]
		out, ended := at[x.ExitTime/1000]
		if !known || in <= begun {
			continue
		}
		want.add(in, x.Long, x.EntryPrice, x.Quantity)
		if x.Open || !ended || out >= len(bars)-1 {
			continue
		}
		trades = append(trades, x)
		want.add(out, !x.Long, x.ExitPrice, x.Quantity)
	}
	if len(trades) == 0 {
		return
	}
	has := y.account(a, moved)
	model, err := modelOf(t, s, bars, true)
	if err != nil {
		t.Fatal(err)
	}
	pine, err := modelOf(t, s, bars, false)
	if err != nil {
		t.Fatal(err)
	}
	plain := atMarketAlone(s.Source)
	y.strategies++
	if plain {
		y.marketOnly++
		y.marketTrades += len(trades)
	}
	slices.SortStableFunc(trades, func(x, z exportedtest.Trade) int { return cmp.Compare(x.EntryTime, z.EntryTime) })
	differs := false
	for i := range trades {
		x := &trades[i]
		in, out := parts(x, at)
		if y.trades++; !x.Long {
			y.shorts++
		}
		if has[in] == want[in] && has[out] == want[out] {
			if y.equal++; plain {
				y.same++
			}
			continue
		}
		cause := causeOf(s.Source, in, out, bars, has, model)
		if cause == byNothing && differs {
			cause = byEarlier
		} else if cause == byNothing && (pine[in] == 0 || pine[out] == 0) {
			cause = byBacktest
		}
		if cause != bySize {
			differs = true
		}
		y.causes[cause]++
		if cause == byNothing || plain && cause != bySize {
			t.Logf("%s: %+v: %s; has %d and %d, the model %d and %d", s.Name, *x, cause, has[in], has[out], model[in], model[out])
		}
	}
}

// account returns where the account traded. What rested is filled within the bar that closes then.
func (y *lists) account(a *account, moved []market.Bar) deals {
	has := make(deals)
	for _, o := range a.store.Book(owner).Orders() {
		for _, f := range o.Fills {
			when := f.At
			if o.Price.IsPositive() || o.StopPrice.IsPositive() {
				when = when.Add(-time.Millisecond)
			}
			has.add(int((when.Unix()-moved[0].T)/shortBar), f.Side == order.Buy, f.Price.InexactFloat64(), f.Quantity.InexactFloat64())
		}
	}
	return has
}

// modelOf returns where the model of the account traded over bars, or a back-test with the fills of Pine.
func modelOf(t *testing.T, s *exportedtest.Strategy, bars []market.Bar, onPaper bool) (deals, error) {
	t.Helper()
	terms := deploy.Terms{Program: deploy.Program{Script: s.Source}, Interval: market.Minute1, Account: deploy.Account{Capital: decimal.NewFromInt(10_000)}}
	made, err := exportedPrograms{}.Program(t.Context(), owner, &terms)
	if err != nil {
		return nil, err
	}
	script := made.Program.(*backtest.Script) //nolint:forcetypeassert,errcheck // it is one
	if (&asListed{strategy: s}).prepare(script); !onPaper {
		script.Paper = nil
	}
	all := market.MakeBars(len(bars), false)
	for _, b := range bars {
		all.Append(b)
	}
	r, err := backtest.Over(t.Context(), script, &all, 0)
	if err != nil {
		return nil, err
	}
	has := make(deals)
	for i := range r.Trades {
		x := &r.Trades[i]
		has.add(x.EntryBar, x.Side == simulate.Long, x.EntryPrice, x.Quantity)
		has.add(x.ExitBar, x.Side != simulate.Long, x.ExitPrice, x.Quantity)
	}
	return has, nil
}

// atMarketAlone reports whether a script has no order with a price, and no setting that the paper account lacks.
func atMarketAlone(source string) bool { return !priced(source) && !set(source) }

func priced(source string) bool {
	return regexp.MustCompile(`\b(limit|stop|profit|loss|trail_points|trail_price|trail_offset)\s*=[^=]`).MatchString(source)
}

func set(source string) bool {
	return settings.MatchString(source)
}

var settings = regexp.MustCompile(`process_orders_on_close\s*=\s*true|immediately\s*=\s*true|margin_(long|short)\s*=\s*[1-9]|backtest_fill_limits_assumption\s*=\s*[1-9]|calc_on_order_fills\s*=\s*true|strategy\.risk\.|commission_value\s*=\s*0?\.?0*[1-9]|slippage\s*=\s*[1-9]`)

// causeOf says why a trade is not one of the account.
func causeOf(source string, in, out dealt, bars []market.Bar, has, model deals) string {
	extreme := func(d dealt) bool { return d.cent == centsOf(bars[d.bar].H) || d.cent == centsOf(bars[d.bar].L) }
	_, entered := has[in]
	_, left := has[out]
	modelled := model[in] != 0 && model[out] != 0
	switch {
	case entered && left:
		return bySize
	case modelled:
		return byAccount
	case in.bar == out.bar:
		return byEntryBar
	case strings.Contains(source, "trail_"):
		return byTrail
	case priced(source) && (extreme(in) || extreme(out)):
		return byTouch
	case set(source):
		return bySetting
	case priced(source) && in.cent != centsOf(bars[in.bar].O):
		return byTurn
	default:
		return byNothing
	}
}

// TestExported_ShortsThroughTheDesk lets the exported strategies trade on a perpetual future on paper without costs, long and
// short, one in 40 or with LONGTEST all of them, and compares what the account traded with the lists that TradingView exported.
func TestExported_ShortsThroughTheDesk(t *testing.T) {
	t.Parallel()
	archive := exportedtest.Load(t)
	n := longtest.Pick(400, 600)
	sum := runs{refused: make(map[string]int), causes: make(map[string]int), steps: make(map[string]int), denied: make(denials), bars: n, lists: &lists{causes: make(map[string]int)}}
	for i := range archive.Strategies {
		s := &archive.Strategies[i]
		if strings.HasPrefix(s.Name, "symbol-specified") || !longtest.On() && i%40 != 1 {
			continue
		}
		synctest.Test(t, func(t *testing.T) { sum.add(t, s, ranged(t, s, archive.Bars, n)) })
	}
	if sum.trading == 0 || sum.different > 0 || sum.lists.shorts == 0 || sum.lists.causes[byNothing] > 0 {
		t.Errorf("%+v", sum)
	}
	t.Logf("%+v, lists %+v", sum, *sum.lists)
	if longtest.On() {
		pagetest.Part(t, "docs/strategy-parity.md", "lists", "LONGTEST=1 go test ./internal/trading/deploy -run Exported -update", sum.page()+sum.lists.page(), *update)
	}
}

// ranged returns the first bars of the exported range of a list, which begins on one of two days: on the one from which the
// model has more of its trades.
func ranged(t *testing.T, s *exportedtest.Strategy, bars []market.Bar, n int) (best []market.Bar) {
	t.Helper()
	most := -1
	for _, day := range []int{31, 36} {
		start := time.Date(2025, time.March, day, 0, 0, 0, 0, time.UTC).Unix()
		first, _ := slices.BinarySearchFunc(bars, start, func(b market.Bar, at int64) int { return cmp.Compare(b.T, at) })
		cut := bars[first : first+n]
		if equal := same(t, s, cut); equal > most {
			most, best = equal, cut
		}
	}
	return best
}

// same counts the entries of a list that the model has.
func same(t *testing.T, s *exportedtest.Strategy, bars []market.Bar) (equal int) {
	t.Helper()
	at := times(bars)
	model, err := modelOf(t, s, bars, true)
	if err != nil {
		return 0
	}
	for _, x := range s.Trades(t) {
		if in, known := at[x.EntryTime/1000]; known && model[dealt{in, x.Long, centsOf(x.EntryPrice)}] != 0 {
			equal++
		}
	}
	return equal
}

// times are the places of bars by their times.
func times(bars []market.Bar) map[int64]int {
	at := make(map[int64]int, len(bars))
	for i := range bars {
		at[bars[i].T] = i
	}
	return at
}

// page returns the part about the lists.
func (y *lists) page() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%d of these strategies have trades in the lists of TradingView that begin after the start: %d trades, %d of them short. %d (%.1f %%) are the same in the account, "+
		"by bar, side, price to the cent and quantity. %d strategies order at the market alone: of their %d trades %d are the same. The others of all:\n\n| Cause | Trades |\n|---|---:|\n",
		y.strategies, y.trades, y.shorts, y.equal, 100*float64(y.equal)/float64(max(1, y.trades)), y.marketOnly, y.marketTrades, y.same)
	for _, cause := range slices.SortedFunc(maps.Keys(y.causes), func(x, z string) int { return cmp.Or(cmp.Compare(y.causes[z], y.causes[x]), strings.Compare(x, z)) }) {
		fmt.Fprintf(&b, "| %s | %d |\n", cause, y.causes[cause])
	}
	if y.causes[byNothing] == 0 {
		fmt.Fprintf(&b, "| %s | 0 |\n", byNothing)
	}
	return b.String()
}
