package tool_test

import (
	"encoding/json"
	"strings"
	"testing"

	"candela/internal/serve/tool/tooltest"
)

// TestSetAlert_Conditions sets an alert of each kind. The answer has the condition in the
// form that set_alert takes, which sets the same alert again.
func TestSetAlert_Conditions(t *testing.T) {
	t.Parallel()
	const rsi = `{"value":{"indicator":"rsi","line":"RSI","op":"<","value":30}}`
	for given, want := range map[string]string{
		`{"price_above":70000.50}`: `{"price_above":70000.5}`,
		`{"price_crosses":70000}`:  `{"price_crosses":70000}`,
		`{"value":{"indicator":{"name":"RSI","length":14},"op":"<","value":30.0}}`:                           rsi,
		`{"value":{"indicator":{"name":"rsi","length":7},"line":"rsi","op":">=","value":-0}}`:                `{"value":{"indicator":{"name":"rsi","length":7},"line":"RSI","op":">=","value":0}}`,
		`{"value":{"indicator":"rsi","op":"ENTERS","value":[30,70]}}`:                                        `{"value":{"indicator":"rsi","line":"RSI","op":"enters","value":[30,70]}}`,
		`{"value":{"price":"Close","op":"crosses_above","value":{"indicator":"bb","line":"bb upper"}}}`:      `{"value":{"price":"close","op":"crosses_above","value":{"indicator":"bbands","line":"BB Upper"}}}`,
		`{"value":{"price":"volume","op":">","value":1000}}`:                                                 `{"value":{"price":"volume","op":">","value":1000}}`,
		`{"value":{"price":"high","op":">","value":"open"}}`:                                                 `{"value":{"price":"high","op":">","value":"open"}}`,
		`{"value":{"indicator":"macd","line":"MACD","op":">","value":{"indicator":"macd","line":"Signal"}}}`: `{"value":{"indicator":"macd","line":"MACD","op":">","value":{"indicator":"macd","line":"Signal"}}}`,
		`{"indicator_signal":{"indicator":"wt","signal":"cross_up"}}`:                                        `{"indicator_signal":{"indicator":"wavetrend","signal":"cross_up"}}`,
		`{"indicator_signal":{"indicator":{"name":"rsi","length":7},"signal":"rsi_oversold"}}`:               `{"indicator_signal":{"indicator":{"name":"rsi","length":7},"signal":"rsi_oversold"}}`,
		`{"percent_change":{"bars":24,"op":">=","value":5}}`:                                                 `{"percent_change":{"bars":24,"op":">=","value":5}}`,
		`{"new_high":{"bars":20}}`:                           `{"new_high":{"bars":20}}`,
		`{"any":[{"new_low":{"bars":2}},{"price_below":5}]}`: `{"any":[{"new_low":{"bars":2}},{"price_below":5}]}`,
		`{"all":[` + rsi + `,{"percent_change":{"bars":1,"op":"<","value":-2.5}},{"indicator_signal":{"indicator":"macd","signal":"cross_up"}}]}`: `{"all":[` + rsi + `,{"percent_change":{"bars":1,"op":"<","value":-2.5}},{"indicator_signal":{"indicator":"macd","signal":"cross_up"}}]}`,
	} {
		for _, condition := range []string{given, want} {
			result := call(t, tooltest.Registry(t, &tooltest.Trading{}), "set_alert", `{"symbol":"BTCUSDT","condition":`+condition+`}`)
			var answer struct {
				Condition json.RawMessage `json:"condition"`
				Describe  string          `json:"describe"`
			}
			if err := json.Unmarshal(result.Content[0].Text, &answer); err != nil || string(answer.Condition) != want || answer.Describe == "" {
				t.Errorf("%s became %s, want %s", condition, result.Content[0].Text, want)
			}
		}
	}
}

