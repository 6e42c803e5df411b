package tool_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"candela/internal/data/marketdata"
	"candela/lib/fault"
	"candela/lib/market"
)

// nested is a venue whose hours are made of bars of five minutes: the price rises to the high of
// an hour first and falls to its low then, which no hour shows. It has the newest 500 hours.
type nested struct{ without bool } // without bars of five minutes

func (v nested) Bars(_ context.Context, want marketdata.Request) (marketdata.BarSet, error) {
	const end, hour = 1735689600, 3600
	set := marketdata.BarSet{Symbol: want.Symbol, Instrument: want.Symbol, Provider: "nested"}
	if v.without && want.Interval == market.Minute5 {
		return set, fault.New(fault.Unsupported, "no_bars", "there are no bars of 5m")
	}
	for k := range 500 {
		t, last := int64(end-(500-k)*hour), 100+float64(k%2)/2
		if want.Interval == market.Hour1 {
			set.Bars.Append(market.Bar{T: t, O: 100, H: 106, L: 95, C: last, V: 1}) // nearer to the low
			continue
		}
		for m := range 12 {
			b := market.Bar{T: t + int64(m)*300, O: 100, H: 100, L: 100, C: 100, V: 1}
			switch m {
			case 3:
				b.H = 106
			case 6:
				b.L = 95
			case 11:
				b.H, b.C = last, last
			}
			set.Bars.Append(b)
		}
	}
	set.Bars = set.Bars.Tail(want.Bars + want.Warmup)
	return set, nil
}

// Orders fill along shorter bars where the call asks for them or a script declares it.
func TestRunBacktest_Magnifies(t *testing.T) {
	t.Parallel()
	const (
		rules  = `"long":{"enter":{"value":{"price":"close","op":">","value":100.2}},"stop_pct":4,"target_pct":5},"fee_bps":0,"slip_bps":0`
		script = `"script":"//@version=6\nstrategy(\"x\", use_bar_magnifier=true)\nstrategy.entry(\"L\", strategy.long, qty=1)\nstrategy.exit(\"X\", \"L\", limit=105, stop=96)"`
	)
	for name, c := range map[string]struct {
		arguments, magnified, flag string
		net                        bool // the target is met first
		without                    bool
	}{
		"plain":       {arguments: `"interval":"1h",` + rules},
		"rules":       {arguments: `"interval":"1h","magnify":"5m",` + rules, magnified: "200 of 200 bars by 5m", net: true},
		"script":      {arguments: `"interval":"1h",` + script, magnified: "200 of 200 bars by 5m", net: true},
		"not at hand": {arguments: `"interval":"1h",` + script, magnified: "not: there are no bars of 5m", flag: "ignores_use_bar_magnifier", without: true},
	} {
		var got struct {
			Result  struct{ Net float64 }
			Honesty struct{ Flags []string }
			Data    struct{ Magnified string }
		}
		text := call(t, scanning(t, nested{c.without}), "run_backtest", `{"symbol":"BTCUSDT","bars":200,`+c.arguments+`}`).Content[0].Text
		if err := json.Unmarshal(text, &got); err != nil || got.Data.Magnified != c.magnified || got.Result.Net > 0 != c.net {
			t.Errorf("%s: %v %s", name, err, text)
		}
		if c.flag != "" != slices.Contains(got.Honesty.Flags, "ignores_use_bar_magnifier") {
			t.Errorf("%s: flags %v", name, got.Honesty.Flags)
		}
	}
}

func TestRunBacktest_RefusesMagnifiers(t *testing.T) {
	t.Parallel()
	const rules = `"long":{"enter":{"value":{"price":"close","op":">","value":1}},"stop_pct":4}`
	for arguments, want := range map[string]string{
		`"interval":"1h","magnify":"1h",` + rules:                                                             "a shorter interval that divides 1h, such as 5m",
		`"interval":"5m","magnify":"3m",` + rules:                                                             "such as 1m",
		`"interval":"1m","magnify":"1m",` + rules:                                                             "no venue has bars shorter than 1m",
		`"interval":"1h","magnify":"five",` + rules:                                                           "magnify",
		`"interval":"1h","magnify":5,` + rules:                                                                "magnify",
		`"interval":"1h","magnify":"5m","fill_model":"paper",` + rules:                                        "the fill model pine",
		`"interval":"1h","magnify":"5m",` + strings.Replace(rules, "1}", `"$x"}`, 1) + `,"sweep":{"x":[1,2]}`: "no bars of 5m",
	} {
		result := call(t, scanning(t, nested{without: true}), "run_backtest", `{"symbol":"BTCUSDT","bars":200,`+arguments+`}`)
		if text := string(result.Content[0].Text); !result.IsError || !strings.Contains(text, want) {
			t.Errorf("%s: %s", arguments, text)
		}
	}
}
