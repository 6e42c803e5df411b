package order_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/trading/order"
	"candela/lib/market"
)

// TestWireNames_StayTheSame pins the JSON of the types that replicas of different
// versions send each other.
func TestWireNames_StayTheSame(t *testing.T) {
	t.Parallel()
	btc, one := market.Symbol{Venue: "binance", Name: "BTCUSDT"}, decimal.NewFromInt(1)
	for want, value := range map[string]any{
		`{"Symbol":"binance:BTCUSDT","Asked":"BTC-USDT","Side":"buy","Type":"limit","Quantity":"1","Price":"1","Key":"k","DryRun":true}`: order.Request{
			Symbol: btc, RequestedSymbol: market.Symbol{Name: "BTC-USDT"}, Side: order.Buy, Type: order.Limit, Quantity: one, Price: one, Key: "k", DryRun: true,
		},
		`{"Symbol":"","Asked":"","Side":"","Type":"","Quantity":"0","Price":"0","Key":"","DryRun":false,"Risk":{"percent":"1","amount":"1","most":"1","notional":"1","all":true,"stop_loss_pct":"1","take_profit_pct":"1","price":"1","from":"1"}}`: order.Request{
			Sizing: order.Sizing{Percent: one, Amount: one, Most: one, Notional: one, All: true, StopLossPct: one, TakeProfitPct: one, Price: one, From: one},
		},
		`{"symbol":"binance:BTCUSDT","quantity":"1","cost":"1","realised":"1","base_asset":"BTC","fees_in_base":"1","fees_worth":"1","earlier":{"realised":"1"},"Quote":{"Last":"1","Bid":"1","Ask":"1","At":"2026-01-02T03:04:05Z","Shut":true},"Mode":"paper"}`: order.PricedPosition{
			Position: order.Position{Symbol: btc, Quantity: one, Cost: one, Realised: one, Base: "BTC", FeesInBase: one, FeesWorth: one, Earlier: order.Sums{Realised: one}}, Mode: order.Paper,
			Quote: order.Quote{Last: one, Bid: one, Ask: one, At: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), MarketClosed: true},
		},
		`{"kind":"planned","at":"2026-01-02T03:04:05Z","plan":{"symbol":"binance:BTCUSDT","lines":[{"id":"e1","side":"buy","quantity":"1","protect":{"trail_percent":"1","take_profit":"1"},"best":"1","by":"e1"},{"id":"e2","side":"buy","quantity":"0","protect":{"stop_loss":"1","stop_loss_limit":"1"}}]}}`: at(order.Planned(btc, []order.Line{
			{ID: "e1", Side: order.Buy, Quantity: one, Protect: order.Protection{TrailPercent: one, TakeProfit: one}, Best: one, By: "e1"},
			{ID: "e2", Side: order.Buy, Protect: order.Protection{StopLoss: one, StopLossLimit: one}},
		})),
		`{"kind":"planned","at":"2026-01-02T03:04:05Z","plan":{"symbol":"binance:BTCUSDT"}}`: at(order.Planned(btc, nil)),
	} {
		got, err := json.Marshal(value)
		if err != nil || string(got) != want {
			t.Errorf("%T is sent as\n%s\nwant\n%s (%v)", value, got, want, err)
		}
	}
}

// at gives an event a time.
func at(e order.Event) order.Event {
	e.At = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	return e
}
