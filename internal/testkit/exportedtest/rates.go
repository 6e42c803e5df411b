package exportedtest

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"candela/lib/market"
)

// The lists give prices in USDT and profits in USD, converted at one rate a day. The
// archive has no rates, but each profit bounds the rate of the day of its exit: profit =
// (exit - entry) x quantity x rate - costs, to half a cent. So does each quantity that a
// strategy has ordered for an amount of money: amount = close x quantity x rate. Many lists
// together leave one rate of five digits on nearly every day.

const (
	dayMillis = int64(24 * time.Hour / time.Millisecond)
	halfCent  = 0.006 // of a profit that was rounded, and of the product before
	rateGrid  = 1e5
)

// Rates holds what the lists say about the rate of each day.
type Rates struct {
	lists []listRates
}

// listRates are the bounds that one list gives, by day.
type listRates struct {
	name    string
	days    map[int64]span // by profits and sizes
	profits map[int64]span // by profits alone
}

// span is a range of rates.
type span struct{ low, high float64 }

func (s span) and(o span) span { return span{max(s.low, o.low), min(s.high, o.high)} }

// Rates reads the bounds of every list.
func (a *Archive) Rates(tb testing.TB) *Rates {
	tb.Helper()
	r := &Rates{}
	for i := range a.Strategies {
		s := &a.Strategies[i]
		if len(s.list) == 0 || strings.HasPrefix(s.Name, "symbol-specified") {
			continue
		}
		costs, err := s.costs()
		if err != nil {
			tb.Fatalf("%s: %v", s.Name, err)
		}
		list := listRates{name: s.Name, days: map[int64]span{}}
		list.addProfits(s.Trades(tb), costs)
		list.profits = maps.Clone(list.days)
		if err := list.addSizes(s, s.Trades(tb), a.Bars); err != nil {
			tb.Fatalf("%s: %v", s.Name, err)
		}
		r.lists = append(r.lists, list)
	}
	return r
}

var commission = regexp.MustCompile(`commission_value\s*=\s*([0-9.]+)`)

// costs returns what a trade of the strategy costs, in the currency of the account.
func (s *Strategy) costs() (func(quantity float64) float64, error) {
	m := commission.FindStringSubmatch(s.Source)
	if m == nil {
		return func(float64) float64 { return 0 }, nil
	}
	fee, err := strconv.ParseFloat(m[1], 64)
	switch {
	case err != nil || fee == 0:
		return func(float64) float64 { return 0 }, err
	case strings.Contains(s.Source, "commission.cash_per_order"):
		return func(float64) float64 { return 2 * fee }, nil
	case strings.Contains(s.Source, "commission.cash_per_contract"):
		return func(quantity float64) float64 { return 2 * fee * quantity }, nil
	}
	return nil, fmt.Errorf("costs of %v in percent are not read", fee)
}

// add narrows the rate of a day.
func (l *listRates) add(day int64, low, high float64) {
	now := span{min(low, high), max(low, high)}
	if was, ok := l.days[day]; ok {
		now = now.and(was)
	}
	l.days[day] = now
}

// addProfits adds what the profits say. Nothing is converted on the first day of a range,
// so trades of the day in which the list begins say nothing.
func (l *listRates) addProfits(trades []Trade, costs func(quantity float64) float64) {
	first := firstDay(trades)
	for i := range trades {
		t := &trades[i]
		gross := (t.ExitPrice - t.EntryPrice) * t.Quantity
		if !t.Long {
			gross = -gross
		}
		day := t.ExitTime / dayMillis
		if t.Open || day == first || math.Abs(gross) < 1 {
			continue
		}
		net := t.Profit + costs(t.Quantity)
		l.add(day, (net-halfCent)/gross, (net+halfCent)/gross)
	}
}

var sized = regexp.MustCompile(`default_qty_type=strategy\.(cash|percent_of_equity), default_qty_value=([0-9.]+)`)

// addSizes adds what the quantities say, of a strategy that orders for money.
func (l *listRates) addSizes(s *Strategy, trades []Trade, bars []market.Bar) error {
	m := sized.FindStringSubmatch(s.Source)
	if m == nil || m[1] != "cash" && strings.Contains(s.Source, "qty=") {
		return nil
	}
	value, err := strconv.ParseFloat(m[2], 64)
	if err != nil {
		return err
	}
	const (
		capital = 1_000_000
		fee     = 1.5 // set aside by the only list that orders for a part of its equity
		step    = 0.0001
		slack   = 0.2 // of the sum of rounded profits
	)
	first, closed := firstDay(trades), 0.0
	for i := range trades {
		t := &trades[i]
		at, ok := slices.BinarySearchFunc(bars, t.EntryTime/1000, func(b market.Bar, to int64) int { return cmp.Compare(b.T, to) })
		amount := value
		if m[1] != "cash" {
			amount = (capital+closed)*value/100 - fee
		}
		closed += t.Profit
		if signal := bars[max(0, at-1)]; ok && signal.T*1000/dayMillis != first {
			l.add(signal.T*1000/dayMillis, (amount-slack)/signal.C/(t.Quantity+step), (amount+slack)/signal.C/t.Quantity)
		}
	}
	return nil
}

// firstDay returns the day in which a list begins.
func firstDay(trades []Trade) int64 {
	first := int64(math.MaxInt64)
	for i := range trades {
		first = min(first, trades[i].EntryTime/dayMillis)
	}
	return first
}

// For returns the rate of each day for one list. The rates come from the other lists; the
// list's own profits only choose on a day on which those leave several rates of five
// digits or none. chosen counts these days. Lists that contradict each other fail the test.
func (r *Rates) For(tb testing.TB, name string) (rates map[int64]float64, chosen int) {
	tb.Helper()
	days := map[int64]span{}
	var own map[int64]span
	for _, l := range r.lists {
		if l.name == name {
			own = l.profits
			continue
		}
		for day, s := range l.days {
			if was, ok := days[day]; ok {
				s = s.and(was)
			}
			days[day] = s
		}
	}
	for day := range own {
		if _, ok := days[day]; !ok {
			days[day] = span{0.5, 2}
		}
	}
	rates = make(map[int64]float64, len(days))
	for day, s := range days {
		low, high := s.grid()
		if low > high {
			tb.Errorf("%s: no rate fits the profits of all lists: %+v", time.UnixMilli(day*dayMillis).UTC().Format(time.DateOnly), s)
			continue
		}
		if mine, ok := own[day]; ok && low < high {
			chosen++
			if l, h := s.and(mine).grid(); l <= h {
				low, high = l, h
			}
		}
		rates[day] = math.Round((low+high)/2) / rateGrid
	}
	return rates, chosen
}

// grid returns the first and the last rate of five digits in a range, times [rateGrid].
func (s span) grid() (low, high float64) {
	return math.Ceil(s.low * rateGrid), math.Floor(s.high * rateGrid)
}
