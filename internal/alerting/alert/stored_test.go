package alert_test

import (
	"testing"

	"candela/internal/alerting/alert"
	"candela/lib/market"
)

func TestAdd_RefusesStoredConditionsThatCannotBeEvaluated(t *testing.T) {
	t.Parallel()
	rsi := `{"type":"value","indicator":"rsi","line":"RSI","op":"<","value":30}`
	for name, rule := range map[string]string{
		"percent change over no bars":       `{"condition":{"type":"percent_change","bars":0,"op":">","value":5}}`,
		"percent change over negative bars": `{"condition":{"type":"percent_change","bars":-3,"op":">","value":5}}`,
		"percent change over too many bars": `{"condition":{"type":"percent_change","bars":99999999,"op":">","value":5}}`,
		"percent change in a range":         `{"condition":{"type":"percent_change","bars":3,"op":"enters","value":5}}`,
		"new high over no bars":             `{"condition":{"type":"new_high"}}`,
		"new low over too many bars":        `{"condition":{"type":"new_low","bars":5001}}`,
		"member over no bars":               `{"condition":{"type":"all","conditions":[` + rsi + `,{"type":"new_low"}]}}`,
		"all of nothing":                    `{"condition":{"type":"all","conditions":[]}}`,
		"all of nine":                       `{"condition":{"type":"any","conditions":[` + rsi + `,` + rsi + `,` + rsi + `,` + rsi + `,` + rsi + `,` + rsi + `,` + rsi + `,` + rsi + `,` + rsi + `]}}`,
		"all in all":                        `{"condition":{"type":"all","conditions":[` + rsi + `,{"type":"all","conditions":[` + rsi + `,` + rsi + `]}]}}`,
		"crossing of the price in all":      `{"condition":{"type":"all","conditions":[` + rsi + `,{"type":"price_crosses","threshold":5}]}}`,
		"unknown operator":                  `{"condition":{"type":"value","indicator":"rsi","line":"RSI","op":"=","value":30}}`,
		"unknown price":                     `{"condition":{"type":"value","price":"mid","op":"<","value":30}}`,
		"unknown price on the right":        `{"condition":{"type":"value","price":"close","op":"<","value":"mid"}}`,
		"unknown line":                      `{"condition":{"type":"value","indicator":"rsi","line":"X","op":"<","value":30}}`,
		"unknown indicator":                 `{"condition":{"type":"value","indicator":"nope","line":"X","op":"<","value":30}}`,
		"unknown signal":                    `{"condition":{"type":"indicator_signal","indicator":{"name":"rsi","length":7},"signal":"nope"}}`,
		"infinite number":                   `{"condition":{"type":"value","indicator":"rsi","line":"RSI","op":"<","value":1e400}}`,
		"infinite end of a range":           `{"condition":{"type":"value","indicator":"rsi","line":"RSI","op":"enters","value":[0,1e400]}}`,
		"empty range":                       `{"condition":{"type":"value","indicator":"rsi","line":"RSI","op":"enters","value":[70,30]}}`,
		"negative cooldown":                 `{"condition":` + rsi + `,"max_fires":5,"cooldown":-1}`,
		"more firings than are allowed":     `{"condition":` + rsi + `,"max_fires":1001}`,
		"negative firings":                  `{"condition":` + rsi + `,"max_fires":-1}`,
		"member on shorter bars":            `{"condition":{"type":"all","conditions":[` + rsi + `,{"type":"new_low","bars":3,"interval":"1m"}]}}`,
		"members on four intervals":         `{"condition":{"type":"all","conditions":[{"type":"new_low","bars":3,"interval":"1d"},{"type":"new_low","bars":3,"interval":"1w"},{"type":"new_low","bars":3,"interval":"1M"},` + rsi + `]}}`,
		"tick on a compound":                `{"condition":{"type":"all","conditions":[` + rsi + `,` + rsi + `]},"on":"tick"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := price(alert.PriceAbove, "5")
			a.Interval = market.Hour1
			if err := a.SetRule(rule); err != nil {
				return // the store reports it
			}
			b := alert.NewIndex()
			if err := b.Add(a); err == nil {
				t.Errorf("Add accepts %+v", a.Condition)
			}
			if err := b.Add(onLine(t, "rsi", "")); err != nil {
				t.Errorf("another alert: %v", err)
			}
		})
	}
}
