package engine_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/alerting/alert"
	"candela/internal/testkit/longtest"
	"candela/lib/market"
	"candela/lib/ta"
)

// everyCondition has a condition of every kind on minutes of BTC, by what it is.
func everyCondition() map[string]alert.Condition {
	rsi := alert.Operand{Indicator: "rsi", Params: `{"length":7}`}
	number := func(x float64) alert.Operand { return alert.Operand{Number: decimal.NewFromFloat(x)} }
	value := func(left alert.Operand, op alert.Op, right alert.Operand) alert.Condition {
		return alert.Condition{Type: alert.Value, Left: left, Op: op, Right: right}
	}
	macd := alert.Operand{Indicator: "macd", Line: "MACD"}
	below := value(rsi, alert.Less, number(40))
	cross := alert.Condition{Type: alert.IndicatorSignal, Indicator: "macd", Signal: "cross_up"}
	ranged := func(op alert.Op) alert.Condition {
		return alert.Condition{Type: alert.Value, Left: rsi, Op: op, Low: decimal.NewFromInt(40), High: decimal.NewFromInt(60)}
	}
	all := map[string]alert.Condition{
		"percent change": {Type: alert.PercentChange, Bars: 5, Op: alert.GreaterEqual, Threshold: decimal.NewFromFloat(0.3)},
		"new high":       {Type: alert.NewHigh, Bars: 20},
		"new low":        {Type: alert.NewLow, Bars: 20},
		"signal":         cross,
		"signal of 7":    {Type: alert.IndicatorSignal, Indicator: "rsi", Params: `{"length":7}`, Signal: "rsi_oversold"},
		"line and line":  value(macd, alert.CrossesAbove, alert.Operand{Indicator: "macd", Line: "Signal"}),
		"close and line": value(alert.Operand{Price: "close"}, alert.Greater, alert.Operand{Indicator: "vwap"}),
		"close":          value(alert.Operand{Price: "close"}, alert.GreaterEqual, number(1000)),
		"all":            {Type: alert.All, Members: []alert.Condition{below, {Type: alert.NewLow, Bars: 5}}},
		"any":            {Type: alert.Any, Members: []alert.Condition{below, cross, {Type: alert.PriceAbove, Threshold: decimal.NewFromInt(1040)}}},
		"all of 5m":      {Type: alert.All, Members: []alert.Condition{below, on(market.Minute5, value(rsi, alert.Less, number(45)))}},
		"any of 5m":      {Type: alert.Any, Members: []alert.Condition{below, on(market.Minute5, cross), on(market.Minute5, alert.Condition{Type: alert.NewHigh, Bars: 5})}},
		"all of 5m, 1h":  {Type: alert.All, Members: []alert.Condition{{Type: alert.NewLow, Bars: 5}, on(market.Minute5, value(macd, alert.Less, number(0))), on(market.Hour1, value(alert.Operand{Price: "close"}, alert.Greater, number(980)))}},
		"enters":         ranged(alert.Enters),
		"leaves":         ranged(alert.Leaves),
	}
	for op := alert.Less; op <= alert.CrossesBelow; op++ {
		all["rsi "+op.String()] = value(rsi, op, number(45))
	}
	return all
}

// on is a member of a compound condition on longer bars.
func on(i market.Interval, c alert.Condition) alert.Condition {
	c.Interval = i
	return c
}

// record is a firing as it must be the same with and without trouble.
func (f *firing) record(what string) string {
	return fmt.Sprintf("%s #%d at %s: %v", what, f.Fire, f.Triggered.UTC().Format(time.TimeOnly), f.Value)
}

// setConditions sets each condition once to fire once and once to repeat.
func (s *scene) setConditions() (names map[string]string) {
	s.t.Helper()
	names = make(map[string]string)
	kinds := everyCondition()
	for i, what := range slices.Sorted(maps.Keys(kinds)) {
		a := alert.Alert{Symbol: symbol("BTC"), Interval: market.Minute1, Condition: kinds[what]}
		names[s.set(a).ID] = what
		a.Repeat = alert.Repeat{MaxFires: 30, Cooldown: time.Duration(i%4) * time.Minute}
		names[s.set(a).ID] = what + " again"
	}
	return names
}

// replay returns what fired in some hours, in which a seed other than 0 makes trouble.
func replay(t *testing.T, seed uint64, span time.Duration) (records []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, waves)
		defer func() { s.stop() }()
		names := s.setConditions()
		chance := rand.New(rand.NewPCG(seed, 1))
		for end := time.Now().Add(span); time.Now().Before(end); {
			if seed == 0 {
				time.Sleep(time.Until(end))
				break
			}
			time.Sleep(min(time.Until(end), time.Duration(chance.IntN(600))*time.Second))
			s.trouble(chance)
		}
		time.Sleep(20 * time.Minute) // for what waits to be read
		for _, f := range s.fired() {
			if f.Triggered.Before(monday.Add(span)) {
				records = append(records, f.record(names[f.AlertID]))
			}
		}
	})
	slices.Sort(records)
	return records
}

