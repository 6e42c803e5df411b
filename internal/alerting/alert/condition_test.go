package alert_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/alerting/alert"
	"candela/lib/fault"
	"candela/lib/market"
	"candela/lib/ta"
)

func dec(text string) decimal.Decimal { return decimal.RequireFromString(text) }

// rsiBelow is RSI of a length below a number.
func rsiBelow(params, limit string) alert.Condition {
	return alert.Condition{
		Type: alert.Value, Op: alert.Less,
		Left: alert.Operand{Indicator: "rsi", Params: params}, Right: alert.Operand{Number: dec(limit)},
	}
}

// on is a member of a compound condition on bars of its own.
func on(i market.Interval, c alert.Condition) alert.Condition {
	c.Interval = i
	return c
}

// kinds has an alert of every type, with the sentence that explains it.
func kinds() map[string]alert.Alert {
	price := func(t alert.Type) alert.Alert {
		return alert.Alert{Condition: alert.Condition{Type: t, Threshold: dec("70000.50")}}
	}
	bar := func(c alert.Condition) alert.Alert { return alert.Alert{Interval: market.Hour1, Condition: c} }
	closes := func(op alert.Op, right alert.Operand) alert.Condition {
		return alert.Condition{Type: alert.Value, Left: alert.Operand{Price: "close"}, Op: op, Right: right}
	}
	signal := alert.Condition{Type: alert.IndicatorSignal, Indicator: "wavetrend", Signal: "cross_up"}
	repeating := bar(rsiBelow("", "30"))
	repeating.Repeat = alert.Repeat{MaxFires: 10, Cooldown: time.Hour}
	ticking := bar(rsiBelow(`{"length":7}`, "30"))
	ticking.OnTick = true
	daily := alert.Condition{Type: alert.NewHigh, Bars: 20, Interval: market.Day1}
	return map[string]alert.Alert{
		"BTCUSDT on 1h: RSI(14) closes below 30 and RSI(14) on 4h closes below 50 and the high on 1d is above those of the 20 bars before": bar(alert.Condition{
			Type: alert.All, Members: []alert.Condition{rsiBelow(`{"interval":"1h"}`, "30"), rsiBelow(`{"interval":"4h"}`, "50"), daily},
		}),
		"BTCUSDT trades at or above 70000.5": price(alert.PriceAbove),
		"BTCUSDT trades at or below 70000.5": price(alert.PriceBelow),
		"BTCUSDT crosses 70000.5":            price(alert.PriceCrosses),
		"WaveTrend(9, 12) of BTCUSDT on 1h signals cross_up (WT1 goes from at or below WT2 to above it while WT2 is above oversold)": bar(signal),
		"RSI(14) of BTCUSDT on 1h closes below 30":                                           bar(rsiBelow("", "30")),
		"RSI(7) of BTCUSDT on 1h goes below 30":                                              ticking,
		"RSI(14) of BTCUSDT on 1h closes below 30; repeats at most every 1h, up to 10 times": repeating,
		"the close of BTCUSDT on 1h crosses above RSI(14)":                                   bar(closes(alert.CrossesAbove, alert.Operand{Indicator: "RSI"})),
		"the close of BTCUSDT on 1h is at or above the open":                                 bar(closes(alert.GreaterEqual, alert.Operand{Price: "open"})),
		"Signal of MACD(12, 26, 9) of BTCUSDT on 1h closes above MACD of MACD(12, 26, 9)": bar(alert.Condition{
			Type: alert.Value, Left: alert.Operand{Indicator: "macd", Line: "signal"}, Op: alert.Greater, Right: alert.Operand{Indicator: "macd", Line: "macd"},
		}),
		"RSI(14) of BTCUSDT on 1h enters the range from 40 to 60": bar(alert.Condition{
			Type: alert.Value, Left: alert.Operand{Indicator: "rsi"}, Op: alert.Enters, Low: dec("40"), High: dec("60.0"),
		}),
		"the change over 24 bars of BTCUSDT on 1h is at or above 5 %":                                                                                         bar(alert.Condition{Type: alert.PercentChange, Bars: 24, Op: alert.GreaterEqual, Threshold: dec("5")}),
		"the high of BTCUSDT on 1h is above those of the 20 bars before":                                                                                      bar(alert.Condition{Type: alert.NewHigh, Bars: 20}),
		"the low of BTCUSDT on 1h is below that of the bar before":                                                                                            bar(alert.Condition{Type: alert.NewLow, Bars: 1}),
		"BTCUSDT on 1h: RSI(14) closes below 30 and the close is at or above 70000.5":                                                                         bar(alert.Condition{Type: alert.All, Members: []alert.Condition{rsiBelow("", "30"), price(alert.PriceAbove).Condition}}),
		"BTCUSDT on 1h: WaveTrend(9, 12) signals cross_up (WT1 goes from at or below WT2 to above it while WT2 is above oversold) or RSI(14) closes below 30": bar(alert.Condition{Type: alert.Any, Members: []alert.Condition{signal, rsiBelow("", "30")}}),
	}
}