func TestSetAlert_RepeatAndInterval(t *testing.T) {
	t.Parallel()
	for _, each := range []struct{ name, condition, more, want string }{
		{"an interval in the indicator is the alert's", `{"value":{"indicator":{"name":"rsi","interval":"15m"},"op":"<","value":30}}`, ``, `"interval":"15m"`},
		{"the same interval twice", `{"value":{"indicator":{"name":"rsi","interval":"15m"},"op":"<","value":30}}`, `,"interval":"15m"`, `"interval":"15m"`},
		{"two intervals", `{"value":{"indicator":{"name":"rsi","interval":"15m"},"op":"<","value":30}}`, `,"interval":"1h"`, `1h, the interval of the alert`},
		{"no interval", `{"new_high":{"bars":20}}`, ``, `"interval":"4h"`},
		{"an interval for a price", `{"price_crosses":5}`, `,"interval":"1h"`, `no interval for price_crosses`},
		{"a repeating alert", `{"new_high":{"bars":20}}`, `,"repeat":true,"cooldown":"1h30m","max_fires":5`, `"repeat":true,"cooldown":"1h30m","max_fires":5,"fires":0`},
		{"a cooldown in seconds", `{"new_high":{"bars":20}}`, `,"repeat":true,"cooldown":3600`, `"repeat":true,"cooldown":"1h","max_fires":1000,"fires":0`},
		{"a cooldown in days", `{"new_high":{"bars":20}}`, `,"repeat":true,"cooldown":"2 days"`, `"cooldown":"48h"`},
		{"a cooldown of a month is not one of a minute", `{"new_high":{"bars":20}}`, `,"repeat":true,"cooldown":"1M"`, `cooldown: `},
		{"a negative cooldown", `{"new_high":{"bars":20}}`, `,"repeat":true,"cooldown":"-1h"`, `cooldown: `},
		{"a cooldown of nothing", `{"new_high":{"bars":20}}`, `,"repeat":true,"cooldown":"0"`, `before; repeats, up to 1000 times"`},
		{"a cooldown of nothing on trades", `{"price_above":5}`, `,"repeat":true,"cooldown":"0"`, `at least 1m`},
		{"a short cooldown on trades", `{"price_above":5}`, `,"repeat":true,"cooldown":"500ms"`, `at least 1m`},
		{"a cooldown of seconds", `{"price_above":5}`, `,"repeat":true,"cooldown":"90s"`, `at most every 1m30s, up`},
		{"a long cooldown", `{"new_high":{"bars":20}}`, `,"repeat":true,"cooldown":"31d"`, `at most 30 days`},
		{"a cross of what it never leaves", `{"value":{"indicator":"rsi","op":"crosses_above","value":-5}}`, ``, `never true`},
		{"a cross from where it never is", `{"value":{"indicator":"rsi","op":"crosses_below","value":150}}`, ``, `never true`},
		{"a range out of reach", `{"value":{"indicator":"rsi","op":"enters","value":[110,120]}}`, ``, `never true`},
		{"a range that it never leaves", `{"value":{"indicator":"rsi","op":"leaves","value":[-1,101]}}`, ``, `never true`},
		{"a range at the end", `{"value":{"indicator":"rsi","op":"enters","value":[70,150]}}`, ``, `"describe"`},
		{"a repeating price", `{"price_above":5}`, `,"repeat":true`, `"cooldown":"1m"`},
		{"repeat false", `{"price_above":5}`, `,"repeat":false`, `"describe":"BTCUSDT trades at or above 5"`},
		{"on ticks", `{"value":{"indicator":"rsi","op":"<","value":30}}`, `,"on":"tick"`, `"on":"tick"`},
		{"what is true now", `{"value":{"indicator":"rsi","op":">","value":70}}`, ``, `"now":{"true":false,"value":41.5,"against":70,"at":"2026-01-31T16:00:00.123Z"},"last_would_have_fired":"2026-01-31T15:00:00.123Z","evaluated_from":"2026-01-30T16:00:00.123Z"}`},
	} {
		result := call(t, tooltest.Registry(t, &tooltest.Trading{}), "set_alert", `{"symbol":"BTCUSDT","condition":`+each.condition+each.more+`}`)
		if text := string(result.Content[0].Text); !strings.Contains(text, each.want) {
			t.Errorf("%s: %s lacks %s", each.name, text, each.want)
		}
	}
	account := tooltest.Account{}
	unknown := call(t, over(t, &account, blank{}), "set_alert", `{"symbol":"BTCUSDT","condition":{"price_above":5}}`)
	if text := string(unknown.Content[0].Text); !strings.Contains(text, `"now":{"true":null},"last_would_have_fired":null}`) {
		t.Error(text)
	}
}
