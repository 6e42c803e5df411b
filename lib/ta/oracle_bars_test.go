package ta_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"candela/lib/market"
)

// The bars every oracle is run on. They are made here, from fixed seeds and with
// whole-number arithmetic only, so that each machine makes the same ones; the
// JSON under testdata/oracle/bars is what the scripts read, and the test below
// fails when it is not what this file makes.

var updateBars = flag.Bool("update-oracle-bars", false, "rewrite testdata/oracle/bars from the generator")

const oracleDir = "testdata/oracle"

// barSet is one run of bars as the scripts read it.
type barSet struct {
	Name     string          `json:"name"`
	Interval market.Interval `json:"interval"`
	T        []int64         `json:"t"`
	O        []float64       `json:"o"`
	H        []float64       `json:"h"`
	L        []float64       `json:"l"`
	C        []float64       `json:"c"`
	V        []float64       `json:"v"`
	TakerBuy []float64       `json:"taker_buy"`
}

func (s *barSet) bars() *market.Bars {
	return &market.Bars{T: s.T, O: s.O, H: s.H, L: s.L, C: s.C, V: s.V, TakerBuy: s.TakerBuy}
}

// A Thursday in the middle of a day, so that the first session, week and month
// of every set are partial ones.
const oracleStart = 1709794800 // 2024-03-07 07:00 UTC

// walk makes a seeded random walk in cents.
type walk struct {
	*rand.Rand
	set   barSet
	t     int64
	price int64 // the last close, in cents
}

func newWalk(name string, iv market.Interval, seed uint64, price int64) *walk {
	start := int64(oracleStart)
	if iv == market.Day1 {
		start -= start % 86400
	}
	return &walk{Rand: rand.New(rand.NewPCG(seed, 0x6f7261636c65)), set: barSet{Name: name, Interval: iv}, t: start, price: price}
}

// within returns a whole number from -n to n.
func (w *walk) within(n int64) int64 { return w.Int64N(2*n+1) - n }

// add appends a bar given in cents and thousandths of volume.
func (w *walk) add(open, high, low, closing, volume, taker int64) {
	s := &w.set
	s.T = append(s.T, w.t)
	s.O = append(s.O, float64(open)/100)
	s.H = append(s.H, float64(high)/100)
	s.L = append(s.L, float64(low)/100)
	s.C = append(s.C, float64(closing)/100)
	s.V = append(s.V, float64(volume)/1000)
	s.TakerBuy = append(s.TakerBuy, float64(taker)/1000)
	w.price = closing
	w.t += s.Interval.Seconds()
}

// step appends an ordinary bar opening at open: drift and spread are in
// thousandths of the price. One bar in forty has no range, one in ten closes
// where it opened, because ties are where implementations differ.
func (w *walk) step(open, drift, spread, volume int64) {
	unit := max(open/1000, 1)
	closing := max(open+drift*unit+w.within(spread*unit), 200)
	var high, low int64
	switch tie := w.IntN(40); {
	case tie == 0:
		closing, high, low = open, open, open
	case tie < 5:
		closing = open
		fallthrough
	default:
		high = max(open, closing) + w.Int64N(spread*unit+1)
		low = max(min(open, closing)-w.Int64N(spread*unit+1), 100)
	}
	taker := int64(0)
	if volume > 0 {
		taker = w.Int64N(volume + 1)
	}
	w.add(open, high, low, closing, volume, taker)
}

// run appends n ordinary bars whose mood changes every fifty: trends up and
// down, calm and wild, so that every indicator crosses its levels.
func (w *walk) run(n int) {
	drift, spread := int64(0), int64(8)
	for i := range n {
		if i%50 == 0 {
			drift, spread = w.within(3), 2+w.Int64N(12)
			if w.price > 200_000 {
				drift = -2
			}
			if w.price < 5_000 {
				drift = 2
			}
		}
		w.step(w.price, drift, spread, 1000+w.Int64N(900_000))
	}
}

// oracleSets makes every set. The one-million-bar runs of the speed and streaming
// tests are not among them: an oracle's numbers for those would not fit here.
func oracleSets() []barSet {
	ordinary := newWalk("ordinary", market.Hour1, 1, 25_000)
	ordinary.run(600)
	long := newWalk("long", market.Hour1, 2, 40_000)
	long.run(2500)
	daily := newWalk("daily", market.Day1, 3, 12_000)
	daily.run(300)

	flat := newWalk("flat", market.Hour1, 4, 10_025)
	still := func(n int) {
		for range n {
			flat.add(flat.price, flat.price, flat.price, flat.price, 10_000, 4_000)
		}
	}
	still(80)
	flat.run(80)
	still(80)

	one := newWalk("one", market.Hour1, 8, 10_000)
	one.step(one.price, 1, 8, 5_000)
	return []barSet{ordinary.set, long.set, daily.set, flat.set, gapSet(), spikeSet(), zeroVolumeSet(), one.set}
}

