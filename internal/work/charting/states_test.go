package charting_test

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"candela/internal/data/marketdata"
	"candela/internal/kit/principal"
	"candela/internal/testkit/longtest"
	"candela/internal/work/charting"
	"candela/lib/market"
	"candela/lib/ta"
)

// venue has bars that grow, are revised and have holes.
type venue struct {
	rand     *rand.Rand
	closed   market.Bars
	forming  market.Bar // none if its time is 0
	calendar market.Calendar
}

const hour = 3600

func newVenue(seed uint64, n int) *venue {
	v := &venue{rand: rand.New(rand.NewPCG(seed, 3)), closed: market.MakeBars(n, true)}
	for range n {
		v.closed.Append(v.next())
	}
	return v
}

// next returns a bar after the newest closed one, now and then after a hole.
func (v *venue) next() market.Bar {
	t, open := int64(1_600_000_000/hour*hour), 100.0
	if n := v.closed.Len(); n > 0 {
		t, open = v.closed.T[n-1]+hour, v.closed.C[n-1]
		if v.rand.IntN(200) == 0 {
			t += hour * int64(1+v.rand.IntN(30))
		}
	}
	last := open * math.Exp(0.01*v.rand.NormFloat64())
	volume := 1000 * v.rand.Float64()
	return market.Bar{
		T: t, O: open, C: last, V: volume, TakerBuy: volume * v.rand.Float64(),
		H: max(open, last) * (1 + 0.005*v.rand.Float64()), L: min(open, last) * (1 - 0.005*v.rand.Float64()),
	}
}

// change lets time pass: bars close, another one forms, and sometimes the past is revised, a hole filled or
// the calendar another.
func (v *venue) change(t *testing.T) {
	t.Helper()
	for range v.rand.IntN(90) {
		v.closed.Append(v.next())
	}
	v.forming = market.Bar{}
	if v.rand.IntN(4) > 0 {
		v.forming = v.next()
	}
	switch v.rand.IntN(12) {
	case 0:
		i := v.closed.Len() - 1 - v.rand.IntN(3000)
		v.closed = clone(&v.closed, -1)
		v.closed.C[i] = (v.closed.H[i] + v.closed.L[i]) / 2
	case 1:
		v.closed = clone(&v.closed, v.closed.Len()-1-v.rand.IntN(3000)) // a bar is missing
	case 2:
		hours := market.Hours{Zone: "America/New_York", Open: time.Duration(9+v.rand.IntN(2)) * time.Hour, Close: 16 * time.Hour}
		calendar, err := market.NewCalendar(hours)
		if err != nil {
			t.Fatal(err)
		}
		v.calendar = calendar
	}
	if extra := v.closed.Len() - 9000; extra > 0 {
		v.closed = v.closed.Tail(8000)
	}
}

func clone(b *market.Bars, without int) market.Bars {
	out := market.MakeBars(b.Len(), true)
	for i := range b.Len() {
		if i != without {
			out.Append(b.At(i))
		}
	}
	return out
}

// Bars returns the newest bars.
func (v *venue) Bars(_ context.Context, r marketdata.Request) (marketdata.BarSet, error) {
	bars := v.closed.Tail(r.Bars + r.Warmup)
	set := marketdata.BarSet{Symbol: r.Symbol, Instrument: r.Symbol, Provider: "test", Calendar: v.calendar, Bars: bars}
	if v.forming.T != 0 {
		set.Bars, set.Forming = clone(&bars, 0), true
		set.Bars.Append(v.forming)
	}
	return set, nil
}

// whole is the catalogue with its members.
func whole(t *testing.T) (all []charting.NamedIndicator) {
	t.Helper()
	for _, name := range ta.Names() {
		s, err := ta.Resolve(ta.Request{Name: name})
		if err != nil {
			t.Fatal(err)
		}
		if family := s.Def.Family(); family == s.Def || family.Name != "candles" {
			all = append(all, charting.NamedIndicator{Name: name, Selection: s})
		}
	}
	return all
}

// differ names the first part in which two values differ in any bit; all missing numbers are equal.
func differ(at string, a, b reflect.Value) string {
	switch a.Kind() { //nolint:exhaustive // others are compared as they are
	case reflect.Float64:
		if x, y := a.Float(), b.Float(); math.Float64bits(x) != math.Float64bits(y) && (x == x || y == y) {
			return fmt.Sprintf("%s: %v, %v", at, x, y)
		}
		return ""
	case reflect.Pointer:
		if a.Pointer() == b.Pointer() {
			return ""
		}
		if !a.IsNil() && !b.IsNil() {
			return differ(at, a.Elem(), b.Elem())
		}
		return at + ": one is nil"
	case reflect.Slice:
		if a.Len() != b.Len() {
			return fmt.Sprintf("%s: %d, %d", at, a.Len(), b.Len())
		}
		for i := range a.Len() {
			if difference := differ(at, a.Index(i), b.Index(i)); difference != "" {
				return fmt.Sprint(i, " of ", difference)
			}
		}
		return ""
	case reflect.Struct:
		for i := range a.NumField() {
			if difference := differ(a.Type().Field(i).Name, a.Field(i), b.Field(i)); difference != "" {
				return difference
			}
		}
		return ""
	}
	if !a.Equal(b) {
		return fmt.Sprintf("%s: %v, %v", at, a, b)
	}
	return ""
}

// TestChart_KeptStatesGiveTheSameBits asks for the whole catalogue again and again while bars close, form, are
// revised and go missing, the calendar changes and the states are lost, and requires every bit of a
// computation without states.
func TestChart_KeptStatesGiveTheSameBits(t *testing.T) {
	t.Parallel()
	rounds := longtest.Pick(6, 2400)
	all, v, asked := whole(t), newVenue(longtest.Seed(), 7000), 0
	t.Logf("%d selections", len(all))
	states := ta.NewStates(64 << 20)
	for round := range rounds {
		v.change(t)
		if v.rand.IntN(20) == 0 {
			states = ta.NewStates(64 << 20)
		}
		charts := charting.New(charting.Config{Bars: v, Log: slog.New(slog.DiscardHandler), States: states})
		shown := []int{50, 200, 330}[v.rand.IntN(3)]
		for some := range slices.Chunk(all, 24) {
			q := charting.Request{Symbol: market.Symbol{Venue: "test", Name: "A"}, Interval: market.Hour1, Indicators: some, Bars: shown}
			want, err := charting.Compute(t.Context(), v, q)
			if err != nil {
				t.Fatal(err)
			}
			for range 3 { // plain, with the first state, from it
				got, err := charts.Chart(t.Context(), principal.Caller{}, q)
				if err != nil {
					t.Fatal(err)
				}
				asked += len(some)
				if difference := differ("", reflect.ValueOf(want), reflect.ValueOf(got)); difference != "" {
					t.Fatalf("round %d, %d bars of %v differ: %s", round, shown, some, difference)
				}
			}
		}
	}
	bytes, series := states.Held()
	t.Logf("%d computations compared; %d bytes of %d series kept", asked, bytes, series)
}
