package ta

import (
	"math"
	"slices"
	"testing"

	"candela/lib/market"
)

// The profile family has no outside oracle. These tests derive it a second time,
// row by row over all bars, where the product goes bar by bar over its rows.

// overlap is the share of a bar's volume that falls into [bottom, top).
func overlap(b market.Bar, bottom, top float64, last bool) float64 {
	if b.H == b.L {
		if b.C >= bottom && (b.C < top || last) {
			return b.V
		}
		return 0
	}
	return b.V * max(0, min(b.H, top)-max(b.L, bottom)) / (b.H - b.L)
}

// secondProfile returns the rows and the bounds of a profile.
func secondProfile(bars []market.Bar, n int) (rows []float64, low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, b := range bars {
		low, high = math.Min(low, b.L), math.Max(high, b.H)
	}
	rows = make([]float64, n)
	for r := range rows {
		bottom := low + (high-low)*float64(r)/float64(n)
		top := low + (high-low)*float64(r+1)/float64(n)
		for _, b := range bars {
			rows[r] += overlap(b, bottom, top, r == n-1)
		}
	}
	return rows, low, high
}

// secondArea finds POC and value area by trying every contiguous growth.
func secondArea(rows []float64, step int) (poc, first, last int) {
	sum, mid := 0.0, float64(len(rows)-1)/2
	for r, v := range rows {
		sum += v
		if v > rows[poc]*(1+1e-12) || math.Abs(v-rows[poc]) <= 1e-12*v && math.Abs(float64(r)-mid) < math.Abs(float64(poc)-mid) {
			poc = r
		}
	}
	inside, lo, hi := rows[poc], poc, poc
	add := func(from, to int) (s float64) {
		for r := max(from, 0); r < min(to, len(rows)); r++ {
			s += rows[r]
		}
		return s
	}
	for inside < 0.7*sum {
		up, down := add(hi+1, hi+1+step), add(lo-step, lo)
		if lo == 0 || hi < len(rows)-1 && up > down {
			inside, hi = inside+up, min(hi+step, len(rows)-1)
		} else {
			inside, lo = inside+down, max(lo-step, 0)
		}
	}
	return poc, lo, hi
}

func slice(b *market.Bars, from, to int) []market.Bar {
	var out []market.Bar
	for i := from; i < to; i++ {
		out = append(out, b.At(i))
	}
	return out
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-10*max(math.Abs(a), math.Abs(b), 1e-300) }

func TestVolumeProfile_SecondDerivation(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		b := walk(300, seed)
		s, err := Resolve(request(t, `vpvr {"bins":30,"range_bars":200}`))
		if err != nil {
			t.Fatal(err)
		}
		r := s.Compute(input(b, market.Hour1))
		rows, low, high := secondProfile(slice(b, 100, 300), 30)
		poc, first, last := secondArea(rows, 1)
		height := (high - low) / 30
		want := []float64{low + height*(float64(poc)+0.5), low + height*float64(last+1), low + height*float64(first)}
		for i, h := range r.HLines {
			if !near(h.Y, want[i]) {
				t.Errorf("seed %d: %s at %v, want %v", seed, h.Label, h.Y, want[i])
			}
		}
		heaviest := slices.Max(rows)
		k := 0
		for row, v := range rows {
			if v == 0 {
				continue
			}
			if got := r.HBars[k]; !near(got.Width, 0.25*v/heaviest) || !near(got.Y, low+height*(float64(row)+0.5)) {
				t.Fatalf("seed %d row %d: bar %+v, want width %v", seed, row, got, 0.25*v/heaviest)
			}
			k++
		}
	}
}

func TestVolumeProfile_KeepsAllVolume(t *testing.T) {
	t.Parallel()
	b := walk(500, 9)
	p, ok := newProfile(b, 0, 500, 24)
	if !ok {
		t.Fatal("no profile")
	}
	p.addVolume(b, 0, 500)
	want, got, parts := 0.0, 0.0, 0.0
	for i := range b.V {
		want += b.V[i]
	}
	for r := range p.total {
		got += p.total[r]
		parts += p.up[r] + p.down[r]
	}
	if math.Abs(got-want) > 1e-9*want || math.Abs(parts-want) > 1e-9*want {
		t.Errorf("the rows hold %v and %v of %v", got, parts, want)
	}
}

