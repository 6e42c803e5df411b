package ta

import (
	"strconv"
	"sync"
	"testing"

	"candela/lib/market"
)

// keptInput is what a chart of some bars asks for.
func keptInput(b *market.Bars) Input {
	in := input(b, market.Hour1)
	in.Shown = 100
	return in
}

func TestStates_HoldNoMoreThanTheyMay(t *testing.T) {
	t.Parallel()
	const most = 4 << 20
	states, b := NewStates(most), walk(3_000, 1)
	rsi, err := Resolve(Request{Name: "rsi"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 200 {
		for range 3 {
			in := keptInput(b)
			states.Of(strconv.Itoa(i), in.Env, b, false).Compute(rsi, in)
			if bytes, _ := states.Held(); bytes > most {
				t.Fatalf("holds %d bytes", bytes)
			}
		}
	}
	if bytes, series := states.Held(); series < 2 || series > 50 || bytes < most/2 {
		t.Errorf("holds %d bytes of %d series", bytes, series)
	}
	one := NewStates(1 << 10) // not even one
	for range 3 {
		in := keptInput(b)
		one.Of("a", in.Env, b, false).Compute(rsi, in)
	}
	if bytes, _ := one.Held(); bytes > 1<<10 {
		t.Errorf("holds %d bytes", bytes)
	}
}

// TestStates_AreUsed holds that the third computation goes on from the second one, and that other bars, another
// calendar and another beginning do not.
func TestStates_AreUsed(t *testing.T) {
	t.Parallel()
	rsi, err := Resolve(Request{Name: "rsi"})
	if err != nil {
		t.Fatal(err)
	}
	calendar, err := market.NewCalendar(market.Hours{Zone: "UTC", Close: 24 * 3600e9})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(b *market.Bars, in *Input)
		want   int // bars that the result covers; all of them if nothing was kept
	}{
		"the same bars":       {func(*market.Bars, *Input) {}, 145},
		"another forming bar": {func(b *market.Bars, _ *Input) { b.C[2999] = b.L[2999] }, 145},
		"another calendar":    {func(_ *market.Bars, in *Input) { in.Calendar = calendar }, 3000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			states, b := NewStates(1<<20), walk(3_000, 1)
			in := keptInput(b)
			for i, want := range []int{3000, 145, 145} {
				if _, covered := states.Of("a", in.Env, b, true).Compute(rsi, in); covered != want {
					t.Fatalf("call %d covers %d bars", i, covered)
				}
			}
			other := walk(3_000, 1)
			in = keptInput(other)
			c.change(other, &in)
			if _, covered := states.Of("a", in.Env, other, true).Compute(rsi, in); covered != c.want {
				t.Errorf("covers %d bars", covered)
			}
		})
	}
	states, b := NewStates(1<<20), walk(3_000, 1)
	view := func(b *market.Bars) (*Kept, stateKey) {
		in := keptInput(b)
		v := states.Of("a", in.Env, b, false)
		return v, stateKey{rsi.Key(), b.T[0], 2}
	}
	for range 2 {
		v, _ := view(b)
		v.Compute(rsi, keptInput(b))
	}
	v, key := view(b)
	if found, _ := v.find(key, b); found == nil {
		t.Fatal("nothing is kept")
	}
	revised := walk(3_000, 1)
	revised.V[1000]++
	v, key = view(revised)
	if found, again := v.find(key, revised); found != nil || !again {
		t.Error("a state of bars before a revision is used")
	}
	later := revised.Tail(2_900)
	v, key = view(&later)
	if found, _ := v.find(key, &later); found != nil {
		t.Error("a state of another beginning is used")
	}
}

// TestStates_AreShared lets several callers compute at the same time, each over bars that are a few longer or
// shorter than another's or revised, and requires the values of a plain computation.
func TestStates_AreShared(t *testing.T) {
	t.Parallel()
	rsi, err := Resolve(Request{Name: "rsi"})
	if err != nil {
		t.Fatal(err)
	}
	states, whole, revised := NewStates(1<<20), walk(3_100, 1), walk(3_100, 1)
	revised.C[2000] = revised.L[2000]
	var callers sync.WaitGroup
	for caller := range 4 {
		callers.Go(func() {
			for i := range 60 {
				b := whole.Slice(0, 3_000+i+caller)
				if (i+caller)%9 == 0 {
					b = revised.Slice(0, 3_000+i)
				}
				in := keptInput(&b)
				want := rsi.Compute(in).Lines[0].Values
				r, covered := states.Of("a", in.Env, &b, i%2 == 0).Compute(rsi, in)
				got := r.Lines[0].Values
				for k := 1; k <= in.Shown; k++ {
					if !same(want[b.Len()-k], got[covered-k]) {
						t.Errorf("caller %d, round %d: value %d of %d is %v, want %v", caller, i, covered-k, covered, got[covered-k], want[b.Len()-k])
						return
					}
				}
			}
		})
	}
	callers.Wait()
}
