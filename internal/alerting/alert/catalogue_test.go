package alert_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"testing"
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/kit/id"
	"candela/lib/market"
	"candela/lib/ta"
)

// restless are bars that trend, turn, jump and rest, so that rare signals come too.
func restless(n int) *market.Bars {
	random := rand.New(rand.NewPCG(1, 2))
	bars := market.MakeBars(n, false)
	price, drift, wild := 1000.0, 0.0, 0.01
	for i := range n {
		if random.IntN(40) == 0 {
			drift, wild = random.NormFloat64()*0.004, 0.002+0.02*random.Float64()
		}
		if random.IntN(50) == 0 { // the market opens elsewhere
			price *= 1 + 0.2*(random.Float64()-0.5)
		}
		open := price
		price *= math.Exp(drift + wild*random.NormFloat64() - 0.01*math.Log(price/1000))
		high, low := max(open, price)*(1+wild*random.Float64()), min(open, price)*(1-wild*random.Float64())
		bars.Append(market.Bar{T: int64(i) * 3600, O: open, H: high, L: low, C: price, V: 1 + 100*random.Float64()})
	}
	return &bars
}

// TestCatalogue_EverySignalThatCanBeSetFires sets an alert on each signal of each
// indicator and replays bars until it has fired. A signal that no bars raise has to
// be refused instead: rsi_bull_div could once be set and never came.
func TestCatalogue_EverySignalThatCanBeSetFires(t *testing.T) {
	t.Parallel()
	bars, candles := restless(30_000), madeCandles(t)
	set := 0
	for _, def := range ta.All() {
		for _, label := range def.Labels() {
			index := alert.NewIndex()
			a := waiting(def.Name, label)
			if err := index.Add(a); err != nil {
				t.Errorf("%s %s is catalogued and refused: %v", def.Name, label, err)
				continue
			}
			set++
			played := bars
			if def.Name == "candles" { // many patterns are too rare for random bars
				played = candles
			}
			if !replay(t, index, a, played) {
				t.Errorf("%s %s can be set and never fires", def.Name, label)
			}
		}
	}
	if set < 60 {
		t.Errorf("%d signals were tried; the catalogue has more", set)
	}
}

// madeCandles are bars that have every candle pattern.
func madeCandles(t *testing.T) *market.Bars {
	t.Helper()
	raw, err := os.ReadFile("../../../lib/ta/candle/testdata/made.json")
	if err != nil {
		t.Fatal(err)
	}
	var made struct {
		Sequences []struct{ Bars [][4]float64 }
	}
	if err := json.Unmarshal(raw, &made); err != nil {
		t.Fatal(err)
	}
	bars := market.MakeBars(0, false)
	for _, s := range made.Sequences {
		for _, b := range s.Bars {
			bars.Append(market.Bar{T: int64(bars.Len()) * 3600, O: b[0], H: b[1], L: b[2], C: b[3], V: 1})
		}
	}
	return &bars
}

func waiting(name, label string) alert.Alert {
	s := market.Symbol{Venue: "binance", Name: "BTCUSDT"}
	return alert.Alert{
		ID: id.New(time.Unix(0, 0)), Owner: "owner", Symbol: s, Instrument: s, Interval: market.Hour1,
		Condition: alert.Condition{Type: alert.IndicatorSignal, Indicator: name, Signal: label}, Created: time.Unix(0, 0),
	}
}

// replay fires the signals of the selections that the index depends on, bar by
// bar as the engine does, until the alert has fired.
func replay(t *testing.T, index *alert.Index, a alert.Alert, bars *market.Bars) bool {
	t.Helper()
	for g := range index.Groups(a.Dependency()) {
		for _, s := range signalsOf(g.Selection, a.Interval, bars) {
			closed := time.Unix(bars.T[s.Confirmed]+a.Interval.Seconds(), 0)
			if fired := index.FireSignal(nil, a.Dependency(), g.Key, ta.Signal{Label: s.Label, Y: s.Y}, closed, false); len(fired) == 1 {
				return fired[0].ID == a.ID && reflect.DeepEqual(fired[0].Condition, a.Condition)
			}
		}
	}
	return false
}

// signalsOf streams the bars, or computes them at once where the indicator has no
// stream, and returns the signals in the order in which bars confirmed them.
func signalsOf(s *ta.Selection, i market.Interval, bars *market.Bars) []ta.Signal {
	env := ta.Env{Interval: i}
	stream := s.Stream(env)
	if stream == nil {
		all := s.Compute(ta.Input{Env: env, Bars: bars}).Signals
		slices.SortStableFunc(all, func(x, y ta.Signal) int { return x.Confirmed - y.Confirmed })
		return all
	}
	var all []ta.Signal
	for k := range bars.Len() {
		all = append(all, stream.Step(bars.At(k)).Signals...)
	}
	return all
}
