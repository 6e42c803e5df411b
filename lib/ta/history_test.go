package ta_test

import (
	"testing"

	"candela/lib/market"
	"candela/lib/ta"
)

func TestHistory_StartIsShared(t *testing.T) {
	t.Parallel()
	const step = 14400
	all := market.MakeBars(9000, false)
	for i := range int64(9000) {
		if i%97 != 5 { // venues have holes
			all.Append(market.Bar{T: 1700006400 + i*step, O: 1, H: 1, L: 1, C: 1})
		}
	}
	moves, last := 0, int64(0)
	for n := 6000; n < all.Len(); n++ {
		seen := all.Slice(0, n)
		for _, stable := range []int{1, 514, 3410} {
			begins := map[int64]bool{}
			for _, shown := range []int{1, 200, 1000} {
				h := ta.History{Interval: market.Hour4, Shown: shown, Stable: stable}
				from := h.Begin(&seen, false)
				begins[seen.T[from]] = true
				if n-from < shown+stable || n-from > h.Len() {
					t.Fatalf("%d bars of history for %d shown and %d to settle, at most %d", n-from, shown, stable, h.Len())
				}
				// A caller that reads only the needed bars, with the forming one, starts there too.
				read := all.Slice(0, n+1)
				read = read.Tail(h.Len())
				if at := read.T[h.Begin(&read, true)]; at != seen.T[from] {
					t.Fatalf("over %d bars with a running one it begins at %d, else at %d", read.Len(), at, seen.T[from])
				}
			}
			if len(begins) != 1 {
				t.Fatalf("%d bars: begins at %v", n, begins)
			}
		}
		h := ta.History{Interval: market.Hour4, Shown: 1, Stable: 514}
		if at := seen.T[h.Begin(&seen, false)]; at != last {
			moves++
			last = at
		}
	}
	if want := (9000-6000)/256 + 2; moves > want {
		t.Errorf("the beginning moved %d times in 3000 bars, want at most %d", moves, want)
	}
}

func TestHistory_WithoutWarmupIsTheBarsShown(t *testing.T) {
	t.Parallel()
	bars := market.MakeBars(10, false)
	for i := range int64(10) {
		bars.Append(market.Bar{T: i * 60})
	}
	for shown, want := range map[int]int{1: 9, 4: 6, 10: 0, 50: 0} {
		h := ta.History{Interval: market.Minute1, Shown: shown}
		if got := h.Begin(&bars, true); got != want || h.Len() != shown {
			t.Errorf("%d shown begin at %d of %d needed, want %d", shown, got, h.Len(), want)
		}
	}
}
