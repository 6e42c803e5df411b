package rules_test

import (
	"cmp"
	"flag"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"candela/internal/testkit/exportedtest"
	"candela/internal/testkit/longtest"
	"candela/internal/testkit/pagetest"
	"candela/internal/trading/margin"
	"candela/lib/backtest"
	"candela/lib/backtest/simulate"
	"candela/lib/market"
	"candela/lib/pine/check"
	"candela/lib/pine/eval"
)

var update = flag.Bool("update", false, "write its part of docs/backtests.md; with LONGTEST=1, which runs every strategy")

// Why a trade on paper is not the one of the Pine fill model. The first five are steps from one to the other: a
// trade is counted at the last of them that changed it.
const (
	bySettings = iota
	byFills
	byVolume
	byMargin
	bySize
	byTurn
	byTouch
	byEntryBar
	byTrail
	byBoth
	byCap
	byEarlier
	byOther
	causes
)

func causeText(cause int) string {
	return [causes]string{
		bySettings: "A setting without effect on paper: fills at the close that orders, margins of the script, ticks that a limit must be passed by",
		byVolume:   "The volume of the bar is less than the order",
		byMargin:   "Margin: an entry is cut or left out, or the position is liquidated, where the script's own rules do otherwise",
		bySize:     "Side, times and prices are equal, and the size is not: it is of an equity that differs",
		byTurn:     "An order with a price turns the position round: on paper the second part follows at the next open",
		byTouch:    "A limit that the price touches and does not pass",
		byEntryBar: "An exit in the bar of its entry: on paper it works from the next open, or earlier where it goes with the entry at the open",
		byTrail:    "A trailing stop: on paper it moves between bars",
		byBoth:     "A bar reaches stop and target: on paper the stop fills",
		byCap:      "A limit of filled orders a day: on paper a turn is two of them",
		byEarlier:  "The positions differ since an earlier trade",
		byOther:    "Other",
	}[cause]
}

// TestExported_OnPaper runs the exported strategies over a perpetual future on paper, one in 24, all of them
// with LONGTEST. None is refused for its shorts, and each trade that the Pine fill model has otherwise has a cause.
func TestExported_OnPaper(t *testing.T) {
	t.Parallel()
	archive := exportedtest.Load(t)
	bars := market.MakeBars(len(archive.Bars), false)
	start := time.Date(2025, time.March, 31, 0, 0, 0, 0, time.UTC).Unix()
	for _, b := range archive.Bars {
		if b.T >= start {
			bars.Append(b)
		}
	}
	var sum tally
	for i := range archive.Strategies {
		s := &archive.Strategies[i]
		if strings.HasPrefix(s.Name, "symbol-specified") || !longtest.On() && i%24 != 0 {
			continue
		}
		sum.add(t, s, &bars)
	}
	if sum.lists == 0 || sum.short == 0 || sum.shortTrades == 0 {
		t.Errorf("%+v tests little", sum)
	}
	t.Logf("%+v", sum)
	if longtest.On() {
		pagetest.Part(t, "docs/backtests.md", "on paper", "LONGTEST=1 go test ./internal/work/research/rules -run Exported -update", sum.page(), *update)
	}
}

// tally counts trades of all strategies.
type tally struct {
	lists, short       int // all, and those that sell short in the Pine model
	minutes            int // those that need bars of a minute
	pine, paper, equal int // trades
	shortTrades        int // on paper
	lost, gained       [causes]int
}

// steps runs a strategy from the Pine fill model to the paper account, a change at a time. Costs are the same in
// all of them. It reports false for one that needs bars of a minute.
func steps(t *testing.T, s *exportedtest.Strategy, bars *market.Bars) (out [5]*backtest.Run, ok bool) {
	t.Helper()
	program, found := check.Check(s.Source, check.Options{})
	if program == nil {
		t.Fatal(s.Name, found[0].Message)
	}
	endless := *bars
	endless.V = make([]float64, bars.Len())
	easy := simulate.Perp{Leverage: 2, Span: 900_000, Tiers: []simulate.Tier{{MaxLeverage: 2}}} // enough for any entry with its fee
	usual := simulate.Perp{Leverage: 1, Span: 900_000, Tiers: usualTiers("ETH")}
	for i, step := range []struct {
		bars  *market.Bars
		paper *backtest.PaperCosts
		bare  bool
	}{
		{bars, nil, false},
		{bars, nil, true},
		{&endless, &backtest.PaperCosts{Commission: 0.05, Perp: &easy}, false},
		{bars, &backtest.PaperCosts{Commission: 0.05, Perp: &easy}, false},
		{bars, &backtest.PaperCosts{Commission: 0.05, Perp: &usual}, false},
	} {
		script := &backtest.Script{Program: program, Tick: 0.01, Step: 0.0001, Paper: step.paper, Env: eval.Env{
			Interval: market.Minute15, Limits: eval.Limits{BarSteps: 2_000_000, Memory: 64 << 20, Instances: 20_000},
			Symbol: eval.Symbol{Ticker: "ETHUSDT.P", Prefix: "BINANCE", Type: "crypto", Currency: "USDT", Base: "ETH", Tick: 0.01},
		}, Adjust: func(c *simulate.Config) {
			c.Charge, c.Commission, c.SlipPercent, c.Slippage = simulate.Percent, 0.05, 0, 0
			if step.bare {
				c.MarginLong, c.MarginShort, c.LimitBeyond, c.OnClose = 0, 0, 0, false
			}
		}}
		r, err := backtest.Over(t.Context(), script, step.bars, 0)
		switch {
		case err != nil && i == 0 && strings.Contains(err.Error(), "request.security_lower_tf"):
			return out, false // the archive has no bars of a minute
		case err != nil:
			t.Fatal(s.Name, err)
		}
		out[i] = r
	}
	return out, true
}

