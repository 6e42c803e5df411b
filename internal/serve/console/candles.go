package console

import (
	"context"
	"math"
	"net/url"
	"slices"
	"strings"
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/work/charting"
	"candela/lib/market"
)

// candles is a small chart of the bars around an alert.
type candles struct {
	plot
	Body  float64 // width
	Title string
	Bars  []candle
	Ticks []tick
	Hours []tick
	Level *tick    // of the alert
	Fired *fillDot // where it fired
}

// candle is a bar in points.
type candle struct {
	X, Top, Bottom  float64 // of the wick
	Left, Open, Box float64 // of the body: left edge, upper edge and height
	Up              bool
}

// The bars of the small chart, and how many of them a phone shows.
const (
	smallBars     = 26
	narrowBars    = 13
	smallInterval = market.Hour1
)

// smallChart draws the last bars of a symbol with a level; nil if they do not come soon.
func (c *Console) smallChart(v *visit, symbol string, level float64, fired time.Time) []*candles {
	if c.cfg.Charts == nil {
		return nil
	}
	of, err := market.ParseSymbol(symbol)
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(v.ctx(), 2*quoteWithin)
	defer cancel()
	read, err := c.cfg.Charts.Bars(ctx, v.caller(), charting.Request{Symbol: of, Interval: smallInterval, Bars: smallBars})
	if err != nil {
		return nil // the page is good without it
	}
	var all []*candles
	for _, p := range alertPlots() {
		bars := *read
		if p.Narrow {
			bars = read.Tail(min(read.Len(), narrowBars))
		}
		one := newCandles(p, &bars, level, fired, v.format())
		if one == nil {
			return nil
		}
		one.Title = symbol[strings.IndexByte(symbol, ':')+1:] + ", " + smallInterval.String()
		all = append(all, one)
	}
	return all
}

// newCandles draws bars, the level of an alert if it is near, and where it fired.
func newCandles(p plot, bars *market.Bars, level float64, fired time.Time, f format) *candles {
	n := bars.Len()
	if n < 2 {
		return nil
	}
	scale := dayScale{plot: p, low: slices.Min(bars.L), high: slices.Max(bars.H)}
	near := level > 0 && level > scale.low-(scale.high-scale.low) && level < scale.high+(scale.high-scale.low)
	if near {
		scale.low, scale.high = min(scale.low, level), max(scale.high, level)
	}
	step := scale.addSteps()
	c := &candles{plot: p, Body: round2(p.End / float64(n) * 0.66)}
	x := func(i int) float64 { return round2(p.End * (float64(i) + 0.5) / float64(n)) }
	for i := range n {
		b := bars.At(i)
		top, foot := scale.y(max(b.O, b.C)), scale.y(min(b.O, b.C))
		c.Bars = append(c.Bars, candle{X: x(i), Top: scale.y(b.H), Bottom: scale.y(b.L), Left: round2(x(i) - c.Body/2), Open: top, Box: max(1, round2(foot-top)), Up: b.C >= b.O})
		if i%6 == 0 {
			c.Hours = append(c.Hours, tick{x(i), time.Unix(b.T, 0).In(f.zone).Format("15:04")})
		}
	}
	for v := scale.low + step; v < scale.high; v += step {
		if !near || math.Abs(scale.y(v)-scale.y(level)) > 12 {
			c.Ticks = append(c.Ticks, tick{scale.y(v), f.Float(v)})
		}
	}
	if near {
		c.Level = &tick{scale.y(level), f.Float(level)}
	}
	at := bars.Search(fired.Unix() + 1)
	if near && at > 0 && !fired.IsZero() {
		c.Fired = &fillDot{X: x(at - 1), Y: scale.y(level), Title: "It fired here"}
	}
	return c
}

// addFired adds the chart of an alert that fired, and the form to set it again.
func (d *alertData) addFired(c *Console, v *visit, one Firing) {
	level, _ := one.Condition.Threshold.Float64()
	d.Charts = c.smallChart(v, one.Symbol, level, one.At)
	d.Symbol = chartOf(one.Symbol, one.Interval)
	if when, ok := map[string]string{"price_above": "above", "price_below": "below", "price_crosses": "crosses"}[one.Condition.Type]; ok {
		d.Again = Root + "/alerts/new?" + url.Values{"symbol": {one.Symbol}, "when": {when}, "price": {one.Condition.Threshold.String()}, "note": {one.Note}}.Encode()
	}
}

// addWaiting adds the chart of an alert that waits.
func (d *alertData) addWaiting(c *Console, v *visit, a *alert.Alert) {
	level := 0.0
	if a.Condition.Type.OnPrice() {
		level = a.Condition.Threshold.InexactFloat64()
	}
	d.Symbol, d.Again = chartOf(a.Symbol.String(), a.Interval.String()), ""
	if d.Charts == nil {
		d.Charts = c.smallChart(v, a.Symbol.String(), level, time.Time{})
	}
}

// chartOf returns the address of the chart of a symbol.
func chartOf(symbol, interval string) string {
	q := url.Values{"symbol": {symbol}}
	if i, err := market.ParseInterval(interval); err == nil {
		q.Set("interval", i.String())
	}
	return Root + "/chart?" + q.Encode()
}
