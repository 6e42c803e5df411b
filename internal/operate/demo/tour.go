// Package demo takes whoever is curious on a tour through the tools of a program, over
// MCP as a client would: it looks, draws, sets alerts, buys on paper and waits for what
// fires. Which program that is, and with what prices, its caller decides.
package demo

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"
)

// The tour: one symbol, made up.
const (
	symbol   = "sample:SAMPLE"
	quantity = 5
)

// Tour is where the demonstration goes and what it says.
type Tour struct {
	Output string        // where the chart is saved
	Wait   time.Duration // how long an alert may take to fire
	// Say is told each step in a line, Call each call that a client makes, and
	// Waiting, from time to time, for how long nothing has happened; nil where nobody
	// watches.
	Say     func(format string, args ...any)
	Call    func(method, arguments string)
	Waiting func(since time.Duration)

	asked time.Time // when the alerts were set
}

// Take runs a program and goes from stop to stop with it.
func (t *Tour) Take(ctx context.Context, run Program) error {
	return withClient(ctx, run, t.walk)
}

func (t *Tour) walk(ctx context.Context, c *client) error {
	c.tell = t.Call
	for _, stop := range []func(context.Context, *client) error{t.meet, t.look, t.draw, t.watch, t.trade, t.listen} {
		if err := stop(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// meet introduces the client and lists the tools.
func (t *Tour) meet(ctx context.Context, c *client) error {
	t.Say("A client starts candela and asks what it can do.")
	hello := `{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"candela demo","version":"1"}}`
	if _, err := c.ask(ctx, "initialize", hello); err != nil {
		return err
	}
	if err := c.notify("notifications/initialized"); err != nil {
		return err
	}
	raw, err := c.ask(ctx, "tools/list", "{}")
	if err != nil {
		return err
	}
	var list struct {
		Tools []json.RawMessage `json:"tools"`
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return err
	}
	t.Say("%d tools: charts, indicators, orders, positions, alerts, notifications.", len(list.Tools))
	return nil
}

// market is what the tour reads of the prices.
type market struct {
	Bars []struct {
		High  float64 `json:"h"`
		Low   float64 `json:"l"`
		Close float64 `json:"c"`
	} `json:"bars"`
}

// look reads numbers, as an agent does before it draws anything.
func (t *Tour) look(ctx context.Context, c *client) error {
	t.Say("It looks at the market: minute bars of %s, which are made up and say so.", symbol)
	result, err := c.call(ctx, "get_indicators", map[string]any{"symbol": symbol, "interval": "1m", "indicators": []string{"rsi", "macd"}})
	if err != nil {
		return err
	}
	var read struct {
		Source     string `json:"source"`
		Bars       int    `json:"bars"`
		Indicators map[string]struct {
			Lines []struct {
				Last *float64 `json:"last_value"`
			} `json:"lines"`
		} `json:"indicators"`
	}
	if err := result.decode(&read); err != nil {
		return err
	}
	if lines := read.Indicators["rsi"].Lines; len(lines) > 0 && lines[0].Last != nil {
		t.Say("Source %s, %d bars, RSI %.1f.", read.Source, read.Bars, *lines[0].Last)
	}
	return nil
}

// watch sets an alert a little above the price and one a little below: one of them
// fires with the next movement.
func (t *Tour) watch(ctx context.Context, c *client) error {
	result, err := c.call(ctx, "generate_chart", map[string]any{"symbol": symbol, "interval": "1m", "bars": 30, "format": "series"})
	if err != nil {
		return err
	}
	var seen market
	if err := result.decode(&seen); err != nil || len(seen.Bars) == 0 {
		return fmt.Errorf("the series has no bars: %w", err)
	}
	var reach float64
	for _, b := range seen.Bars {
		reach += (b.High - b.Low) / float64(len(seen.Bars))
	}
	last := seen.Bars[len(seen.Bars)-1].Close
	// So little that a calm minute brings it too, and a move that can be written.
	move := max(reach/1000, 0.0001)
	t.Say("The last price is %s. It asks to be told when that moves, and subscribes.", shortPrice(last))
	if _, err := c.call(ctx, "subscribe_notifications", map[string]any{}); err != nil {
		return err
	}
	t.asked = time.Now()
	for _, condition := range []map[string]any{
		{"price_above": json.Number(shortPrice(last + move))}, {"price_below": json.Number(shortPrice(last - move))},
	} {
		if _, err := c.call(ctx, "set_alert", map[string]any{"symbol": symbol, "condition": condition, "note": "the demonstration"}); err != nil {
			return err
		}
	}
	return nil
}

// shortPrice writes a price with what matters of it.
func shortPrice(v float64) string { return strconv.FormatFloat(v, 'f', 4, 64) }

// trade buys on paper and looks at the position.
func (t *Tour) trade(ctx context.Context, c *client) error {
	t.Say("It buys %d on a paper account. The policy of orders has its say first.", quantity)
	result, err := c.call(ctx, "place_order", map[string]any{"symbol": symbol, "side": "buy", "type": "market", "quantity": quantity})
	if err != nil {
		return err
	}
	var order struct {
		Status string `json:"status"`
		Filled string `json:"filled_quantity"`
		Mode   string `json:"mode"`
	}
	if err := result.decode(&order); err != nil {
		return err
	}
	t.Say("Order %s, %s filled, mode %s.", order.Status, order.Filled, order.Mode)
	if result, err = c.call(ctx, "get_positions", map[string]any{}); err != nil {
		return err
	}
	var held []struct {
		Entry      float64 `json:"entry_price"`
		Unrealized float64 `json:"unrealized_pnl"`
	}
	if err := result.decode(&held); err != nil {
		return err
	}
	for _, p := range held {
		t.Say("Position: bought at %s, unrealized profit %.2f.", shortPrice(p.Entry), p.Unrealized)
	}
	return nil
}

// draw saves the picture.
func (t *Tour) draw(ctx context.Context, c *client) error {
	t.Say("It draws a chart with averages, RSI and MACD.")
	result, err := c.call(ctx, "generate_chart", map[string]any{
		"symbol": symbol, "interval": "1m", "bars": 150, "indicators": []string{"ema_stack", "rsi", "macd"}, "format": "png",
	})
	if err != nil {
		return err
	}
	png, err := base64.StdEncoding.DecodeString(result.image())
	if err != nil || len(png) == 0 {
		return errors.Join(errors.New("the answer has no picture"), err)
	}
	if err := os.WriteFile(t.Output, png, 0o644); err != nil { //nolint:gosec // G306: a picture is for whoever the umask admits
		return err
	}
	t.Say("Saved as %s, %d KB.", t.Output, (len(png)+1023)>>10)
	return nil
}

// listen waits for the alert.
func (t *Tour) listen(ctx context.Context, c *client) error {
	t.Say("Now it waits. New prices come every four seconds.")
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
	t.Say("The alert fired %v after it was set, and was pushed to the client: %s %s, the price is %s.",
		time.Since(t.asked).Round(100*time.Millisecond), fired.Condition.Type, shortPrice(fired.Condition.Threshold), shortPrice(fired.Value))
	return nil
}