// TestDescribe_SaysWhenASignalFires holds that a name that may be misread is explained, and that alerts on one script with
// other inputs read differently.
func TestDescribe_SaysWhenASignalFires(t *testing.T) {
	t.Parallel()
	on := func(indicator, params, signal string) string {
		a := alert.Alert{Symbol: market.Symbol{Name: "BTCUSDT"}, Interval: market.Hour1, Condition: alert.Condition{Type: alert.IndicatorSignal, Indicator: indicator, Params: params, Signal: signal}}
		return a.Describe()
	}
	for got, want := range map[string]string{
		on("rsi", "", "rsi_oversold"):                          "RSI(14) of BTCUSDT on 1h signals rsi_oversold (RSI comes back from below oversold: the bar before was below it, this one is not)",
		on("mine@95da", "", "over"):                            "the script mine of BTCUSDT on 1h signals over",
		on("mine@95da", `{"length":21}`, "over"):               "the script mine(length 21) of BTCUSDT on 1h signals over",
		on("mine@95da", `{"length":9,"source":"hl2"}`, "over"): `the script mine(length 9, source "hl2") of BTCUSDT on 1h signals over`,
	} {
		if got != want {
			t.Errorf("described as %q, want %q", got, want)
		}
	}
}

func TestDescribe_ExplainsEveryKind(t *testing.T) {
	t.Parallel()
	seen := make(map[alert.Type]bool)
	for want, a := range kinds() {
		a.Symbol = market.Symbol{Name: "BTCUSDT"}
		if err := a.Normalize(ta.Library{}); err != nil {
			t.Errorf("%s: %v", want, err)
			continue
		}
		if got := a.Describe(); got != want {
			t.Errorf("described as %q, want %q", got, want)
		}
		seen[a.Condition.Type] = true
	}
	if len(seen) != len(alert.Names()) {
		t.Errorf("%d of %d types are tested", len(seen), len(alert.Names()))
	}
}

func TestCondition_ReadsWhatItWrites(t *testing.T) {
	t.Parallel()
	for name, a := range kinds() {
		if err := a.Normalize(ta.Library{}); err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(a.Condition)
		if err != nil {
			t.Fatal(err)
		}
		var got alert.Condition
		if err := json.Unmarshal(data, &got); err != nil {
			t.Fatalf("%s: %s: %v", name, data, err)
		}
		again, _ := json.Marshal(got)
		if string(again) != string(data) || got.Key() != a.Condition.Key() || got.Type != a.Condition.Type {
			t.Errorf("%s: wrote %s, read %s", name, data, again)
		}
		if fields := a.Condition.AppendFields(nil); !json.Valid(fields) {
			t.Errorf("%s: %s is no JSON", name, fields)
		}
	}
}

func TestKey_IsEqualForEqualConditions(t *testing.T) {
	t.Parallel()
	same := [][]alert.Condition{
		{rsiBelow("", "30"), rsiBelow(`{"length":14}`, "30.00"), rsiBelow(`{ "period" : 14 }`, "3e1")},
		{
			{Type: alert.All, Members: []alert.Condition{rsiBelow("", "30"), {Type: alert.NewHigh, Bars: 3}}},
			{Type: alert.All, Members: []alert.Condition{{Type: alert.NewHigh, Bars: 3}, rsiBelow("", "30")}},
		},
	}
	for _, group := range same {
		keys := make(map[string]bool)
		for _, c := range group {
			a := alert.Alert{Interval: market.Hour1, Condition: c}
			if err := a.Normalize(ta.Library{}); err != nil {
				t.Fatal(err)
			}
			keys[a.Condition.Key()] = true
		}
		if len(keys) != 1 {
			t.Errorf("equal conditions have the keys %v", keys)
		}
	}
	if a, b := rsiBelow(`{"length":7}`, "30"), rsiBelow("", "30"); a.Key() == b.Key() {
		t.Error("RSI of 7 and 14 bars have one key")
	}
}