func TestTPO_SecondDerivation(t *testing.T) {
	t.Parallel()
	b := walk(400, 4)
	for i := range b.T {
		b.T[i] = testStart + int64(i)*600 // three bars a bracket
	}
	r := defaults(t)["tpo"].Compute(input(b, market.Minute5))
	low, high := slices.Min(b.L), slices.Max(b.H)
	height := (high - low) / 32
	rows := make([]float64, 32)
	for row := range rows {
		brackets := map[int64]bool{}
		bottom, top := low+height*float64(row), low+height*float64(row+1)
		for i := range b.T {
			key := b.T[i] / 1800
			// The range of a bracket is that of its bars together.
			lo, hi := b.L[i], b.H[i]
			for j := range b.T {
				if b.T[j]/1800 == key {
					lo, hi = min(lo, b.L[j]), max(hi, b.H[j])
				}
			}
			if hi >= bottom && (lo < top || row == 31) {
				brackets[key] = true
			}
		}
		rows[row] = float64(len(brackets))
	}
	poc, first, last := secondArea(rows, 2)
	want := []float64{low + height*(float64(poc)+0.5), low + height*float64(last+1), low + height*float64(first)}
	for i, h := range r.HLines {
		if !near(h.Y, want[i]) {
			t.Errorf("%s at %v, want %v", h.Label, h.Y, want[i])
		}
	}
}

func TestSessionVP_SecondDerivation(t *testing.T) {
	t.Parallel()
	b := walk(240, 8) // ten days of hourly bars from a Monday
	for text, perSession := range map[string]int{
		"svp":                         24,
		`svp {"session":"weekly"}`:    168,
		`svp {"bars_per_session":50}`: 50,
	} {
		s, err := Resolve(request(t, text))
		if err != nil {
			t.Fatal(err)
		}
		r := s.Compute(input(b, market.Hour1))
		for from := 0; from < 240; from += perSession {
			to := min(from+perSession, 240)
			rows, low, high := secondProfile(slice(b, from, to), 24)
			poc, _, _ := secondArea(rows, 1)
			want := low + (high-low)/24*(float64(poc)+0.5)
			for i := from; i < to; i++ {
				if !near(r.Lines[0].Values[i], want) {
					t.Fatalf("%s bar %d: POC %v, want %v", text, i, r.Lines[0].Values[i], want)
				}
			}
		}
	}
}

func TestSessionVP_DevelopingLooksAtNoLaterBar(t *testing.T) {
	t.Parallel()
	s, err := Resolve(request(t, `svp {"developing":true}`))
	if err != nil {
		t.Fatal(err)
	}
	b := walk(100, 3)
	all := s.Compute(input(b, market.Hour1))
	for _, n := range []int{5, 30, 77} {
		part := b.Slice(0, n)
		r := s.Compute(input(&part, market.Hour1))
		for l := range r.Lines {
			for i, x := range r.Lines[l].Values {
				if !same(x, all.Lines[l].Values[i]) {
					t.Fatalf("%s at bar %d changed from %v to %v with later bars", r.Lines[l].Label, i, x, all.Lines[l].Values[i])
				}
			}
		}
	}
}

func TestNakedPOC_AGapThroughIsATouch(t *testing.T) {
	t.Parallel()
	bar := func(i int, low, high float64) market.Bar {
		return market.Bar{T: testStart + int64(i)*3600, O: low, H: high, L: low, C: high, V: 10, TakerBuy: math.NaN()}
	}
	var b market.Bars
	for i := range 24 {
		b.Append(bar(i, 100, 102)) // the first day trades at 100 to 102
	}
	b.Append(bar(24, 103, 104))
	untouched := b
	r := defaults(t)["naked_poc"].Compute(input(&untouched, market.Hour1))
	if got := count(r, "nPOC"); got != 1 {
		t.Fatalf("%d naked levels before the gap, want 1", got)
	}
	b.Append(bar(25, 90, 95)) // gaps down through the level without trading at it
	r = defaults(t)["naked_poc"].Compute(input(&b, market.Hour1))
	if got := count(r, "nPOC"); got != 0 {
		t.Errorf("%d naked levels after the gap, want none", got)
	}
	s, err := Resolve(request(t, `npoc {"keep_filled":true,"include_current":false}`))
	if err != nil {
		t.Fatal(err)
	}
	r = s.Compute(input(&b, market.Hour1))
	values := r.Lines[0].Values
	if math.IsNaN(values[25]) || !math.IsNaN(values[23]) {
		t.Errorf("the kept level covers the wrong bars: %v", values[22:])
	}
}

func count(r *Result, label string) (n int) {
	for _, l := range r.Lines {
		if l.Label == label {
			n++
		}
	}
	return n
}