// trouble is a restart, a handover, an outage of the venue or of the store.
func (s *scene) trouble(chance *rand.Rand) {
	away := time.Duration(chance.IntN(400)) * time.Second
	switch chance.IntN(4) {
	case 0:
		s.stop()
		time.Sleep(away)
		s.start()
	case 1:
		s.abandon(none)
		time.Sleep(away)
		s.adopt(all)
	case 2:
		s.venue.setDown(true)
		time.Sleep(away)
		s.venue.setDown(false)
	default:
		s.store.refuse(errors.New("disk full"))
		time.Sleep(away)
		if chance.IntN(2) == 0 {
			s.abandon(none)
			s.store.refuse(nil)
			s.adopt(all)
		}
		s.store.refuse(nil)
	}
}

// TestConditions_FireWhatAQuietEngineFires has every kind of condition fire in a replay,
// and fire the same with restarts, handovers and outages: each firing once.
func TestConditions_FireWhatAQuietEngineFires(t *testing.T) {
	t.Parallel()
	span := 3 * time.Hour
	if raced {
		span = 40 * time.Minute
	}
	alone := replay(t, 0, span)
	if twice := slices.Compact(slices.Clone(alone)); len(twice) != len(alone) {
		t.Error("a firing came twice")
	}
	for what := range everyCondition() {
		for _, name := range []string{what, what + " again"} {
			if !slices.ContainsFunc(alone, func(r string) bool { return strings.HasPrefix(r, name+" #") }) && !raced {
				t.Errorf("%s never fired", name)
			}
		}
	}
	t.Logf("%d firings of %d conditions", len(alone), len(everyCondition()))
	for n := range longtest.Pick[uint64](3, 12) {
		seed := longtest.Seed() + n
		if seed == 0 {
			continue // that is the engine that was left alone
		}
		got := replay(t, seed, span)
		if !slices.Equal(got, alone) {
			t.Errorf("seed %d: %d firings, %d at a quiet engine; %s", seed, len(got), len(alone), firstDifference(got, alone))
		}
	}
}

func firstDifference(got, want []string) string {
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			return fmt.Sprintf("%q instead of %q", got[i], want[i])
		}
	}
	return "one has more"
}

// TestConditions_RSIFiresWhereTheChartSays computes RSI over all bars and compares.
func TestConditions_RSIFiresWhereTheChartSays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, waves)
		defer s.stop()
		a := alert.Alert{Symbol: symbol("BTC"), Interval: market.Minute1, Condition: everyCondition()["rsi <"], Repeat: alert.Repeat{MaxFires: 1000}}
		set := s.set(a)
		time.Sleep(2 * time.Hour)
		selection, err := ta.Resolve(ta.Request{Name: "rsi", Params: map[string]json.RawMessage{"length": json.RawMessage("7")}})
		if err != nil {
			t.Fatal(err)
		}
		bars := market.MakeBars(3000, true)
		for open := set.Created.Unix()/60*60 - 60*2000; open+60 <= time.Now().Unix(); open += 60 {
			bars.Append(s.venue.closed(symbol("BTC"), market.Minute1, open))
		}
		line := selection.Compute(ta.Input{Env: ta.Env{Interval: market.Minute1}, Bars: &bars}).Lines[0].Values
		var want []time.Time
		for i := range line {
			if closed := time.Unix(bars.T[i]+60, 0); closed.After(set.Created) && line[i] < 45 && (len(want) == 0 || line[i-1] >= 45) {
				want = append(want, closed.UTC())
			}
		}
		var got []time.Time
		for _, f := range s.fired() {
			got = append(got, f.Triggered.UTC())
		}
		if !slices.Equal(got, want) || len(got) < 5 {
			t.Errorf("fired at %v, the chart says %v", got, want)
		}
	})
}

// TestPrice_RepeatsAfterTheOtherSide holds prices that repeat against every tick.
func TestPrice_RepeatsAfterTheOtherSide(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kind  alert.Type
		beyon func(price float64) bool
	}{
		"above":   {alert.PriceAbove, func(p float64) bool { return p >= 1000 }},
		"below":   {alert.PriceBelow, func(p float64) bool { return p <= 1000 }},
		"crosses": {alert.PriceCrosses, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { repeatPrice(t, c.kind, c.beyon) })
		})
	}
}

