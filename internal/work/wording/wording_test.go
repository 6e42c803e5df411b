package wording_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"candela/internal/work/wording"
	"candela/lib/fault"
)

// read reads a call of a tool with these arguments.
func read(tool, names, given string) (string, []string, error) {
	out, understood, err := wording.Read(wording.Call{Tool: tool, Arguments: json.RawMessage(given), Names: strings.Fields(names), Now: time.Date(2026, 1, 31, 16, 0, 0, 5, time.UTC)})
	return string(out), understood, err
}

const orderArguments = "symbol side type quantity price stop_price stop_loss stop_loss_limit take_profit trail_percent notional stop_loss_pct take_profit_pct risk_pct risk_amount " +
	"time_in_force post_only reduce_only replaces note not_after idempotency_key dry_run"

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
		`{"quantity":null,"qty":1}`: `{"quantity":1} qty is quantity`,
		`{"close_position":true}`:   `{"close_position":true}`,
		`{"qty":1,"quantity":2}`:    `error: only one of quantity and qty`,
		`{"qty":1,"units":2}`:       `error: only one of quantity and units`,
		`{"amount":500}`:            `error: Use quantity for coins or shares, or notional`,
		`{"size":500}`:              `error: Use quantity for coins or shares, or notional`,
		`{"stop":45000}`:            `error: stop_loss protects the position; stop_price delays`,
		`{"leverage":5}`:            `error: the owner sets the leverage of perpetual futures, no call does`,
		`{"percent_of_balance":10}`: `error: use notional for an amount of money, or risk_pct`,
		`{"because":"RSI is low"}`:  `{"because":"RSI is low"}`,
		`{"because":{"tf":"1h","indicator":"rsi","op":"<","value":30}}`: `{"because":[{"interval":"1h","value":{"indicator":"rsi","op":"<","value":30}}]} because is a list with one claim; tf is interval; indicator, op and value are "value"`,
		`{"because":[{"within":3,"condition":{"price_above":5}}]}`:      `{"because":[{"within_bars":3,"price_above":5}]} within is within_bars; condition is the claim itself`,
		`{"risk":"1%","risk_pct":2}`:                                    `error: only one of risk_pct and risk`,
		`{"risk":1}`:                                                    `error: risk_pct is the loss at stop_loss`,
		`{"side":"short"}`:                                              `error: allow_short`,
		`{"type":"stop","price":5}`:                                     `error: a stop is type market with stop_price`,
	} {
		got, understood, err := read("place_order", orderArguments, given)
		if wanted, fails := strings.CutPrefix(want, "error: "); fails {
			if err == nil || !strings.Contains(err.Error(), wanted) {
				t.Errorf("%s: %v, want %q", given, err, wanted)
			}
			continue
		}
		text := strings.TrimSpace(got + " " + strings.Join(understood, "; "))
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
		_, understood, err := read("place_order", orderArguments, given)
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

// TestRead holds how calls of the other tools are read.
func TestRead(t *testing.T) {
	t.Parallel()
	const alerts, charts, backtest = "symbol condition interval on repeat cooldown max_fires note expires_at", "symbol ticker interval timeframe indicators panels bars start end compare drawings format theme log", "symbol interval long short script from to capital fee_bps slip_bps bars"
	for _, row := range [][4]string{
		{"place_order", "symbol because", `{"because":["rsi < 70 and rsi > 10 on 1h","price > 40000"]}`, `{"because":[{"all":[{"value":{"indicator":"rsi","op":"<","value":70}},{"value":{"indicator":"rsi","op":">","value":10}}],"interval":"1h"},{"price_above":40000}]} "rsi < 70 and rsi > 10 on 1h" is {"all":[{"value":{"indicator":"rsi","op":"<","value":70}},{"value":{"indicator":"rsi","op":">","value":10}}],"interval":"1h"}; "price > 40000" is {"price_above":40000}`},
		{"place_order", "symbol because", `{"because":["price is low"]}`, `{"because":["price is low"]}`},
		{"cancel_order", "order_id symbol", `{"id":"o1"}`, `{"order_id":"o1"} id is order_id`},
		{"cancel_order", "order_id symbol", `{"all":true}`, `{"order_id":"all"} all is order_id "all"`},
		{"cancel_order", "order_id symbol", `{"all":false}`, `{"all":false}`},
		{"cancel_order", "order_id symbol", `{"ticker":"AAPL"}`, `{"symbol":"AAPL"} ticker is symbol`},
		{"get_orders", "order_id symbol filter limit", `{"status":"active","pair":"BTCUSDT"}`, `{"filter":"open","symbol":"BTCUSDT"} status is filter; pair is symbol; filter active is open`},
		{"get_orders", "order_id symbol filter limit", `{"orderId":"o1"}`, `{"order_id":"o1"} orderId is order_id`},
		{"list_alerts", "symbol limit", `{"instrument":"BTCUSDT","status":"active"}`, `{"symbol":"BTCUSDT"} instrument is symbol; status active is what is listed`},
		{"get_notifications", "wait_seconds limit events", `{"timeout":"30s"}`, `{"wait_seconds":30} timeout is wait_seconds; wait_seconds "30s" is 30`},
		{"set_alert", alerts, `{"price_above":"70,000","message":"m","expires_in":"2d"}`, `{"note":"m","expires_at":"2026-02-02T16:00:00Z","condition":{"price_above":70000}} message is note; expires_in is expires_at; expires_at 2d is 2026-02-02T16:00:00Z; price_above belongs into condition; price_above "70,000" is 70000`},
		{"set_alert", alerts, `{"condition":"price_above","threshold":7}`, `{"condition":{"price_above":7}} condition price_above with threshold is {"price_above":7}`},
		{"set_alert", alerts, `{"condition":"rsi(14) crosses above 30"}`, `{"condition":{"value":{"indicator":"rsi(14)","op":"crosses_above","value":30}}} "rsi(14) crosses above 30" is {"value":{"indicator":"rsi(14)","op":"crosses_above","value":30}}`},
		{"set_alert", alerts, `{"condition":"macd crosses above signal and close > sma200"}`, `{"condition":{"all":[{"value":{"indicator":"macd","line":"MACD","op":"crosses_above","value":{"indicator":"macd","line":"Signal"}}},{"value":{"price":"close","op":">","value":{"indicator":"sma200"}}}]}} "macd crosses above signal and close > sma200" is {"all":[{"value":{"indicator":"macd","line":"MACD","op":"crosses_above","value":{"indicator":"macd","line":"Signal"}}},{"value":{"price":"close","op":">","value":{"indicator":"sma200"}}}]}`},
		{"set_alert", alerts, `{"condition":"close above bbands"}`, `{"condition":"close above bbands"}`},
		{"set_alert", alerts, `{"condition":"price above 5%"}`, `{"condition":"price above 5%"}`},
		{"set_alert", alerts, `{"condition":"price above 1,5"}`, `{"condition":"price above 1,5"}`},
		{"set_alert", alerts, `{"condition":{"price_above":"1,5"}}`, `{"condition":{"price_above":"1,5"}}`},
		{"set_alert", alerts, `{"condition":{"indicator":"rsi","params":{"length":7},"op":"<","value":30}}`, `{"condition":{"value":{"indicator":{"name":"rsi","length":7},"op":"<","value":30}}} indicator, op and value are "value"; params belongs to rsi`},
		{"set_alert", alerts, `{"condition":{"value":{"indicator":"macd.histogram","op":"crosses","value":0}}}`, `{"condition":{"any":[{"value":{"indicator":"macd","op":"crosses_above","value":0,"line":"Histogram"}},{"value":{"indicator":"macd","op":"crosses_below","value":0,"line":"Histogram"}}]}} "macd.histogram" is line Histogram of macd; op crosses is crosses_above or crosses_below`},
		{"set_alert", alerts, `{"condition":{"all":[{"value":{"indicator":"rsi","op":"crosses","value":50}},{"new_high":{"bars":5}}]}}`, `{"condition":{"all":[{"value":{"indicator":"rsi","op":"crosses","value":50}},{"new_high":{"bars":5}}]}}`},
		{"set_alert", alerts, `{"condition":{"or":[{"value":{"indicator":"rsi","op":"crosses","value":50}},{"new_high":5}]}}`, `{"condition":{"any":[{"value":{"indicator":"rsi","op":"crosses_above","value":50}},{"value":{"indicator":"rsi","op":"crosses_below","value":50}},{"new_high":{"bars":5}}]}} or is any; op crosses is crosses_above or crosses_below; new_high 5 is {"bars":5}`},
		{"set_alert", alerts, `{"condition":{"all":[{"new_high":{"bars":5}}]}}`, `{"condition":{"new_high":{"bars":5}}} all of one condition is that condition`},
		{"set_alert", alerts, `{"condition":{"all":[{"any":{"new_high":{"bars":5}}},{"new_low":{"bars":5}}]}}`, `{"condition":{"all":[{"new_high":{"bars":5}},{"new_low":{"bars":5}}]}} any of one condition is that condition`},
		{"set_alert", alerts, `{"condition":{"price_above":"sma200"}}`, `{"condition":{"value":{"price":"close","op":">","value":{"indicator":"sma200"}}}} close above SMA(200) at a bar's close`},
		{"set_alert", alerts, `{"condition":{"value":{"indicator":"close","op":">","value":{"name":"sma","length":50}}}}`, `{"condition":{"value":{"price":"close","op":">","value":{"indicator":{"name":"sma","length":50}}}}} indicator "close" is price close; an object with name is indicator`},
		{"set_alert", alerts, `{"condition":{"order_filled":"any"}}`, `error: Fills come by get_notifications {"events":["orders"]}.`},
		{"set_alert", alerts, `{"conditions":[{"price_above":1},{"price_below":2}]}`, `error: all of them or any?`},
		{"generate_chart", charts, `{"tf":"1h","from":"2026-01-01","indicators":["rsi_divergence"],"show_positions":true}`, `{"interval":"1h","start":"2026-01-01","indicators":[{"name":"divergence","osc":"rsi"}]} show_positions: they are drawn anyway; tf is interval; from is start; rsi_divergence is divergence of rsi`},
		{"generate_chart", charts, `{"drawings":[{"type":"trendline","x1":"2026-01-01","y1":1,"x2":"2026-01-02","y2":2}]}`, `{"drawings":[{"type":"line","time":"2026-01-01","price":1,"time2":"2026-01-02","price2":2}]} x1 is time; y1 is price; x2 is time2; y2 is price2; drawing trendline is line`},
		{"get_indicators", "symbol indicators interval start end", `{"symbols":["BTCUSDT"],"indicator":"rsi, macd"}`, `{"symbol":"BTCUSDT","indicators":["rsi","macd"]} indicator is indicators; indicators is the list ["rsi","macd"]; symbols with one element is symbol`},
		{"get_indicators", "symbol indicators interval start end", `{"symbols":["BTCUSDT","ETHUSDT"]}`, `error: One symbol per call; scan_symbols compares many.`},
		{"get_indicators", "symbol indicators interval start end", `{"bars":50}`, `{"bars":50}`},
		{"run_backtest", backtest, `{"start":"2026-01-01","end":"2026-02-01","initial_capital":5000,"long":{"entry":"rsi < 30","exit":{"value":{"indicator":"rsi","op":"above","value":70}}}}`, `{"from":"2026-01-01","to":"2026-02-01","capital":5000,"long":{"enter":{"value":{"indicator":"rsi","op":"<","value":30}},"exit":{"value":{"indicator":"rsi","op":">","value":70}}}} start is from; end is to; initial_capital is capital; entry is enter; "rsi < 30" is {"value":{"indicator":"rsi","op":"<","value":30}}; op "above" is >`},
		{"run_backtest", backtest, `{"stop_pct":2,"long":{"enter":{"new_high":{"bars":5}}},"short":{"enter":{"new_low":{"bars":5}}}}`, `{"long":{"enter":{"new_high":{"bars":5}},"stop_pct":2},"short":{"enter":{"new_low":{"bars":5}},"stop_pct":2}} stop_pct is stop_pct of long and short`},
		{"run_backtest", backtest, `{"stop_pct":2,"long":{"enter":{"new_high":{"bars":5}},"stop_pct":1},"short":{"enter":{"new_low":{"bars":5}}}}`, `{"stop_pct":2,"long":{"enter":{"new_high":{"bars":5}},"stop_pct":1},"short":{"enter":{"new_low":{"bars":5}}}}`},
		{"run_backtest", backtest, `{"timeframe":"1h","days":90,"script_name":"s"}`, `{"interval":"1h","script_name":"s","bars":2160} days 90 is 2160 bars of 1h; timeframe is interval`},
		{"run_backtest", backtest, `{"tf":60,"days":"10","script_name":"s"}`, `{"interval":"1h","script_name":"s","bars":240} days 10 is 240 bars of 1h; tf is interval; interval 60 is 1h`},
		{"run_backtest", backtest, `{"interval":"1M","years":2,"script_name":"s"}`, `{"interval":"1M","script_name":"s","bars":23} years 2 is 23 bars of 1M`},
		{"run_backtest", backtest, `{"commission":0.1}`, `error: fee_bps is in hundredths of a per cent: 0.1 % is 10.`},
		{"run_backtest", backtest, `{"strategy":"macd cross"}`, `error: Send {"long":{"enter":..,"exit":..}}`},
		{"scan_symbols", "symbols interval condition columns rank_by order limit", `{"symbols":"BTCUSDT, ETHUSDT","columns":[{"percent_change":{"bars":24}},"macd.histogram"],"sort_by":"x","order":"descending"}`, `{"symbols":["BTCUSDT","ETHUSDT"],"columns":[{"indicator":{"name":"roc","length":24}},{"indicator":"macd","line":"Histogram"}],"rank_by":"x","order":"desc"} sort_by is rank_by; symbols is the list ["BTCUSDT","ETHUSDT"]; order descending is desc; percent_change over 24 bars is roc(24); "macd.histogram" is line Histogram of macd`},
		{"scan_symbols", "symbols condition", `{"watchlist":"my"}`, `error: Give symbols`},
	} {
		got, understood, err := read(row[0], row[1], row[2])
		if wanted, fails := strings.CutPrefix(row[3], "error: "); fails {
			if err == nil || !strings.Contains(err.Error(), wanted) {
				t.Errorf("%s %s: %v, want %q", row[0], row[2], err, wanted)
			}
			continue
		}
		if text := strings.TrimSpace(got + " " + strings.Join(understood, "; ")); err != nil || text != row[3] {
			t.Errorf("%s %s is\n%s\nwant\n%s (%v)", row[0], row[2], text, row[3], err)
		}
	}
}

// TestSay holds that an answer stays what it was.
func TestSay(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{`{}`: `{"understood":["a"]}`, `{"b":1}`: `{"b":1,"understood":["a"]}`, `[1]`: `[1]`, ``: ``} {
		if got := string(wording.Say([]byte(given), []string{"a"})); got != want {
			t.Errorf("%s is %s, want %s", given, got, want)
		}
	}
}
