package wording_test

import (
	"encoding/json"
	"strings"
	"testing"

	"candela/internal/work/wording"
	"candela/lib/fault"
)

func orderArgument(name string) bool {
	return strings.Contains(" symbol side type quantity price stop_price stop_loss stop_loss_limit take_profit trail_percent notional stop_loss_pct take_profit_pct risk_pct risk_amount time_in_force post_only reduce_only replaces note not_after idempotency_key dry_run ", " "+name+" ")
}

// TestPlaceOrder holds how calls are read, and that what was understood is said.
func TestPlaceOrder(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		`{"symbol":"BTCUSDT","quantity":0.01}`:                                   `{"symbol":"BTCUSDT","quantity":0.01}`,
		`{"qty":0.010}`:                                                          `{"quantity":0.010} qty is quantity`,
		`{"shares":3,"limitPrice":"9.50"}`:                                       `{"quantity":3,"price":9.5} shares is quantity; limitPrice is price; price "9.50" is 9.5`,
		`{"quantity":"all","reduceOnly":true}`:                                   `{"quantity":"all","reduce_only":true} reduceOnly is reduce_only`,
		`{"quantity":"1,000"}`:                                                   `{"quantity":"1,000"}`,
		`{"quantity":"0,1"}`:                                                     `{"quantity":"0,1"}`,
		`{"quantity":"1e3"}`:                                                     `{"quantity":"1e3"}`,
		`{"quantity":"-1"}`:                                                      `{"quantity":"-1"}`,
		`{"quantity":".5"}`:                                                      `{"quantity":".5"}`,
		`{"symbol":"BTCUSDT","usd":500}`:                                         `{"symbol":"BTCUSDT","notional":500} usd is notional`,
		`{"symbol":"ETHBTC","usd":500}`:                                          `{"symbol":"ETHBTC","usd":500}`,
		`{"symbol":"ETHBTC","quoteOrderQty":0.5}`:                                `{"symbol":"ETHBTC","notional":0.5} quoteOrderQty is notional`,
		`{"stop_loss":"2%","tp":"4 %"}`:                                          `{"stop_loss_pct":2,"take_profit_pct":4} tp is take_profit; stop_loss "2%" is stop_loss_pct 2; take_profit "4 %" is take_profit_pct 4`,
		`{"stop_loss":"2%","stop_loss_pct":3}`:                                   `{"stop_loss":"2%","stop_loss_pct":3}`,
		`{"risk":"1%"}`:                                                          `{"risk_pct":1} risk "1%" is risk_pct 1`,
		`{"trail_percent":"2.5%"}`:                                               `{"trail_percent":2.5} trail_percent "2.5%" is 2.5`,
		`{"side":"LONG"}`:                                                        `{"side":"buy"} side long is buy`,
		`{"type":"stop","stop_price":5}`:                                         `{"type":"market","stop_price":5} type stop is market`,
		`{"type":"STOP_LOSS_LIMIT","stopPrice":5,"price":4}`:                     `{"type":"limit","stop_price":5,"price":4} stopPrice is stop_price; type stop_loss_limit is limit`,
		`{"type":"stop","stop_price":5,"price":4}`:                               `{"type":"stop","stop_price":5,"price":4}`,
		`{"type":"trailing_stop","trail_percent":2}`:                             `{"type":"market","trail_percent":2} type trailing_stop is market`,
		`{"type":"take_profit","price":9}`:                                       `{"type":"take_profit","price":9}`,
		`{"order_class":"bracket","stop_loss":5,"take_profit":9}`:                `{"stop_loss":5,"take_profit":9} order_class bracket follows from the other arguments`,
		`{"order_class":"bracket"}`:                                              `{"order_class":"bracket"}`,
		`{"order_class":"oco","stop_loss":5,"take_profit":9,"reduce_only":true}`: `{"stop_loss":5,"take_profit":9,"reduce_only":true} order_class oco follows from the other arguments`,
		`{"order_class":"oco","stop_loss":5,"take_profit":9}`:                    `{"order_class":"oco","stop_loss":5,"take_profit":9}`,
		`{"client_order_id":"x","timeInForce":"GTC","dryRun":true,"comment":"why","ticker":"AAPL"}`: `{"idempotency_key":"x","time_in_force":"GTC","dry_run":true,"note":"why","symbol":"AAPL"} client_order_id is idempotency_key; timeInForce is time_in_force; dryRun is dry_run; comment is note; ticker is symbol`,
		`{"quantity":null,"qty":1}`:  `{"quantity":1} qty is quantity`,
		`{"close_position":true}`:    `{"close_position":true}`,
		`{"qty":1,"quantity":2}`:     `error: only one of quantity and qty`,
		`{"qty":1,"units":2}`:        `error: only one of quantity and units`,
		`{"amount":500}`:             `error: Use quantity for coins or shares, or notional`,
		`{"size":500}`:               `error: Use quantity for coins or shares, or notional`,
		`{"stop":45000}`:             `error: stop_loss protects the position; stop_price delays`,
		`{"leverage":5}`:             `error: there is no leverage`,
		`{"percent_of_balance":10}`:  `error: use notional for an amount of money, or risk_pct`,
		`{"because":"RSI is low"}`:   `error: words for the owner go into note`,
		`{"risk":"1%","risk_pct":2}`: `error: only one of risk_pct and risk`,
		`{"risk":1}`:                 `error: risk_pct is the loss at stop_loss`,
		`{"side":"short"}`:           `error: allow_short`,
		`{"type":"stop","price":5}`:  `error: a stop is type market with stop_price`,
	} {
		got, understood, err := wording.PlaceOrder(json.RawMessage(given), orderArgument)
		if wanted, fails := strings.CutPrefix(want, "error: "); fails {
			if err == nil || !strings.Contains(err.Error(), wanted) {
				t.Errorf("%s: %v, want %q", given, err, wanted)
			}
			continue
		}
		text := strings.TrimSpace(string(got) + " " + strings.Join(understood, "; "))
		if err != nil || text != want {
			t.Errorf("%s is\n%s\nwant\n%s (%v)", given, text, want, err)
		}
	}
}