// usualTiers returns the tiers of a coin.
func usualTiers(base string) []simulate.Tier {
	var all []simulate.Tier
	for _, tier := range margin.Usual(base) {
		all = append(all, simulate.Tier{
			Notional: tier.Notional.InexactFloat64(), Maintenance: tier.Maintenance.InexactFloat64(), Amount: tier.Amount.InexactFloat64(), MaxLeverage: tier.MaxLeverage.InexactFloat64(),
		})
	}
	return all
}

// tradeKey is a trade without its size.
type tradeKey struct {
	side     simulate.Side
	in, out  int
	from, to int64 // cents
}

func keyOf(x *simulate.Trade) tradeKey {
	return tradeKey{x.Side, x.EntryBar, x.ExitBar, cents(x.EntryPrice), cents(x.ExitPrice)}
}

func cents(p float64) int64 { return int64(math.Round(p * 100)) }

// numbered makes trades with the same key distinct: the first, the second and so on.
func numbered(r *backtest.Run) map[tradeKey][]simulate.Trade {
	all := make(map[tradeKey][]simulate.Trade)
	for i := range r.Trades {
		k := keyOf(&r.Trades[i])
		all[k] = append(all[k], r.Trades[i])
	}
	return all
}

// add runs a strategy and counts its trades.
func (y *tally) add(t *testing.T, s *exportedtest.Strategy, bars *market.Bars) {
	t.Helper()
	runs, ok := steps(t, s, bars)
	if !ok {
		y.minutes++
		return
	}
	y.lists++
	var lists [5]map[tradeKey][]simulate.Trade
	shorts := [5]int{}
	for i, r := range runs {
		lists[i] = numbered(r)
		for k := range r.Trades {
			if r.Trades[k].Side == simulate.Short {
				shorts[i]++
			}
		}
	}
	if shorts[0] > 0 {
		y.short++
	}
	if (shorts[0] > 0) != (shorts[4] > 0) {
		t.Errorf("%s: %d short trades in the Pine model, %d on paper", s.Name, shorts[0], shorts[4])
	}
	y.shortTrades += shorts[4]
	y.pine, y.paper = y.pine+len(runs[0].Trades), y.paper+len(runs[4].Trades)
	fills := compared{
		pine: runs[1], paper: runs[2], trails: strings.Contains(s.Source, "trail_"),
		atClose: strings.Contains(s.Source, "immediately"), capped: strings.Contains(s.Source, "max_intraday_filled_orders"),
	}
	fills.prepare()
	for k, first := range lists[0] {
		last := lists[4][k]
		for i := range first {
			switch {
			case i >= len(last):
				y.lost[y.cause(t, s.Name, changed(lists[:], k, i, true), &fills, &first[i])]++
			case math.Abs(first[i].Quantity-last[i].Quantity) > 1e-9:
				y.lost[bySize]++
				y.gained[bySize]++
			default:
				y.equal++
			}
		}
	}
	for k, last := range lists[4] {
		for i := len(lists[0][k]); i < len(last); i++ {
			y.gained[y.cause(t, s.Name, changed(lists[:], k, i, false), &fills, &last[i])]++
		}
	}
}

// changed returns the step that took a trade away for good, or brought it to stay.
func changed(lists []map[tradeKey][]simulate.Trade, k tradeKey, i int, lost bool) int {
	for step := len(lists) - 2; step >= 0; step-- {
		if (i < len(lists[step][k])) == lost {
			return step
		}
	}
	return 0
}

func (y *tally) cause(t *testing.T, name string, step int, fills *compared, x *simulate.Trade) int {
	t.Helper()
	if step != byFills {
		return step
	}
	cause := fills.cause(x)
	if cause == byOther {
		t.Errorf("%s: no cause is known for %+v", name, *x)
	}
	return cause
}

// compared is a strategy in the Pine fill model and on paper, with the same settings.
type compared struct {
	pine, paper *backtest.Run
	trails      bool // of the script: it has trailing stops, closes at the close, or caps its orders
	atClose     bool
	capped      bool
	differ      []bool // by bar: the positions before it
	ends        map[[2]int][]*simulate.Trade
	begins      map[[2]int][]*simulate.Trade
}

