package tool_test

import (
	"encoding/json"
	"testing"

	"github.com/shopspring/decimal"

	"candela/internal/trading/order"
)

// TestGetPositions_HasTheFiguresOfTheOpenOne holds that what earlier positions in the symbol earned
// and paid does not count.
func TestGetPositions_HasTheFiguresOfTheOpenOne(t *testing.T) {
	t.Parallel()
	m, r := newMany(t, 1, "")
	num := decimal.RequireFromString
	p := &m.positions[0]
	p.Realised, p.Fees = num("12.5"), order.Fees{"BTC": num("0.3"), "USDT": num("2")}
	p.Earlier = order.Sums{Realised: num("10"), Fees: order.Fees{"BTC": num("0.3"), "USDT": num("1.5")}}
	var got []struct {
		RealizedPnL string            `json:"realized_pnl"`
		Fees        string            `json:"fees"`
		ByAsset     map[string]string `json:"fees_by_asset"`
	}
	if err := json.Unmarshal(call(t, r, "get_positions", `{}`).Content[0].Text, &got); err != nil || len(got) != 1 {
		t.Fatal(got, err)
	}
	if p := got[0]; p.RealizedPnL != "2.5" || p.Fees != "0.5" || len(p.ByAsset) != 1 {
		t.Errorf("%+v", p)
	}
}
