package backtest

import (
	"bytes"
	"errors"
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
	"candela/lib/backtest/simulate"
	"candela/lib/market"
	"candela/lib/pine/check"
	"candela/lib/pine/eval"
)

var update = flag.Bool("update", false, "write its part of docs/backtests.md; with LONGTEST=1, which runs every strategy")

// The ranges that were exported begin at one of two days. A script knows no bar before.
func starts() []int64 {
	return []int64{
		time.Date(2025, time.March, 31, 0, 0, 0, 0, time.UTC).Unix(),
		time.Date(2025, time.April, 5, 0, 0, 0, 0, time.UTC).Unix(),
	}
}

// explained returns why the trades of a strategy are not all equal to those exported.
func explained() map[string]string {
	const (
		currency  = "Sizes depend on the rate of USDT in USD, and for some days of the last month the other lists leave several."
		minutes   = "Needs bars of one minute, which the archive does not have."
		magnified = "Exported with the bar magnifier: fills lie outside their bar of 15 minutes, as in the lists of the magnifier. " + minutes
	)
	return map[string]string{
		"ltf-bool-array-bull-majority-01":             minutes,
		"ltf-numeric-float-ratio15-01":                minutes,
		"magnifier-tick-dist-endpoints-01":            minutes,
		"magnifier-tick-dist-endpoints-rsi-cross-08a": minutes,
		"magnifier-tick-dist-volume-weighted-on-01":   minutes,
		"pyramid-cash-fractional-commission-01":       currency,
		"ta-pivot-atr-stop-target-01":                 magnified,
		"ta-stochastic-rsi-cross-01":                  "Averages of a stochastic at 0 or 100 are equal or differ in the last digit.",
	}
}

// parity is the result of one strategy.
type parity struct {
	name                  string
	exported, ours, equal int
	cents                 int // equal trades whose profit is equal to the cent, too
	chosen                int // days whose rate the list's own profits chose
	first                 string
	err                   error
}

func (p *parity) whole() bool { return p.err == nil && p.equal == p.exported && p.ours == p.exported }

// TestExported_Strategies runs the scripts of the archive and compares their trades with
// those that TradingView exported: one in twelve, all of them with LONGTEST.
func TestExported_Strategies(t *testing.T) {
	archive := exportedtest.Load(t)
	bars := market.MakeBars(len(archive.Bars), false)
	for _, b := range archive.Bars {
		bars.Append(b)
	}
	rates := archive.Rates(t)
	var all []parity
	for i := range archive.Strategies {
		s := &archive.Strategies[i]
		if strings.HasPrefix(s.Name, "symbol-specified") || !longtest.On() && i%12 != 0 {
			continue
		}
		p := run(t, s, &bars, rates)
		if p.exported == 0 {
			continue // the archive has no list for it
		}
		if _, known := explained()[s.Name]; known == p.whole() {
			t.Errorf("%s: %d of %d trades are equal, ours are %d (%v); explained is %v; the first of ours that is not: %s", s.Name, p.equal, p.exported, p.ours, p.err, known, p.first)
		}
		if p.whole() && p.cents != p.equal {
			t.Errorf("%s: of %d equal trades %d have the same profit", s.Name, p.equal, p.cents)
		}
		all = append(all, p)
	}
	if longtest.On() {
		pagetest.Part(t, "docs/backtests.md", "parity", "LONGTEST=1 go test ./lib/backtest -run Exported -update", string(page(all)), *update)
	}
}

// run runs a script over the range of its list.
func run(t *testing.T, s *exportedtest.Strategy, bars *market.Bars, known *exportedtest.Rates) parity {
	t.Helper()
	out := parity{name: s.Name}
	trades := s.Trades(t)
	for _, x := range trades {
		if !x.Open {
			out.exported++
		}
	}
	program, found := check.Check(s.Source, check.Options{})
	if program == nil {
		out.err = errors.New(found[0].Message)
		return out
	}
	script := &Script{Program: program, Tick: 0.01, Step: 0.0001, Env: eval.Env{
		Interval: market.Minute15, Limits: eval.Limits{BarSteps: 2_000_000, Memory: 64 << 20, Instances: 20_000},
		Symbol: eval.Symbol{Ticker: "ETHUSDT.P", Prefix: "BINANCE", Type: "crypto", Currency: "USDT", Base: "ETH", Tick: 0.01},
	}}
	if source, ok := s.Inputs["Source"].(string); ok {
		script.Env.Inputs = []eval.Value{{Set: true, Str: source}}
	}
	rates, chosen := known.For(t, s.Name)
	out.chosen = chosen
	for _, start := range starts() {
		script.Rate = daily(rates, start)
		cut := bars.Slice(bars.Search(start), bars.Len())
		r, err := Over(t.Context(), script, &cut, 0)
		if err != nil {
			out.err = err
			return out
		}
		if got := compareTrades(trades, r); got.equal > out.equal || got.equal == out.equal && got.cents >= out.cents {
			out.ours, out.equal, out.cents, out.first = got.ours, got.equal, got.cents, got.first
		}
		if out.whole() && out.cents == out.equal {
			return out
		}
	}
	return out
}