func TestNormalize_RefusesWhatCannotBe(t *testing.T) {
	t.Parallel()
	value := func(change func(*alert.Condition)) alert.Alert {
		a := alert.Alert{Interval: market.Hour1, Condition: rsiBelow("", "30")}
		change(&a.Condition)
		return a
	}
	members := func(all ...alert.Condition) alert.Alert {
		return alert.Alert{Interval: market.Hour1, Condition: alert.Condition{Type: alert.All, Members: all}}
	}
	other := alert.Condition{Type: alert.NewHigh, Bars: 3}
	for name, c := range map[string]struct {
		alert alert.Alert
		field string
	}{
		"no operator":                    {value(func(c *alert.Condition) { c.Op = 0 }), "condition.value.op"},
		"no left side":                   {value(func(c *alert.Condition) { c.Left = alert.Operand{} }), "condition.value.indicator"},
		"an unknown line":                {value(func(c *alert.Condition) { c.Left.Line = "Signal" }), "condition.value.line"},
		"one of several lines":           {value(func(c *alert.Condition) { c.Left.Indicator = "macd" }), "condition.value.line"},
		"an unknown price":               {value(func(c *alert.Condition) { c.Right = alert.Operand{Price: "bid"} }), "condition.value.value.price"},
		"both sides the same":            {value(func(c *alert.Condition) { c.Right = c.Left }), "condition.value.value"},
		"a range upside down":            {value(func(c *alert.Condition) { c.Op, c.Low, c.High = alert.Enters, dec("60"), dec("40") }), "condition.value.value"},
		"an indicator without bars":      {value(func(c *alert.Condition) { c.Left.Indicator = "funding" }), "condition.value.indicator"},
		"an indicator of all bars":       {value(func(c *alert.Condition) { c.Left.Indicator = "session_vp" }), "condition.value.indicator"},
		"bars of another symbol":         {value(func(c *alert.Condition) { c.Left.Indicator = "correlation" }), "condition.value.indicator"},
		"another symbol":                 {value(func(c *alert.Condition) { c.Left.Params = `{"symbol":"ETHUSDT"}` }), "condition.value.indicator.symbol"},
		"another interval":               {value(func(c *alert.Condition) { c.Left.Params = `{"interval":"1d"}` }), "condition.value.indicator.interval"},
		"no bars":                        {alert.Alert{Interval: market.Hour1, Condition: alert.Condition{Type: alert.NewHigh}}, "condition.new_high.bars"},
		"an operator without a range":    {alert.Alert{Interval: market.Hour1, Condition: alert.Condition{Type: alert.PercentChange, Bars: 3, Op: alert.Enters}}, "condition.percent_change.op"},
		"a single member":                {members(other), "condition.all"},
		"nine members":                   {members(other, other, other, other, other, other, other, other, other), "condition.all"},
		"a compound member":              {members(other, members(other, other).Condition), "condition.all[1].all"},
		"a trade as member":              {members(other, alert.Condition{Type: alert.PriceCrosses}), "condition.all[1]"},
		"two intervals in one member":    {members(other, alert.Condition{Type: alert.Value, Left: alert.Operand{Indicator: "rsi", Params: `{"interval":"4h"}`}, Op: alert.Less, Right: alert.Operand{Indicator: "sma", Params: `{"interval":"1d"}`}}), "condition.all[1].value.value.indicator.interval"},
		"no multiple of the shortest":    {alert.Alert{Interval: market.Hour4, Condition: members(other, on(market.Hour6, other)).Condition}, "interval"},
		"four intervals":                 {members(other, on(market.Hour4, other), on(market.Day1, other), on(market.Week1, other)), "condition"},
		"an interval for a price":        {alert.Alert{Interval: market.Hour1, Condition: alert.Condition{Type: alert.PriceCrosses}}, "interval"},
		"no interval":                    {alert.Alert{Condition: other}, "interval"},
		"ticks for a new high":           {alert.Alert{Interval: market.Hour1, Condition: other, OnTick: true}, "on"},
		"a cooldown without repetition":  {alert.Alert{Interval: market.Hour1, Condition: other, Repeat: alert.Repeat{Cooldown: time.Hour}}, "cooldown"},
		"a price every second":           {alert.Alert{Condition: alert.Condition{Type: alert.PriceAbove}, Repeat: alert.Repeat{MaxFires: 2, Cooldown: time.Second}}, "cooldown"},
		"more firings than there may be": {alert.Alert{Interval: market.Hour1, Condition: other, Repeat: alert.Repeat{MaxFires: 1001}}, "max_fires"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refused(t, c.alert, c.field)
		})
	}
}

