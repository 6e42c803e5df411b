package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"candela/internal/alerting/alert"
	"candela/internal/data/marketdata"
	"candela/internal/work/charting"
	"candela/lib/backtest"
	"candela/lib/backtest/simulate"
	"candela/lib/fault"
	"candela/lib/market"
)

// Bounds of a question about the past.
const (
	leastPast   = 100
	mostPast    = 15_000
	defaultPast = 5_000
	mostWarmup  = 5_000
)

// past holds the bars of a question: those that count, after those for the indicators.
type past struct {
	marketdata.BarSet
	from int // index of the first bar that counts
}

// span says which closed bars a question is about.
type span struct {
	bars int                // the newest; with a start, all from there on
	time charting.TimeRange // zero for the newest bars
}

func (s *span) args() args {
	return args{
		intArg("bars", &s.bars, leastPast, mostPast, "Closed bars; with from, all of them from there on."),
		momentArg("from", &s.time.Start, 0, "First bar, as a date or a time."), momentArg("to", &s.time.End, 1, "Only bars closed by then. Default: the newest."),
	}
}

// read reads the closed bars and as many before them as the indicators need.
func (s *span) read(ctx context.Context, source charting.BarSource, symbol market.Symbol, i market.Interval, warmup int) (past, error) {
	if s.time.Start != 0 && s.time.End != 0 && s.time.Start >= s.time.End {
		return past{}, fault.Field("from", market.Stamp(s.time.Start), "a time before to, "+market.Stamp(s.time.End-1))
	}
	bars := s.bars
	if s.time.Start > 0 {
		bars = mostPast + 1 // one more shows that there are too many
	}
	warmup = min(warmup, mostWarmup)
	set, err := source.Bars(ctx, marketdata.Request{Symbol: symbol, Interval: i, Bars: bars + 1, Warmup: warmup, Facts: true, Closed: true, Start: s.time.Start, End: s.time.End})
	if err != nil {
		return past{}, err
	}
	n := set.Bars.Len()
	if set.Forming {
		n--
	}
	set.Bars = set.Bars.Slice(0, n)
	from := max(0, n-bars)
	if s.time.Start > 0 {
		if from = set.Bars.Search(s.time.Start); n-from > mostPast {
			return past{}, fault.Field("from", market.Stamp(s.time.Start), fmt.Sprintf("a later time: at most %d bars lie between from and to", mostPast), market.Stamp(set.Bars.T[n-mostPast]))
		}
		if n-from < leastPast {
			return past{}, fault.New(fault.Unsupported, "too_few_bars", "%s has %d closed bars of %s between from and to; at least %d are needed", symbol, n-from, i, leastPast).About("from", market.Stamp(s.time.Start), "an earlier time, or a shorter interval")
		}
	}
	if n < leastPast {
		return past{}, fault.New(fault.Unsupported, "too_few_bars", "%s has %d closed bars of %s; at least %d are needed, so choose a shorter interval", symbol, n, i, leastPast)
	}
	return past{BarSet: set, from: from}, nil
}

// dataJSON says which bars an answer is about, and what is wrong with them.
type dataJSON struct {
	Bars      int    `json:"bars"`
	From      string `json:"from"`
	To        string `json:"to"`
	Venue     string `json:"venue"`
	Holes     int    `json:"holes"`
	CutBar    string `json:"cut_bar,omitempty"` // in which to lies; it is left out
	BuiltFrom string `json:"built_from,omitempty"`
	Magnified string `json:"magnified,omitempty"` // how many bars have shorter ones
	Sample    bool   `json:"sample,omitempty"`
	Stale     bool   `json:"stale,omitempty"`
}

func (p *past) json(i market.Interval) dataJSON {
	shown := p.Bars.Slice(p.from, p.Bars.Len())
	d := dataJSON{
		Bars: shown.Len(), From: market.Stamp(shown.T[0]), To: market.Stamp(shown.T[shown.Len()-1]), Venue: p.Instrument.Venue,
		Holes: charting.Holes(&p.BarSet, &shown, i), Sample: p.Synthetic, Stale: p.Stale,
	}
	if p.Cut != 0 {
		d.CutBar = market.Stamp(p.Cut)
	}
	if p.BuiltFrom.Valid() {
		d.BuiltFrom = p.BuiltFrom.String()
	}
	return d
}

