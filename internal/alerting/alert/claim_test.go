package alert_test

import (
	"encoding/json"
	"strings"
	"testing"

	"candela/internal/alerting/alert"
	"candela/lib/market"
)

// TestReadClaim reads conditions as set_alert takes them into the form that stores keep.
func TestReadClaim(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string][2]string{
		`{"value":{"indicator":"rsi","op":"<","value":70}}`:                             {"RSI(14) of the symbol on 1h closes below 70", `{"type":"value","indicator":"rsi","line":"RSI","op":"<","value":70}`},
		`{"value":{"price":"close","op":">","value":{"indicator":"sma200"}}}`:           {"the close of the symbol on 1h is above SMA(200)", `{"type":"value","price":"close","op":">","value":{"indicator":"sma200","line":"SMA"}}`},
		`{"value":{"indicator":{"name":"rsi","length":7},"op":"enters","value":[1,2]}}`: {"RSI(7) of the symbol on 1h enters the range from 1 to 2", `"value":[1,2]`},
		`{"percent_change":{"bars":5,"op":"<","value":-3.5}}`:                           {"the change over 5 bars of the symbol on 1h is below -3.5 %", `"value":-3.5`},
		`{"new_high":{"bars":20}}`:                                                      {"the high of the symbol on 1h is above", `{"type":"new_high","bars":20}`},
		`{"any":[{"value":{"price":"close","op":">","value":1}},{"interval":"4h","new_low":{"bars":3}}]}`: {
			"the symbol on 1h: the close is above 1 or the low on 4h", `{"type":"new_low","bars":3,"interval":"4h"}`,
		},
	} {
		c, err := alert.ReadClaim("the symbol", market.Hour1, json.RawMessage(raw))
		if err != nil || !strings.Contains(c.Text, want[0]) || !strings.Contains(string(c.Condition), want[1]) || c.Interval != market.Hour1 {
			t.Errorf("%s is %q, %s, %v", raw, c.Text, c.Condition, err)
		}
	}
	if c, err := alert.ReadClaim("BTCUSDT", 0, json.RawMessage(`{"price_below":100000.5}`)); err != nil || c.Interval != 0 || c.Text != "BTCUSDT trades at or below 100000.5" {
		t.Errorf("a price: %+v, %v", c, err)
	}
}

// TestReadClaim_Refuses names the field, the value and what is allowed.
func TestReadClaim_Refuses(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		`{}`:                 `condition: invalid value`,
		`{"rsi":{"op":"<"}}`: `condition: invalid value "rsi"; use an object with one of`,
		`{"value":5}`:        `condition.value: invalid value "5"; use an object with indicator, price, line, op, value`,
		`{"value":{"indicator":"rsi","oper":"<","value":70}}`:      `condition.value.oper: invalid value`,
		`{"value":{"indicator":"rsi","op":"below","value":70}}`:    `condition.value.op: invalid value "below"`,
		`{"value":{"indicator":"rsy","op":"<","value":70}}`:        `rsy`,
		`{"value":{"indicator":"rsi","op":"<","value":"x"}}`:       `condition`,
		`{"value":{"indicator":"rsi","op":"<"}}`:                   `condition`,
		`{"value":{"op":"<","value":70}}`:                          `condition`,
		`{"price_above":"high"}`:                                   `condition.price_above: invalid value`,
		`{"price_crosses":5}`:                                      `price_above or price_below`,
		`{"any":{"new_high":{"bars":3}}}`:                          `condition.any: invalid value`,
		`{"any":[{"new_high":{"bars":3}}]}`:                        `2 to`,
		`{"any":[{"any":[]},{"new_high":{"bars":3}}]}`:             `condition.any[0].any`,
		`{"new_high":{"bars":3},"new_low":{"bars":3}}`:             `new_high, new_low`,
		`{"indicator_signal":{"indicator":"rsi","signal":"nope"}}`: `nope`,
	} {
		if c, err := alert.ReadClaim("the symbol", market.Hour1, json.RawMessage(raw)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s is %s, %v; want %q", raw, c.Condition, err, want)
		}
	}
	for raw, want := range map[string]string{
		`{"value":{"indicator":"rsi","op":">","value":100}}`:                                                                                          "RSI(14) stays from 0 to 100",
		`{"value":{"indicator":{"name":"rsi","length":7},"op":"<=","value":-1}}`:                                                                      "RSI(7) stays from 0 to 100",
		`{"value":{"indicator":"willr","op":"crosses_above","value":0}}`:                                                                              "stays from -100 to 0",
		`{"value":{"indicator":"mfi","op":"enters","value":[101,120]}}`:                                                                               "MFI(14) stays from 0 to 100",
		`{"value":{"indicator":"sma200","op":"<","value":{"indicator":"sma200"}}}`:                                                                    "something else than the left side",
		`{"percent_change":{"bars":5,"op":"<","value":-100}}`:                                                                                         "less than 100 %",
		`{"all":[{"value":{"indicator":"rsi","op":">","value":70}},{"value":{"indicator":"rsi","op":"<=","value":70}}]}`:                              "> 70 and <= 70",
		`{"any":[{"value":{"indicator":"rsi","op":">","value":100}},{"percent_change":{"bars":5,"op":"<=","value":-100}}]}`:                           "less than 100 %",
		`{"all":[{"value":{"price":"close","op":">","value":1}},{"any":[{"value":{"indicator":"rsi","op":"<","value":0}},{"new_high":{"bars":3}}]}]}`: "condition",
	} {
		if c, err := alert.ReadClaim("the symbol", market.Hour1, json.RawMessage(raw)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s is %s, %v; want %q", raw, c.Condition, err, want)
		}
	}
	for _, raw := range []string{
		`{"value":{"indicator":"rsi","op":">=","value":100}}`, `{"value":{"indicator":"rsi","op":"crosses_below","value":100}}`, `{"value":{"indicator":"cci","op":">","value":400}}`,
		`{"value":{"price":"close","op":"<","value":-1}}`,
		`{"all":[{"value":{"indicator":"rsi","op":">","value":30}},{"value":{"indicator":"rsi","op":"<","value":70}}]}`,
		`{"all":[{"value":{"indicator":"rsi","op":"<","value":30}},{"interval":"4h","value":{"indicator":"rsi","op":">","value":70}}]}`,
		`{"any":[{"value":{"indicator":"rsi","op":"<","value":30}},{"value":{"indicator":"rsi","op":">","value":100}}]}`,
	} {
		if _, err := alert.ReadClaim("the symbol", market.Hour1, json.RawMessage(raw)); err != nil {
			t.Errorf("%s may be true: %v", raw, err)
		}
	}
	if _, err := alert.ReadClaim("the symbol", 0, json.RawMessage(`{"new_high":{"bars":3}}`)); err == nil || !strings.Contains(err.Error(), "interval") {
		t.Errorf("without an interval: %v", err)
	}
}
