package marketdata_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// TestBars_OfThePast asks for bars that had closed at random times, and compares them with those
// that one request for everything returns.
func TestBars_OfThePast(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := &venue{name: "binance"}
		s := service(t, nil, v)
		all := v.truth(t, btc(1, 0).Interval, 12_000).Bars
		random := rand.New(rand.NewPCG(1, 2)) // the same requests in each run
		between := func(lo, hi int64) int64 { return lo + random.Int64N(hi-lo) }
		for range 300 {
			r := btc(1+random.IntN(2500), random.IntN(2500))
			r.End = between(all.T[6000], all.T[all.Len()-1]+900)
			end := all.Search(r.End - 300 + 1) // those that had closed
			if ahead := r.End > time.Now().Unix(); ahead {
				end = all.Len()
			}
			if random.IntN(2) == 0 {
				r.Start = between(all.T[5000], r.End)
			}
			set, err := s.Bars(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			got, want := set.Bars.T, all.T[:end]
			if len(got) == 0 || len(got) > end || !slices.Equal(got, want[end-len(got):]) {
				t.Fatalf("%d bars up to %d, want the newest up to %d", len(got), got[len(got)-1], want[end-1])
			}
			if r.Start == 0 && len(got) != r.Bars+r.Warmup {
				t.Fatalf("%d bars, want %d and %d", len(got), r.Bars, r.Warmup)
			}
			if first := all.Search(r.Start); r.Start != 0 && r.Bars >= end-first && len(got) < end-first+r.Warmup {
				t.Fatalf("%d bars, want the %d since the start and %d before them", len(got), end-first, r.Warmup)
			}
			if now := time.Now().Unix(); set.Forming != (r.End > now) {
				t.Fatalf("forming %v with the end %d, at %d", set.Forming, r.End, now)
			}
			var cut int64
			if inside := end < all.Len() && all.T[end] < r.End; inside {
				cut = all.T[end]
			}
			if set.Cut != cut {
				t.Fatalf("the bar %d is cut with the end %d, want %d", set.Cut, r.End, cut)
			}
		}
	})
}

// TestBars_OfThePastAreKept asks twice, with other requests between.
func TestBars_OfThePastAreKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := &venue{name: "binance"}
		s := service(t, nil, v)
		past := btc(100, 50)
		past.End = time.Now().Add(-1000 * time.Hour).Unix()
		for range 3 {
			if _, err := s.Bars(t.Context(), past); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
		}
		if n := len(v.calls()); n != 1 {
			t.Errorf("%d requests to the venue, want 1", n)
		}
		// Other ends that are near share the bars.
		step := int64(64 * 300)
		base := past.End / step * step
		for i := range int64(100) {
			near := past
			near.End = base + 1 + i*step/100
			if set, err := s.Bars(t.Context(), near); err != nil || set.Bars.Len() != 150 || set.Bars.T[149]+300 > near.End || set.Bars.T[149] < near.End-600 {
				t.Fatalf("%d bars up to %d, want 150 that had closed at %d; %v", set.Bars.Len(), set.Bars.T[set.Bars.Len()-1], near.End, err)
			}
		}
		if n := len(v.calls()); n > 2 {
			t.Errorf("%d requests to the venue for ends that are near, want at most 2", n)
		}
		asked := len(v.calls())
		time.Sleep(time.Hour)
		if _, err := s.Bars(t.Context(), past); err != nil || len(v.calls()) != asked+1 {
			t.Errorf("after an hour %d requests, want %d; %v", len(v.calls()), asked+1, err)
		}
	})
}