func refused(t *testing.T, a alert.Alert, field string) {
	t.Helper()
	err := a.Normalize(ta.Library{})
	if err == nil {
		t.Fatal("accepted")
	}
	if got := fieldOf(err); got != field {
		t.Errorf("error about %q, want %q: %v", got, field, err)
	}
}

func TestNormalize_TakesTheIntervalOfAnIndicator(t *testing.T) {
	t.Parallel()
	a := alert.Alert{Condition: rsiBelow(`{"interval":"1d","length":14}`, "30")}
	if err := a.Normalize(ta.Library{}); err != nil || a.Interval != market.Day1 || a.Condition.Left.Params != "" {
		t.Errorf("got %v %+v, error %v", a.Interval, a.Condition.Left, err)
	}
	before := a
	if err := a.Normalize(ta.Library{}); err != nil || !reflect.DeepEqual(a, before) {
		t.Errorf("normalized twice: %+v, error %v", a, err)
	}
	if !strings.Contains(a.Describe(), "on 1d") {
		t.Error(a.Describe())
	}
}

// TestNormalize_TheShortestIntervalIsTheAlerts holds that the interval of the alert is that of members
// without one, and that the alert then has the shortest of all, however a client wrote it.
func TestNormalize_TheShortestIntervalIsTheAlerts(t *testing.T) {
	t.Parallel()
	high := alert.Condition{Type: alert.NewHigh, Bars: 3}
	for name, c := range map[string]struct {
		given   market.Interval
		members []alert.Condition
		want    market.Interval
		of      []market.Interval
	}{
		"none named":                {market.Hour1, []alert.Condition{high, rsiBelow("", "30")}, market.Hour1, []market.Interval{0, 0}},
		"all named":                 {0, []alert.Condition{on(market.Hour4, high), rsiBelow(`{"interval":"1h"}`, "30")}, market.Hour1, []market.Interval{market.Hour4, 0}},
		"a longer one":              {market.Hour1, []alert.Condition{high, rsiBelow(`{"interval":"1d"}`, "30")}, market.Hour1, []market.Interval{0, market.Day1}},
		"a shorter one":             {market.Day1, []alert.Condition{high, rsiBelow(`{"interval":"1h"}`, "30")}, market.Hour1, []market.Interval{market.Day1, 0}},
		"the same":                  {market.Hour1, []alert.Condition{on(market.Hour1, high), high}, market.Hour1, []market.Interval{0, 0}},
		"three":                     {market.Day1, []alert.Condition{on(market.Hour4, high), high, on(market.Month1, high)}, market.Hour4, []market.Interval{0, market.Day1, market.Month1}},
		"shorter than every member": {market.Minute5, []alert.Condition{on(market.Hour4, high), on(market.Hour4, rsiBelow("", "30"))}, market.Minute5, []market.Interval{market.Hour4, market.Hour4}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := alert.Alert{Interval: c.given, Condition: alert.Condition{Type: alert.All, Members: c.members}}
			for range 2 { // the second time changes nothing
				if err := a.Normalize(ta.Library{}); err != nil {
					t.Fatal(err)
				}
				if a.Interval != c.want {
					t.Errorf("on %s, want %s", a.Interval, c.want)
				}
				for i, want := range c.of {
					if got := a.Condition.Members[i].Interval; got != want {
						t.Errorf("member %d on %d, want %d", i, got, want)
					}
				}
			}
		})
	}
	alone := alert.Alert{Condition: alert.Condition{Type: alert.Any, Members: []alert.Condition{high, on(market.Hour4, high)}}}
	refused(t, alone, "interval")
}

func fieldOf(err error) string {
	if f := fault.Of(err); f != nil {
		return f.Field
	}
	return err.Error()
}