// daily returns the rate of each day; on the first day of a range nothing is converted.
func daily(rates map[int64]float64, start int64) func(int64) float64 {
	const day = 24 * 60 * 60
	return func(at int64) float64 {
		if rate := rates[at/day]; rate > 0 && at/day != start/day {
			return rate
		}
		return 1
	}
}

type tradeKey struct {
	long     bool
	in, out  int64
	from, to float64
	qty      float64
}

// compareTrades counts our trades in the span of the list, those that it has, too, and of
// these the ones with the same profit.
func compareTrades(want []exportedtest.Trade, r *Run) parity {
	cents := func(x float64) float64 { return math.Round(x * 100) }
	profits := map[tradeKey][]float64{}
	begin, end := int64(math.MaxInt64), int64(0)
	for _, w := range want {
		begin, end = min(begin, w.EntryTime), max(end, w.ExitTime)
		if !w.Open {
			k := tradeKey{w.Long, w.EntryTime, w.ExitTime, cents(w.EntryPrice), cents(w.ExitPrice), math.Round(w.Quantity * 1e4)}
			profits[k] = append(profits[k], w.Profit)
		}
	}
	var out parity
	for _, g := range r.Trades {
		if g.EntryTime < begin || g.ExitTime > end {
			continue
		}
		out.ours++
		k := tradeKey{g.Side == simulate.Long, g.EntryTime, g.ExitTime, cents(g.EntryPrice), cents(g.ExitPrice), math.Round(g.Quantity * 1e4)}
		left := profits[k]
		if len(left) == 0 {
			if out.first == "" {
				out.first = fmt.Sprintf("%+v", g)
			}
			continue
		}
		out.equal++
		i := slices.IndexFunc(left, func(p float64) bool { return math.Abs(p-g.Profit) < 0.006 })
		if i >= 0 {
			out.cents++
		}
		profits[k] = slices.Delete(left, max(i, 0), max(i, 0)+1)
	}
	return out
}

// page returns the page about the differences.
func page(all []parity) []byte {
	var b bytes.Buffer
	whole, exported, equal, cents, chosen := 0, 0, 0, 0, 0
	for i := range all {
		exported, equal, cents = exported+all[i].exported, equal+all[i].equal, cents+all[i].cents
		chosen = max(chosen, all[i].chosen)
		if all[i].whole() {
			whole++
		}
	}
	fmt.Fprintf(&b, "A public archive holds %d strategies in Pine with the trades that TradingView exported for them on bars of 15 minutes. "+
		"candela runs each script and compares every closed trade: direction, times, prices to the cent, quantity.\n\n"+
		"%d of %d lists are equal as a whole; %d of %d trades are equal (%.2f %%). The others:\n\n"+
		"| Strategy | Exported | Equal | Why |\n|---|---:|---:|---|\n", len(all), whole, len(all), equal, exported, 100*float64(equal)/float64(exported))
	for i := range all {
		if p := &all[i]; !p.whole() {
			fmt.Fprintf(&b, "| `%s` | %d | %d | %s |\n", p.name, p.exported, p.equal, explained()[p.name])
		}
	}
	minutes := byRule(&b, all)
	fmt.Fprintf(&b, "\nOf the %d trades that differ, %d need bars of one minute. Without these, %.2f %% are equal.\n", exported-equal, minutes, 100*float64(equal)/float64(exported-minutes))
	fmt.Fprintf(&b, "\n%d of the equal trades have the same profit to the cent. The lists convert profits, sizes and margins from USDT to USD at one rate a day, "+
		"which the archive does not have. But each profit and each size bought for an amount of money bounds the rate of its day, "+
		"and all lists together leave one rate of five digits on nearly every day. A list is run with the rates that the *other* lists leave; "+
		"where these leave several or none, on at most %d days of one list, its own profits choose among them, never its sizes. "+
		"On no day do two lists contradict each other.\n", cents, chosen)
	return b.Bytes()
}

// byRule writes how many trades differ by each rule, and returns how many of them need bars of
// one minute.
func byRule(b *bytes.Buffer, all []parity) (minutes int) {
	rules := []struct{ rule, prefix string }{
		{"Values of shorter bars inside a bar (`request.security_lower_tf`)", "ltf-"},
		{"Fills along shorter bars (bar magnifier)", "magnifier-"},
		{"Fills along shorter bars that the script does not declare", "ta-pivot-"},
		{"Last digit of averages", "ta-stochastic-"},
		{"Rate of the account's currency", "pyramid-cash-"},
	}
	fmt.Fprint(b, "\n| Rule | Lists | Trades that differ |\n|---|---:|---:|\n")
	for i, r := range rules {
		lists, trades := 0, 0
		for k := range all {
			if p := &all[k]; !p.whole() && strings.HasPrefix(p.name, r.prefix) {
				lists, trades = lists+1, trades+p.exported-p.equal
			}
		}
		if i < 3 {
			minutes += trades
		}
		fmt.Fprintf(b, "| %s | %d | %d |\n", r.rule, lists, trades)
	}
	return minutes
}

// golden compares a page with its file, or writes it with -update.
