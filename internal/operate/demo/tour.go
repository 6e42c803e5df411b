// Package demo tours the tools over MCP, as a client would: it reads indicators, sets alerts,
// buys on paper with a stop and a target, draws a chart with a Pine script, back-tests the
// script, waits for an alert, sells, and reads the event of the sale and what it earned. The caller chooses the program and its prices.
package demo

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"strconv"
	"strings"
	"time"
)

const (
	symbol   = "sample:SAMPLE"
	quantity = 5
)

// Tour configures a tour.
type Tour struct {
	Output string        // where the chart is saved
	Wait   time.Duration // how long an alert may take to fire
	// Say prints a step, Call prints a tool call, and Waiting, which may be nil, shows how
	// long the tour has waited.
	Say     func(format string, args ...any)
	Call    func(method, arguments string)
	Waiting func(since time.Duration)
	// Console opens the owner's console of the program and returns where it answers; nil leaves it out.
	Console func(context.Context) (address string, err error)

	last  float64   // price
	setAt time.Time // of the alerts
}

// Run runs the program and the tour.
func (t *Tour) Run(ctx context.Context, run Program) error {
	return withClient(ctx, run, t.walk)
}

func (t *Tour) walk(ctx context.Context, c *client) error {
	c.onCall = t.Call
	for _, step := range []func(context.Context, *client) error{t.initialize, t.readIndicators, t.setAlerts, t.trade, t.showConsole, t.draw, t.backtest, t.awaitAlert, t.earn} {
		if err := step(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

func (t *Tour) initialize(ctx context.Context, c *client) error {
	t.Say("A client starts candela and lists its tools.")
	hello := `{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"candela demo","version":"1"}}`
	if _, err := c.request(ctx, "initialize", hello); err != nil {
		return err
	}
	if err := c.notify("notifications/initialized"); err != nil {
		return err
	}
	raw, err := c.request(ctx, "tools/list", "{}")
	if err != nil {
		return err
	}
	var list struct {
		Tools []json.RawMessage `json:"tools"`
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return err
	}
	t.Say("%d tools: charts, indicators, orders, alerts, scripts, back-tests.", len(list.Tools))
	return nil
}

// priceSeries is the part of a series that the tour reads.
type priceSeries struct {
	Bars []struct {
		High  float64 `json:"h"`
		Low   float64 `json:"l"`
		Close float64 `json:"c"`
	} `json:"bars"`
}

func (t *Tour) readIndicators(ctx context.Context, c *client) error {
	t.Say("It reads indicators of %s, a sample market with made-up minute bars.", symbol)
	var read struct {
		Source     string `json:"source"`
		Bars       int    `json:"bars"`
		Indicators map[string]struct {
			Lines []struct {
				Last *float64 `json:"last_value"`
			} `json:"lines"`
		} `json:"indicators"`
	}
	if _, err := c.call(ctx, "get_indicators", map[string]any{"symbol": symbol, "interval": "1m", "indicators": []string{"rsi", "macd"}}, &read); err != nil {
		return err
	}
	if lines := read.Indicators["rsi"].Lines; len(lines) > 0 && lines[0].Last != nil {
		t.Say("Source %s, %d bars, RSI %.1f.", read.Source, read.Bars, *lines[0].Last)
	}
	return nil
}

// setAlerts sets an alert just above the price and one just below: one of them fires with the
// next movement.
func (t *Tour) setAlerts(ctx context.Context, c *client) error {
	var seen priceSeries
	if _, err := c.call(ctx, "generate_chart", map[string]any{"symbol": symbol, "interval": "1m", "bars": 30, "format": "series"}, &seen); err != nil {
		return err
	}
	if len(seen.Bars) == 0 {
		return errors.New("the series has no bars")
	}
	var reach float64
	for _, b := range seen.Bars {
		reach += (b.High - b.Low) / float64(len(seen.Bars))
	}
	last := seen.Bars[len(seen.Bars)-1].Close
	t.last = last
	// Small enough for a calm minute, large enough for four decimals.
	move := max(reach/1000, 0.0001)
	t.Say("The last price is %s. It sets alerts just above and below, and subscribes.", shortPrice(last))
	if _, err := c.call(ctx, "subscribe_notifications", map[string]any{}, nil); err != nil {
		return err
	}
	t.setAt = time.Now()
	for _, condition := range []map[string]any{
		{"price_above": json.Number(shortPrice(last + move))}, {"price_below": json.Number(shortPrice(last - move))},
	} {
		if _, err := c.call(ctx, "set_alert", map[string]any{"symbol": symbol, "condition": condition, "note": "demo"}, nil); err != nil {
			return err
		}
	}
	return nil
}

func shortPrice(v float64) string { return strconv.FormatFloat(v, 'f', 4, 64) }

// trade buys with a stop and a target that are far enough away for a calm minute.
func (t *Tour) trade(ctx context.Context, c *client) error {
	t.Say("It buys %d on a paper account with a stop and a target, after the order policy allowed it.", quantity)
	var order struct {
		Status string `json:"status"`
		Filled string `json:"filled_quantity"`
		Mode   string `json:"mode"`
	}
	if _, err := c.call(ctx, "place_order", map[string]any{
		"symbol": symbol, "side": "buy", "type": "market", "quantity": quantity, "idempotency_key": "demo-1",
		"stop_loss": json.Number(shortPrice(t.last * 0.98)), "take_profit": json.Number(shortPrice(t.last * 1.03)),
	}, &order); err != nil {
		return err
	}
	t.Say("Order %s, %s filled, mode %s.", order.Status, order.Filled, order.Mode)
	var held []struct {
		Entry      float64 `json:"entry_price"`
		Unrealized float64 `json:"unrealized_pnl"`
		Protected  string  `json:"protected_quantity"`
	}
	if _, err := c.call(ctx, "get_positions", map[string]any{}, &held); err != nil {
		return err
	}
	for _, p := range held {
		t.Say("Position: bought at %s, unrealized profit %.2f, %s protected by the stop.", shortPrice(p.Entry), p.Unrealized, p.Protected)
	}
	return nil
}

// script is a Pine strategy that is drawn and tested.
const script = `//@version=6
strategy("Two averages", overlay = true, default_qty_type = strategy.percent_of_equity, default_qty_value = 50,
  commission_value = 0.05)
fast = ta.ema(close, 9)
slow = ta.ema(close, 21)
plot(fast, "Fast", color.orange)
plot(slow, "Slow", color.blue)
if ta.crossover(fast, slow)
    strategy.entry("long", strategy.long)
if ta.crossunder(fast, slow)
    strategy.close("long")
`

// showConsole opens the console beside the client, as the owner would.
func (t *Tour) showConsole(ctx context.Context, _ *client) error {
	if t.Console == nil {
		return nil
	}
	t.Say("You open your console beside it, as candela console does.")
	address, err := t.Console(ctx)
	if err != nil {
		t.Say("It has none here: %s.", err) // as on a system without local sockets
		return nil
	}
	t.Say("It answers at %s while the program runs: watch, approve orders, halt.", address)
	return nil
}

func (t *Tour) draw(ctx context.Context, c *client) error {
	t.Say("It draws a chart with a Pine script, RSI and MACD.")
	result, err := c.call(ctx, "generate_chart", map[string]any{
		"symbol": symbol, "interval": "1m", "bars": 150, "format": "png",
		"indicators": []any{map[string]string{"name": "pine", "source": script}, "rsi", "macd"},
	}, nil)
	if err != nil {
		return err
	}
	png, err := base64.StdEncoding.DecodeString(result.first("image").Data)
	if err != nil || len(png) == 0 {
		return errors.Join(errors.New("the result has no image"), err)
	}
	if err := os.WriteFile(t.Output, png, 0o644); err != nil { //nolint:gosec // G306: the umask decides
		return err
	}
	t.Say("Saved as %s, %d KB.", t.Output, (len(png)+1023)>>10)
	return nil
}

func (t *Tour) backtest(ctx context.Context, c *client) error {
	t.Say("It asks what the script would have earned.")
	var report struct {
		Result struct {
			Trades int     `json:"trades"`
			Net    float64 `json:"net_pct"`
		} `json:"result"`
		Honesty struct {
			Flags []string `json:"flags"`
		} `json:"honesty"`
	}
	if _, err := c.call(ctx, "run_backtest", map[string]any{"symbol": symbol, "interval": "1m", "bars": 1000, "script": script}, &report); err != nil {
		return err
	}
	t.Say("%d trades, %.2f %% after costs. Reasons not to trust it: %s.", report.Result.Trades, report.Result.Net, cmp.Or(strings.Join(report.Honesty.Flags, ", "), "none"))
	return nil
}

func (t *Tour) awaitAlert(ctx context.Context, c *client) error {
	t.Say("It waits for an alert. Prices change every four seconds.")
	params, err := c.event(ctx, t.Wait, t.Waiting)
	if err != nil {
		return err
	}
	var fired struct {
		Condition struct {
			Type      string  `json:"type"`
			Threshold float64 `json:"threshold"`
		} `json:"condition"`
		Value float64 `json:"value"`
	}
	if err := json.Unmarshal(params, &fired); err != nil {
		return err
	}
	t.Say("The alert fired %v after it was set and was pushed to the client: %s %s at a price of %s.",
		time.Since(t.setAt).Round(100*time.Millisecond), fired.Condition.Type, shortPrice(fired.Condition.Threshold), shortPrice(fired.Value))
	return nil
}

// earn sells what was bought, and reads what happened and what that earned.
func (t *Tour) earn(ctx context.Context, c *client) error {
	t.Say("It sells all of it; the stop and the target end with the position.")
	if _, err := c.call(ctx, "place_order", map[string]any{
		"symbol": symbol, "side": "sell", "type": "market", "quantity": "all", "reduce_only": true, "idempotency_key": "demo-2",
	}, nil); err != nil {
		return err
	}
	if err := t.hearClosed(ctx, c); err != nil {
		return err
	}
	var earned struct {
		Trades []struct {
			Quantity string `json:"quantity"`
			Net      string `json:"net"`
			Fees     string `json:"fees"`
			Reason   string `json:"reason"`
		} `json:"trades"`
	}
	if _, err := c.call(ctx, "get_trades", map[string]any{"symbol": symbol}, &earned); err != nil {
		return err
	}
	for _, one := range earned.Trades {
		t.Say("Trade: %s closed by %s, %s earned after fees of %s.", one.Quantity, one.Reason, one.Net, one.Fees)
	}
	return nil
}

// hearClosed polls events until the position is closed, a few times at most.
func (t *Tour) hearClosed(ctx context.Context, c *client) error {
	for range 3 {
		var events []struct {
			Event    string `json:"event"`
			Role     string `json:"role"`
			Realised string `json:"realized_pnl"`
		}
		if _, err := c.call(ctx, "get_notifications", map[string]any{"events": []string{"orders"}, "wait_seconds": 10}, &events); err != nil {
			return err
		}
		closed := false
		for _, e := range events {
			t.Say("Event %s%s%s.", e.Event, prefixed(", ", e.Role), prefixed(", profit before fees ", e.Realised))
			closed = closed || e.Event == "position_closed"
		}
		if closed {
			return nil
		}
	}
	return errors.New("no event says that the position was closed")
}

// prefixed returns a text with words before it, "" for none.
func prefixed(words, text string) string {
	if text == "" {
		return ""
	}
	return words + text
}
