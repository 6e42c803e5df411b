package tool_test

import (
	"strings"
	"testing"

	"candela/internal/serve/tool/tooltest"
)

func TestSetAlert_DefaultsAndForms(t *testing.T) {
	t.Parallel()
	trading := &tooltest.Trading{}
	registry := tooltest.Registry(t, trading)
	result := call(t, registry, "set_alert", `{"symbol":"BTCUSDT","condition":{"indicator_signal":{"indicator":"wt","signal":"cross_up"}}}`)
	if got := trading.Asked; got.Interval.String() != "4h" || got.Condition.Indicator != "wavetrend" {
		t.Errorf("asked for %+v", got)
	}
	if text := string(result.Content[0].Text); !strings.Contains(text, `"condition":{"indicator_signal":{"indicator":"wavetrend","signal":"cross_up"}}`) {
		t.Error(text)
	}
	call(t, registry, "set_alert", `{"symbol":"BTCUSDT","condition":{"price_below":0.5}}`)
	if got := trading.Asked; got.Interval.Valid() || got.Condition.Threshold.String() != "0.5" {
		t.Errorf("asked for %+v", got)
	}
}

// A note is shown on telephones, terminals and by models: it comes back without what
// could move a cursor, begin a line or turn the direction of one.
func TestSetAlert_ANoteIsCleanText(t *testing.T) {
	t.Parallel()
	trading := &tooltest.Trading{}
	registry := tooltest.Registry(t, trading)
	for given, want := range map[string]string{
		`sell\u001b[2J now\r\nTitle: x`: "sell[2J now Title: x",
		`\u202egnp.exe\u2066 \u0000ok`:  "gnp.exe ok",
		` \t über  50 000 € 📈 `:         "über 50 000 € 📈",
	} {
		result := call(t, registry, "set_alert", `{"symbol":"BTCUSDT","condition":{"price_above":1},"note":"`+given+`"}`)
		if result.IsError || trading.Asked.Note != want {
			t.Errorf("%s became %q: %s", given, trading.Asked.Note, result.Content[0].Text)
		}
	}
	for _, given := range []string{`\u202e\u001b`, strings.Repeat("x", 501)} {
		if result := call(t, registry, "set_alert", `{"symbol":"BTCUSDT","condition":{"price_above":1},"note":"`+given+`"}`); !result.IsError {
			t.Errorf("%s is accepted", given)
		}
	}
}
