package tool

import (
	"cmp"
	"context"
	"log/slog"
	"math"
	"slices"

	"candela/internal/alerting/alert"
	"candela/internal/kit/principal"
	"candela/internal/market"
	"candela/internal/picture/chart"
	"candela/internal/picture/payload"
)

const (
	// maxLevels is the number of alerts, and of orders, on a chart: those nearest to
	// the price.
	maxLevels = 8
	// levelMargin is how far outside the bars' price range an alert is still shown, as
	// a fraction of that range.
	levelMargin = 0.5
)

// overlay holds the caller's own marks on a chart.
type overlay struct {
	levels []chart.Level
	trades []chart.Trade
}

// loadOverlay adds the caller's alerts, position and orders to the chart data and
// returns the marks to draw.
func (c *charts) loadOverlay(ctx context.Context, caller principal.Caller, s market.Symbol, shown *payload.Chart) overlay {
	if c.alerts == nil || s.IsZero() || shown.Source == payload.Sample {
		return overlay{}
	}
	o := c.loadAccountOverlay(ctx, caller, s, shown)
	o.levels = append(o.levels, alertLevels(shown.Bars, c.priceAlerts(ctx, caller, s, shown))...)
	return o
}

// priceAlerts returns the caller's price alerts on the symbol, nearest first, and adds
// them to the chart data. A failure is logged: a chart without them is better than
// none.
func (c *charts) priceAlerts(ctx context.Context, caller principal.Caller, s market.Symbol, shown *payload.Chart) []alert.Alert {
	all, err := c.alerts.AlertsOn(ctx, caller, shown.Instrument)
	if err != nil {
		c.log.LogAttrs(ctx, slog.LevelWarn, "chart drawn without alerts", slog.String("symbol", s.String()), slog.Any("error", err))
		return nil
	}
	all = slices.DeleteFunc(all, func(a alert.Alert) bool { return a.Condition.Type == alert.IndicatorSignal })
	last := shown.Bars.C[shown.Bars.Len()-1]
	away := func(a alert.Alert) float64 { return math.Abs(a.Condition.Threshold.InexactFloat64() - last) }
	slices.SortStableFunc(all, func(a, b alert.Alert) int { return cmp.Compare(away(a), away(b)) })
	for _, a := range all {
		shown.Alerts = append(shown.Alerts, payload.Alert{ID: a.ID, Type: a.Condition.Type.String(), Threshold: a.Condition.Threshold.String(), Note: a.Note})
	}
	return all
}

// alertLevels returns a line for each price in or near the range of the bars that has
// an alert.
func alertLevels(bars *market.Bars, nearest []alert.Alert) []chart.Level {
	lo, hi := slices.Min(bars.L), slices.Max(bars.H)
	margin := (hi - lo) * levelMargin
	var levels []chart.Level
	for _, a := range nearest {
		price := a.Condition.Threshold.InexactFloat64()
		drawn := slices.ContainsFunc(levels, func(l chart.Level) bool { return l.Price == price })
		if drawn || price < lo-margin || price > hi+margin {
			continue
		}
		if levels = append(levels, chart.Level{Kind: chart.AlertLevel, Price: price, Label: "Alert"}); len(levels) == maxLevels {
			break
		}
	}
	return levels
}
