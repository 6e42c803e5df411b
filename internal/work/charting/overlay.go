package charting

import (
	"cmp"
	"context"
	"log/slog"
	"math"
	"slices"

	"github.com/shopspring/decimal"

	"candela/internal/alerting/alert"
	"candela/internal/kit/principal"
	"candela/internal/trading/order"
	"candela/internal/work/charting/payload"
	"candela/lib/chart"
	"candela/lib/market"
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
// returns the marks to draw. A caller who may see charts only gets none.
func (c *Charting) loadOverlay(ctx context.Context, caller principal.Caller, s market.Symbol, shown *payload.Chart) overlay {
	if c.Alerts == nil || caller.Scope < principal.Read || s.IsZero() || shown.Source == payload.Sample {
		return overlay{}
	}
	o := c.loadAccountOverlay(ctx, caller, s, shown)
	o.levels = append(o.levels, alertLevels(shown.Bars, c.priceAlerts(ctx, caller, s, shown))...)
	return o
}

// priceAlerts returns the caller's price alerts on the symbol, nearest first, and adds
// them to the chart data. A failure is logged: a chart without them is better than
// none.
func (c *Charting) priceAlerts(ctx context.Context, caller principal.Caller, s market.Symbol, shown *payload.Chart) []alert.Alert {
	all, err := c.Alerts.AlertsOn(ctx, caller, shown.Instrument)
	if err != nil {
		c.Log.LogAttrs(ctx, slog.LevelWarn, "chart drawn without alerts", slog.String("symbol", s.String()), slog.Any("error", err))
		return nil
	}
	all = slices.DeleteFunc(all, func(a alert.Alert) bool { return !a.Condition.Type.OnPrice() })
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

// maxTrades is the number of trades on a chart; the newest are shown.
const maxTrades = 200

// loadAccountOverlay adds the caller's orders and position to the chart data and
// returns them as lines and dots. A failure is logged: a chart without them is better
// than none.
func (c *Charting) loadAccountOverlay(ctx context.Context, caller principal.Caller, s market.Symbol, shown *payload.Chart) overlay {
	orders, p, err := c.Account.InSymbol(ctx, caller, shown.Instrument)
	if err != nil {
		c.Log.LogAttrs(ctx, slog.LevelWarn, "chart drawn without orders and positions", slog.String("symbol", s.String()), slog.Any("error", err))
		return overlay{}
	}
	shown.Account = payload.Account{Mode: string(p.Mode)}
	var o overlay
	if average, ok := p.Average(); ok && !p.Quantity.IsZero() {
		o.levels = append(o.levels, entryLevel(p, average))
		shown.Account.Position = positionFigures(p, average)
	}
	o.addOrders(orders, shown)
	o.addFills(orders, shown)
	return o
}

func entryLevel(p order.PricedPosition, average decimal.Decimal) chart.Level {
	side := "Long "
	if p.Side() == order.Sell {
		side = "Short "
	}
	return chart.Level{Kind: chart.EntryLevel, Price: average.InexactFloat64(), Label: side + p.Quantity.Abs().String(), Sell: p.Side() == order.Sell}
}

func positionFigures(p order.PricedPosition, average decimal.Decimal) *payload.Position {
	figures := &payload.Position{Side: p.Side().String(), Quantity: p.Quantity.Abs().String(), Entry: average.String()}
	if p.Quote.Last.IsPositive() {
		figures.Unrealized = p.Unrealised(p.Quote.Last).String()
	}
	return figures
}

// addOrders adds the open orders, nearest to the price first. The renderer marks those
// outside the price range at the edge.
func (o *overlay) addOrders(orders []order.Order, shown *payload.Chart) {
	open := slices.DeleteFunc(slices.Clone(orders), func(o order.Order) bool { return o.Status.Final() })
	last := decimal.NewFromFloat(shown.Bars.C[shown.Bars.Len()-1])
	slices.SortStableFunc(open, func(a, b order.Order) int { return waitsFor(a).Sub(last).Abs().Cmp(waitsFor(b).Sub(last).Abs()) })
	drawn := 0
	for _, one := range open {
		shown.Account.Orders = append(shown.Account.Orders, payload.Order{
			ID: one.ID, Role: one.Role.String(), Side: one.Side.String(), Type: one.TypeName(), Quantity: one.Quantity.String(), Filled: one.Filled.String(),
			Price: amount(one.Price), Stop: amount(one.StopPrice),
		})
		at := waitsFor(one)
		if !at.IsPositive() || drawn == maxLevels {
			continue
		}
		drawn++
		o.levels = append(o.levels, chart.Level{
			Kind: chart.OrderLevel, Price: at.InexactFloat64(), Label: orderWord(one) + " " + one.Remaining().String(), Sell: one.Side == order.Sell,
		})
	}
}

// amount writes a decimal, and zero as nothing.
func amount(d decimal.Decimal) string {
	if d.IsZero() {
		return ""
	}
	return d.String()
}

// waitsFor returns the price that an open order waits for: that of its stop before its limit,
// and zero for a market order.
func waitsFor(o order.Order) decimal.Decimal {
	if o.StopPrice.IsPositive() {
		return o.StopPrice
	}
	return o.Price
}

// orderWord says in a word what an open order is for.
func orderWord(o order.Order) string {
	switch {
	case o.Role == order.StopLoss:
		return "Stop"
	case o.Role == order.TakeProfit:
		return "Target"
	case o.Side == order.Sell:
		return "Sell"
	}
	return "Buy"
}

// addFills adds the trades within the bars, newest first.
func (o *overlay) addFills(orders []order.Order, shown *payload.Chart) {
	bars := shown.Bars
	var fills []order.Fill
	for _, one := range orders {
		fills = append(fills, one.Fills...)
	}
	slices.SortStableFunc(fills, func(a, b order.Fill) int { return cmp.Or(b.At.Compare(a.At), cmp.Compare(b.TradeID, a.TradeID)) })
	for _, f := range fills {
		x := bars.Search(f.At.Unix()+1) - 1
		if x < 0 {
			break // the rest are older
		}
		shown.Account.Fills = append(shown.Account.Fills, payload.Fill{Side: f.Side.String(), Quantity: f.Quantity.String(), Price: f.Price.String(), At: f.At})
		if len(o.trades) < maxTrades {
			o.trades = append(o.trades, chart.Trade{X: x, Price: f.Price.InexactFloat64(), Sell: f.Side == order.Sell})
		}
	}
}