// figure is a number with at most six digits; one that cannot be computed is null.
type figure float64

// MarshalJSON implements [json.Marshaler].
func (f figure) MarshalJSON() ([]byte, error) {
	x := float64(f)
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return []byte("null"), nil
	}
	if math.Abs(x) >= 1e6 {
		return strconv.AppendFloat(nil, math.Round(x), 'f', -1, 64), nil
	}
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 6, 64), 64)
	if err != nil {
		return nil, err
	}
	return strconv.AppendFloat(nil, rounded, 'f', -1, 64), nil
}

// floatArg is a number within bounds.
func floatArg(name string, dst *float64, lo, hi float64, doc string) arg {
	allowed := fmt.Sprintf("a number from %g to %g", lo, hi)
	s := &schema{Type: "number", Description: doc, Minimum: &lo, Maximum: &hi}
	return newArg(name, dst, allowed, s, func(raw json.RawMessage) (float64, error) {
		value, ok := parseExact(raw)
		if x := value.InexactFloat64(); ok && x >= lo && x <= hi {
			return x, nil
		}
		return 0, wrongNumber(name, raw, allowed)
	})
}

// tickOf returns the step of the prices of bars: the least power of ten that all of the
// newest closes are multiples of.
func tickOf(bars *market.Bars) float64 {
	digits := 0
	for _, c := range bars.C[max(0, bars.Len()-500):] {
		_, fraction, _ := strings.Cut(strconv.FormatFloat(c, 'f', -1, 64), ".")
		digits = max(digits, min(8, len(fraction)))
	}
	return math.Pow(10, float64(-digits))
}

// accountArgs are the arguments that describe a simulated account.
type accountArgs struct {
	capital, percent, quantity float64
	fee, slip                  float64 // basis points
	fills                      string  // the fill model
}

// The fill models: TradingView's rules, and those of the paper account.
const (
	fillsPine  = "pine"
	fillsPaper = "paper"
)

func (a *accountArgs) args() args {
	return args{
		floatArg("capital", &a.capital, 1, 1e12, "Money at the start. Default: 10000."),
		floatArg("size_pct", &a.percent, 0.01, 1000, "Percent of the equity for a position. Default: 100."),
		floatArg("quantity", &a.quantity, 1e-9, 1e12, "Units for a position, in place of size_pct."),
		floatArg("fee_bps", &a.fee, 0, 1000, "Fee a side in basis points. Default: 10."),
		enumArg("fill_model", &a.fills, "pine: TradingView's rules. paper: what the paper account would do; stops are market orders at the next open, limits must be passed and fill at most the bar's volume, no short.", fillsPine, fillsPaper),
		floatArg("slip_bps", &a.slip, 0, 1000, "Slippage of market and stop orders in basis points. Default: 5."),
	}
}

// marginLeft is the part of a position's value, in percent, below which equity is too low to
// hold a position of the whole equity.
const marginLeft = 50

// paperCosts returns what the paper account takes, nil for another fill model.
func (a *accountArgs) paperCosts() *backtest.PaperCosts {
	if a.fills != fillsPaper {
		return nil
	}
	return &backtest.PaperCosts{Commission: a.fee / 100, Slippage: a.slip / 100}
}

func (a *accountArgs) config(tick float64) simulate.Config {
	c := simulate.Config{
		Capital: a.capital, Tick: tick, Step: 1e-8, PointValue: 1, Sizing: simulate.PercentOfEquity, Size: a.percent,
		Charge: simulate.Percent, Commission: a.fee / 100, SlipPercent: a.slip / 100,
	}
	// A position is sized before its price is known. The margin leaves room for what the
	// price moves until then: without it, the excess of a whole equity would be sold at once.
	c.MarginLong = marginLeft / max(1, a.percent/100)
	c.MarginShort = c.MarginLong
	if a.fills == fillsPaper {
		c.Paper, c.MarginLong, c.MarginShort = true, 0, 0
	}
	if a.quantity > 0 {
		c.Sizing, c.Size = simulate.Fixed, a.quantity
	}
	return c
}

// onBars refuses a condition that watches trades, which bars do not have.
func onBars(field string, c *alert.Condition) error {
	if c.Type.OnPrice() {
		return fault.Field(field, c.Type.String(), `a condition on closed bars, such as {"value":{"price":"close","op":">","value":70000}}`)
	}
	return nil
}