// prepare finds the bars before which the positions differ.
func (c *compared) prepare() {
	n := c.pine.Bars.Len()
	c.differ = make([]bool, n+2)
	c.ends, c.begins = make(map[[2]int][]*simulate.Trade), make(map[[2]int][]*simulate.Trade)
	var sums [2][]uint64
	for i, r := range []*backtest.Run{c.pine, c.paper} {
		sums[i] = make([]uint64, n+2)
		until := make(map[tradeKey]int)
		for k := range r.Trades {
			x := &r.Trades[k]
			key := tradeKey{side: x.Side, in: x.EntryBar, from: cents(x.EntryPrice)}
			until[key] = max(until[key], x.ExitBar)
			c.ends[[2]int{i, x.ExitBar}] = append(c.ends[[2]int{i, x.ExitBar}], x)
			c.begins[[2]int{i, x.EntryBar}] = append(c.begins[[2]int{i, x.EntryBar}], x)
		}
		for _, l := range r.Open {
			until[tradeKey{side: l.Side, in: l.Bar, from: cents(l.Price)}] = n
		}
		for key, last := range until {
			h := (uint64(key.in)*1_000_003 + uint64(key.from)) * 0x9E3779B97F4A7C15 * uint64(3+2*int(key.side))
			sums[i][key.in+1] += h
			sums[i][last+1] -= h
		}
	}
	var x, y uint64
	for b := range c.differ {
		x, y = x+sums[0][b], y+sums[1][b]
		c.differ[b] = x != y
	}
}

// cause returns why a trade is in one list and not in the other.
func (c *compared) cause(x *simulate.Trade) int {
	if c.differ[x.EntryBar] {
		return byEarlier
	}
	bars := c.pine.Bars
	extreme := func(bar int, p float64) bool { return cents(p) == cents(bars.H[bar]) || cents(p) == cents(bars.L[bar]) }
	mine, other := c.partner(x, 0), c.partner(x, 1)
	if mine != nil && other != nil { // the same entry
		switch {
		case mine.ExitBar == mine.EntryBar || other.ExitBar == other.EntryBar:
			return byEntryBar
		case mine.Ambiguous || other.Ambiguous:
			return byBoth
		case slices.ContainsFunc(c.begins[[2]int{0, x.EntryBar}], func(o *simulate.Trade) bool { return extreme(o.ExitBar, o.ExitPrice) }):
			return byTouch
		case c.trails:
			return byTrail
		case c.atClose && mine.ExitPrice == bars.C[mine.ExitBar]:
			return bySettings
		}
		return c.rest()
	}
	if extreme(x.EntryBar, x.EntryPrice) {
		return byTouch
	}
	for model := range 2 {
		for bar := x.EntryBar - 4; bar <= x.EntryBar; bar++ { // the second part may wait, or take the place of the next order
			for _, o := range c.ends[[2]int{model, bar}] {
				if o.Side == -x.Side {
					return byTurn
				}
			}
		}
		for _, o := range c.begins[[2]int{model, x.ExitBar}] {
			if o.Side == -x.Side && x.EntryBar == x.ExitBar {
				return byTurn
			}
		}
	}
	return c.rest()
}

// rest is the cause of a trade whose bars show none.
func (c *compared) rest() int {
	if c.capped {
		return byCap
	}
	return byOther
}

// partner returns the trade of a model with the entry of another one.
func (c *compared) partner(x *simulate.Trade, model int) *simulate.Trade {
	all := c.begins[[2]int{model, x.EntryBar}]
	i := slices.IndexFunc(all, func(o *simulate.Trade) bool { return o.Side == x.Side && cents(o.EntryPrice) == cents(x.EntryPrice) })
	if i < 0 {
		return nil
	}
	return all[i]
}

// page returns the table of the page.
func (y *tally) page() string {
	var b strings.Builder
	fmt.Fprintf(&b, "None of the %d strategies is refused, %d of which sell short. Of %d trades of the Pine fill model, with the same costs, "+
		"%d (%.1f %%) are the same on paper to the size; on paper there are %d. Those that differ:\n\n| Cause | Pine alone | Paper alone |\n|---|---:|---:|\n",
		y.lists, y.short, y.pine, y.equal, 100*float64(y.equal)/float64(y.pine), y.paper)
	var rows []int
	for cause := range causes {
		if y.lost[cause]+y.gained[cause] > 0 {
			rows = append(rows, cause)
		}
	}
	slices.SortStableFunc(rows, func(i, k int) int { return cmp.Compare(y.lost[k]+y.gained[k], y.lost[i]+y.gained[i]) })
	for _, cause := range rows {
		fmt.Fprintf(&b, "| %s | %d | %d |\n", causeText(cause), y.lost[cause], y.gained[cause])
	}
	return b.String()
}
