package ta

import (
	"slices"
	"testing"

	"candela/lib/market"
)

// TestStreams_AreUsed holds that a computation goes on only over the same bars in the same memory.
func TestStreams_AreUsed(t *testing.T) {
	t.Parallel()
	rsi, err := Resolve(Request{Name: "rsi"})
	if err != nil {
		t.Fatal(err)
	}
	calendar, err := market.NewCalendar(market.Hours{Zone: "UTC", Close: 24 * 3600e9})
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := func(of func(b *market.Bars) *[]float64) func(b *market.Bars, env *Env) {
		return func(b *market.Bars, _ *Env) { *of(b) = slices.Clone(*of(b)) }
	}
	for name, c := range map[string]struct {
		change func(b *market.Bars, env *Env)
		used   bool
	}{
		"the same":            {func(*market.Bars, *Env) {}, true},
		"two bars more":       {func(b *market.Bars, _ *Env) { *b = b.Slice(0, 2_997) }, true},
		"fewer bars":          {func(b *market.Bars, _ *Env) { *b = b.Slice(0, 2_900) }, false},
		"another beginning":   {func(b *market.Bars, _ *Env) { *b = b.Slice(1, 2_995) }, false},
		"another calendar":    {func(_ *market.Bars, env *Env) { env.Calendar = calendar }, false},
		"another interval":    {func(_ *market.Bars, env *Env) { env.Interval = market.Hour4 }, false},
		"times elsewhere":     {func(b *market.Bars, _ *Env) { b.T = slices.Clone(b.T) }, false},
		"opens elsewhere":     {elsewhere(func(b *market.Bars) *[]float64 { return &b.O }), false},
		"highs elsewhere":     {elsewhere(func(b *market.Bars) *[]float64 { return &b.H }), false},
		"lows elsewhere":      {elsewhere(func(b *market.Bars) *[]float64 { return &b.L }), false},
		"closes elsewhere":    {elsewhere(func(b *market.Bars) *[]float64 { return &b.C }), false},
		"volumes elsewhere":   {elsewhere(func(b *market.Bars) *[]float64 { return &b.V }), false},
		"no volume of takers": {func(b *market.Bars, _ *Env) { b.TakerBuy = nil }, false},
		"the newest differs":  {func(b *market.Bars, _ *Env) { b.C[2_994] = b.L[2_994] }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			known, whole, env := NewStreams(1<<20), walk(3_000, 1), Env{Interval: market.Hour1}
			whole.TakerBuy = slices.Clone(whole.V)
			b := whole.Slice(0, 2_995)
			known.Warm(rsi.Stream(env), rsi, env, &b)
			b = whole.Slice(0, 2_995)
			if name == "two bars more" {
				b = *whole
			}
			c.change(&b, &env)
			found := known.find(warmedBy(rsi, env, &b))
			if used := found != nil && found.seen <= b.Len() && b.At(found.seen-1).Equal(found.last); used != c.used {
				t.Errorf("used: %v", used)
			}
			got, want := rsi.Stream(env), rsi.Stream(env)
			known.Warm(got, rsi, env, &b)
			want.Warm(&b)
			if a, b := got.Step(b.At(b.Len()-1)).Values, want.Step(b.At(b.Len()-1)).Values; !slices.EqualFunc(a, b, same) {
				t.Errorf("%v, want %v", a, b)
			}
		})
	}
}

func TestStreams_HoldNoMoreThanTheyMay(t *testing.T) {
	t.Parallel()
	const most = 64 << 10
	rsi, err := Resolve(Request{Name: "rsi"})
	if err != nil {
		t.Fatal(err)
	}
	known, env := NewStreams(most), Env{Interval: market.Hour1}
	for range 300 {
		known.Warm(rsi.Stream(env), rsi, env, walk(300, 1))
		if bytes, _ := known.Held(); bytes > most {
			t.Fatalf("holds %d bytes", bytes)
		}
	}
	if bytes, streams := known.Held(); streams < 50 || bytes < most/2 {
		t.Errorf("holds %d bytes of %d streams", bytes, streams)
	}
	known.Warm(rsi.Stream(env), rsi, env, walk(100, 1))
	one := NewStreams(100) // not even one
	one.Warm(rsi.Stream(env), rsi, env, walk(300, 1))
	if bytes, streams := one.Held(); bytes != 0 || streams != 0 {
		t.Errorf("holds %d bytes of %d streams", bytes, streams)
	}
}