func TestHVNLVN_FindsPlantedNodes(t *testing.T) {
	t.Parallel()
	p := profile{low: 0, row: 1, total: []float64{5, 5, 5, 20, 5, 5, 5, 5, 1, 5, 5, 5, 9, 5, 5, 5}}
	high, low := p.nodes(2, 0.1)
	if len(high) != 2 || high[0].row != 3 || high[1].row != 12 || len(low) != 1 || low[0].row != 8 {
		t.Errorf("high %v, low %v", high, low)
	}
}

func TestProfile_TiesGoToTheMiddle(t *testing.T) {
	t.Parallel()
	p := profile{low: 0, row: 1, total: []float64{7, 1, 7, 1, 1, 1, 7}}
	a, ok := p.area(1)
	if !ok || a.poc != 2 {
		t.Errorf("POC in row %d, want 2", a.poc)
	}
}

// TestSessions_BeginBeforeTheBarsShown holds the history that session_vp and
// naked_poc ask for: with it, a chart that begins within a session shows the
// levels of the whole session, and every past session that was asked for.
func TestSessions_BeginBeforeTheBarsShown(t *testing.T) {
	t.Parallel()
	const shown = 30 // hours, from the middle of a day
	b := walk(2_000, 9)
	for _, text := range []string{"session_vp", `session_vp {"session":"weekly"}`, "naked_poc", `npoc {"max_sessions":5}`} {
		s, err := Resolve(request(t, text))
		if err != nil {
			t.Fatal(err)
		}
		in := input(b, market.Hour1)
		_, stable := s.Warmup(in.Env)
		tail := b.Tail(shown + stable)
		late := in
		late.Bars = &tail
		all, part := s.Compute(in).Lines, s.Compute(late).Lines
		if len(all) != len(part) || len(all) == 0 {
			t.Fatalf("%s: %d lines over the whole history, %d over the last %d bars", text, len(all), len(part), tail.Len())
		}
		for i := range all {
			for k := 1; k <= shown; k++ {
				whole, cut := all[i].Values[b.Len()-k], part[i].Values[tail.Len()-k]
				if !same(whole, cut) {
					t.Fatalf("%s: %s %d bars before the end is %v, with %d bars of history %v", text, all[i].Label, k, whole, stable, cut)
				}
			}
		}
	}
}

// TestSessionVP_DevelopingIsTheProfileSoFar compares the profile that grows bar by bar,
// in every bit, with one of the session's bars up to each of them.
func TestSessionVP_DevelopingIsTheProfileSoFar(t *testing.T) {
	t.Parallel()
	still := market.MakeBars(60, false)
	for i := range 60 {
		x := float64(100 + i/20) // no range, then a wider one twice
		still.Append(market.Bar{T: testStart + int64(i)*3600, O: x, H: x, L: x, C: x, V: float64(i % 4)})
	}
	for name, b := range map[string]*market.Bars{"walk": walk(700, 5), "nasty": nasty(700, 6), "still": &still} {
		for _, bins := range []int{1, 24, 500} {
			const from = 10
			d, values := develop(b, stretch{from, b.Len()}, bins), 0
			for end := from + 1; end <= b.Len(); end++ {
				got, has := d.next()
				p, want, ok := sessionProfile(b, from, end, bins)
				if has != ok || got != want {
					t.Fatalf("%s, %d rows, bars to %d: %v %v, want %v %v", name, bins, end, got, has, want, ok)
				}
				if !ok {
					continue
				}
				values++
				if !same(d.low, p.low) || !same(d.row, p.row) || d.filled && (!slices.Equal(d.total, p.total) || !slices.Equal(d.up, p.up) || !slices.Equal(d.down, p.down)) {
					t.Fatalf("%s, %d rows, bars to %d: other rows", name, bins, end)
				}
			}
			if values == 0 {
				t.Errorf("%s, %d rows: no value was compared", name, bins)
			}
		}
	}
}

// TestSessionVP_DevelopingSpreadsABarOnce holds the cost of a session: bars within
// its range are spread over the rows once, not again with each later bar.
func TestSessionVP_DevelopingSpreadsABarOnce(t *testing.T) {
	t.Parallel()
	b := walk(300, 5)
	b.L[0], b.H[0] = 1, 10_000 // all others lie within
	d := develop(b, stretch{0, b.Len()}, 24)
	d.next()
	// A changed bar is visible only if the profile is computed again.
	for end := 1; end < b.Len(); end++ {
		b.V[end-1] = 1e30
		d.next()
	}
	if heaviest := slices.Max(d.total); !(heaviest > 0 && heaviest < 1e20) {
		t.Errorf("the heaviest row has %v", heaviest)
	}
}