// gapSet jumps in price by up to a fifth between bars and has holes in time from
// one bar to four days, across midnights and week ends.
func gapSet() barSet {
	w := newWalk("gap", market.Hour1, 5, 30_000)
	for i := range 300 {
		open := w.price
		if i%23 == 22 {
			open += open * w.within(20) / 100
		}
		if i%31 == 30 {
			w.t += 3600 * (1 + w.Int64N(96))
		}
		w.step(open, 0, 9, 1000+w.Int64N(500_000))
	}
	return w.set
}

// spikeSet has bars whose price is about a million in a market of about a
// hundred: as a wick, as a close, and as two bars in a row. The price comes back
// at once, so the values after it show what a rolling sum kept of the spike.
func spikeSet() barSet {
	w := newWalk("spike", market.Hour1, 6, 10_000)
	for i := range 400 {
		before := w.price
		switch i {
		case 90:
			w.add(before, 100_000_000, before-50, before+30, 250_000, 100_000)
		case 170:
			w.add(before, 100_000_100, before-50, 99_999_900, 90_000_000, 100_000)
			w.price = before
		case 260, 261:
			w.add(before, 100_000_000+int64(i), before-10, 100_000_000, 300_000, 200_000)
			w.price = before
		default:
			w.step(w.price, 0, 8, 1000+w.Int64N(500_000))
		}
	}
	return w.set
}

// zeroVolumeSet trades nothing at the start, for longer than a session in the
// middle, and now and then.
func zeroVolumeSet() barSet {
	w := newWalk("zerovolume", market.Hour1, 7, 50_000)
	for i := range 300 {
		volume := 1000 + w.Int64N(500_000)
		if i < 5 || (i >= 120 && i < 175) || i%9 == 4 {
			volume = 0
		}
		w.step(w.price, 0, 8, volume)
	}
	return w.set
}

func TestOracleBars(t *testing.T) {
	t.Parallel()
	for _, set := range oracleSets() {
		if err := set.bars().Check(); err != nil {
			t.Errorf("%s: %v", set.Name, err)
		}
		made, err := json.Marshal(set)
		if err != nil {
			t.Fatal(err)
		}
		made = append(made, '\n')
		path := filepath.Join(oracleDir, "bars", set.Name+".json")
		if *updateBars {
			if err := os.WriteFile(path, made, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		kept, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(made, kept) {
			t.Errorf("%s is not what the generator makes: run with -update-oracle-bars, then the scripts of %s", path, oracleDir)
		}
	}
}

// TestOracleBars_MatchTheirNames keeps a change of the generator from
// removing the hard cases.
func TestOracleBars_MatchTheirNames(t *testing.T) {
	t.Parallel()
	sets := make(map[string]barSet)
	for _, s := range oracleSets() {
		sets[s.Name] = s
	}
	count := func(name string, is func(s *barSet, i int) bool) int {
		s, n := sets[name], 0
		for i := range s.T {
			if is(&s, i) {
				n++
			}
		}
		return n
	}
	rules := map[string]struct {
		set  string
		want int
		is   func(s *barSet, i int) bool
	}{
		"bars without volume":  {"zerovolume", 60, func(s *barSet, i int) bool { return s.V[i] == 0 }},
		"bars without range":   {"flat", 160, func(s *barSet, i int) bool { return s.H[i] == s.L[i] }},
		"spikes of a million":  {"spike", 4, func(s *barSet, i int) bool { return s.H[i] >= 1e6 }},
		"holes in time":        {"gap", 5, func(s *barSet, i int) bool { return i > 0 && s.T[i]-s.T[i-1] > 3600 }},
		"gaps over 5 per cent": {"gap", 4, func(s *barSet, i int) bool { return i > 0 && math.Abs(s.O[i]/s.C[i-1]-1) > 0.05 }},
		"equal closes":         {"ordinary", 30, func(s *barSet, i int) bool { return i > 0 && s.C[i] == s.C[i-1] }},
		"bars of one":          {"one", 1, func(*barSet, int) bool { return true }},
	}
	for name, r := range rules {
		if n := count(r.set, r.is); n < r.want {
			t.Errorf("%s has %d %s, want at least %d", r.set, n, name, r.want)
		}
	}
}