func repeatPrice(t *testing.T, kind alert.Type, beyond func(float64) bool) {
	t.Helper()
	s := newScene(t, waves)
	defer s.stop()
	a := above("BTC", 1000)
	a.Condition.Type, a.Repeat = kind, alert.Repeat{MaxFires: 500, Cooldown: 2 * time.Minute}
	set := s.set(a)
	time.Sleep(6 * time.Hour)
	var want []time.Time
	first := set.Created.Unix() / tickEvery * tickEvery
	armed, side := true, s.venue.wave(symbol("BTC"), first) > 1000
	for tick := first; tick <= time.Now().Unix(); tick += tickEvery {
		price, at := s.venue.wave(symbol("BTC"), tick), time.Unix(max(tick, set.Created.Unix()), 0).UTC()
		var came bool
		if kind == alert.PriceCrosses {
			came = price > 1000 && !side || price < 1000 && side
			side = side != came
		} else {
			came = armed && beyond(price)
			armed = !beyond(price)
		}
		if came && (len(want) == 0 || at.Sub(want[len(want)-1]) >= 2*time.Minute) {
			want = append(want, at)
		}
	}
	var got []time.Time
	for i, f := range s.fired() {
		if got = append(got, f.Triggered.UTC().Truncate(time.Second)); f.Fire != i+1 {
			t.Errorf("firing %d has number %d", i+1, f.Fire)
		}
	}
	if !slices.Equal(got, want) || len(got) < 4 {
		t.Errorf("fired %d times at %v, the ticks say %d times %v", len(got), got, len(want), want)
	}
}

// TestPrice_RepeatsThroughTrouble has each firing of a price once, in order and after its
// cooldown, with restarts and handovers.
func TestPrice_RepeatsThroughTrouble(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, waves)
		defer func() { s.stop() }()
		numbers, last := make(map[string]int), make(map[string]time.Time)
		for _, kind := range []alert.Type{alert.PriceAbove, alert.PriceBelow, alert.PriceCrosses} {
			a := above("BTC", 1000)
			a.Condition.Type, a.Repeat = kind, alert.Repeat{MaxFires: 500, Cooldown: 2 * time.Minute}
			numbers[s.set(a).ID] = 0
		}
		chance := rand.New(rand.NewPCG(longtest.Seed(), 1))
		for range 40 {
			time.Sleep(time.Duration(chance.IntN(900)) * time.Second)
			s.trouble(chance)
		}
		time.Sleep(20 * time.Minute)
		for _, f := range s.fired() {
			if f.Fire != numbers[f.AlertID]+1 || f.Triggered.Sub(last[f.AlertID]) < 2*time.Minute {
				t.Errorf("after number %d of %v came %+v", numbers[f.AlertID], last[f.AlertID], f)
			}
			numbers[f.AlertID], last[f.AlertID] = f.Fire, f.Triggered
		}
		for id, n := range numbers {
			if n < 4 {
				t.Errorf("%s fired %d times", id, n)
			}
		}
	})
}

// TestTick_FiresBeforeTheClose has a value fire while the bar forms, and once.
func TestTick_FiresBeforeTheClose(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, waves)
		defer func() { s.stop() }()
		a := alert.Alert{Symbol: symbol("BTC"), Interval: market.Minute5, Condition: everyCondition()["rsi crosses_below"], OnTick: true, Repeat: alert.Repeat{MaxFires: 100}}
		s.set(a)
		for range 5 {
			time.Sleep(time.Hour)
			s.stop()
			s.start()
		}
		early, last := 0, time.Time{}
		for i, f := range s.fired() {
			if f.Triggered.Unix()%300 != 0 {
				early++
			}
			if f.Fire != i+1 || f.Triggered.Sub(last) < alert.MinTickCooldown {
				t.Errorf("number %d %v after the last is %+v", i+1, f.Triggered.Sub(last), f)
			}
			last = f.Triggered
		}
		if early == 0 {
			t.Error("nothing fired while a bar formed")
		}
	})
}

// TestPreview_SaysWhatIsTrue compares a preview with what an alert then does.
func TestPreview_SaysWhatIsTrue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, waves)
		defer s.stop()
		time.Sleep(time.Minute)
		for what, c := range everyCondition() {
			a := alert.Alert{Symbol: symbol("BTC"), Interval: market.Minute1, Condition: c}
			said := s.Preview(t.Context(), a)
			if !said.Known || said.LastFired.IsZero() || said.LastFired.After(said.At) || said.From.After(said.LastFired) || time.Since(said.At) > time.Minute {
				t.Errorf("%s: %+v", what, said)
			}
		}
		price := s.Preview(t.Context(), above("BTC", 900))
		if !price.Known || !price.True || price.Against != 900 {
			t.Errorf("price %+v", price)
		}
		if said := s.Preview(t.Context(), above("BTC", 1000)); said.LastFired.IsZero() {
			t.Errorf("never at 1000: %+v", said)
		}
		s.venue.setDown(true)
		if said := s.Preview(t.Context(), alert.Alert{Symbol: symbol("ETH"), Interval: market.Minute5, Condition: everyCondition()["rsi <"]}); said.Known {
			t.Errorf("known without bars: %+v", said)
		}
	})
}