// TestLongWords holds that a name or a word of any length is echoed in part only, and that many spellings
// of one word are not all echoed.
func TestLongWords(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("_", 1<<20)
	for _, given := range []string{
		`{"qty` + long + `":1}`, `{"qty` + long + `":1,"quantity":2}`, `{"amount` + long + `":1}`, `{"risk` + long + `":1}`,
		`{"orderclass` + long + `":"simple"}`, `{"type":"stop` + long + `","stop_price":5}`, `{"quantity":"` + long + `1%"}`, `{"stop_loss":"2` + strings.Repeat(" ", 1<<20) + `%"}`,
		`{"orderclass":"simple"` + `,"order_class":"simple","order-class":"simple","Order class":"simple"}`,
	} {
		_, understood, err := wording.PlaceOrder(json.RawMessage(given), orderArgument)
		if said := strings.Join(understood, "; "); len(said) > 200 {
			t.Errorf("%.40s... is understood as %d bytes: %.300s", given, len(said), said)
		}
		if err == nil {
			continue
		}
		text, e := err.Error(), fault.Of(err)
		if len(text) > 600 || len(e.Field) > 83 || len(e.Value) > 83 {
			t.Errorf("%.40s... is refused with %d bytes and a field of %d", given, len(text), len(e.Field))
		}
	}
}

func TestLists(t *testing.T) {
	t.Parallel()
	known := func(names string) func(string) bool {
		return func(name string) bool { return strings.Contains(" "+names+" ", " "+name+" ") }
	}
	read := func(words func(json.RawMessage, func(string) bool) (json.RawMessage, []string, error), names, given, want string) {
		t.Helper()
		got, understood, err := words(json.RawMessage(given), known(names))
		if text := strings.TrimSpace(string(got) + " " + strings.Join(understood, "; ")); err != nil || text != want {
			t.Errorf("%s is %s, want %s (%v)", given, text, want, err)
		}
	}
	read(wording.CancelOrder, "order_id symbol", `{"id":"o1"}`, `{"order_id":"o1"} id is order_id`)
	read(wording.CancelOrder, "order_id symbol", `{"all":true}`, `{"order_id":"all"} all is order_id "all"`)
	read(wording.CancelOrder, "order_id symbol", `{"all":false}`, `{"all":false}`)
	read(wording.CancelOrder, "order_id symbol", `{"ticker":"AAPL"}`, `{"symbol":"AAPL"} ticker is symbol`)
	read(wording.GetOrders, "order_id symbol filter limit", `{"status":"active","pair":"BTCUSDT"}`, `{"filter":"open","symbol":"BTCUSDT"} status is filter; pair is symbol; filter active is open`)
	read(wording.GetOrders, "order_id symbol filter limit", `{"orderId":"o1"}`, `{"order_id":"o1"} orderId is order_id`)
	read(wording.Filtered, "symbol limit", `{"instrument":"BTCUSDT"}`, `{"symbol":"BTCUSDT"} instrument is symbol`)
}
