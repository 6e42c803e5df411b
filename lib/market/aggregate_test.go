package market_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"candela/internal/testkit/sharedtest"
	"candela/lib/market"
)

// series returns n plain bars of the interval from the first open at or after start.
func series(c market.Calendar, iv market.Interval, start int64, n int, takerBuy bool) market.Bars {
	b := market.MakeBars(n, takerBuy)
	t := start - 1
	for i := range n {
		t = c.Next(iv, t).Open
		base := 100 + float64(i%17)
		taker := math.NaN()
		if takerBuy {
			taker = float64(i%3) / 2
		}
		b.Append(market.Bar{T: t, O: base, H: base + 3, L: base - 2, C: base + 1, V: float64(1 + i%5), TakerBuy: taker})
	}
	return b
}

// without returns b less the bars for which drop is true.
func without(b market.Bars, drop func(i int) bool) market.Bars {
	var out market.Bars
	for i := range b.T {
		if !drop(i) {
			out.Append(b.At(i))
		}
	}
	return out
}

func TestAggregate(t *testing.T) {
	t.Parallel()
	var b market.Bars
	for i, v := range [][5]float64{{10, 12, 9, 11, 1}, {11, 15, 11, 14, 2}, {14, 14, 7, 8, 3}, {8, 9, 8, 9, 4}, {9, 10, 9, 9.5, 5}} {
		b.Append(market.Bar{T: int64(i) * 3600, O: v[0], H: v[1], L: v[2], C: v[3], V: v[4], TakerBuy: v[4] / 2})
	}
	got, err := market.Aggregate(&b, market.Hour1, market.Hour4, market.Calendar{})
	if err != nil {
		t.Fatal(err)
	}
	var want market.Bars
	want.Append(market.Bar{T: 0, O: 10, H: 15, L: 7, C: 9, V: 10, TakerBuy: 5})
	want.Append(market.Bar{T: 14400, O: 9, H: 10, L: 9, C: 9.5, V: 5, TakerBuy: 2.5})
	if !equalBars(got.Bars, want) || len(got.Gaps) != 0 ||
		!slices.Equal(got.Partial, []int{1}) {
		t.Errorf("got %+v", got)
	}
}

func TestAggregate_MarksHoles(t *testing.T) {
	t.Parallel()
	b := series(market.Calendar{}, market.Hour1, 0, 16, true)
	// One hour is missing in the second bar, all of the third, and the last ends early.
	b = without(b, func(i int) bool { return i == 5 || i >= 8 && i < 12 || i == 15 })
	got, err := market.Aggregate(&b, market.Hour1, market.Hour4, market.Calendar{})
	if err != nil {
		t.Fatal(err)
	}
	wantGaps := []market.Gap{{From: 5 * 3600, To: 6 * 3600, Missing: 1}, {From: 8 * 3600, To: 12 * 3600, Missing: 4}}
	wantPartial := []int{1, 2}
	if !slices.Equal(got.Bars.T, []int64{0, 4 * 3600, 12 * 3600}) || !slices.Equal(got.Gaps, wantGaps) || !slices.Equal(got.Partial, wantPartial) {
		t.Errorf("got %v, %+v, %+v", got.Bars.T, got.Gaps, got.Partial)
	}
}

func TestAggregate_TakerBuy(t *testing.T) {
	t.Parallel()
	known := series(market.Calendar{}, market.Minute1, 0, 6, true)
	unknown := series(market.Calendar{}, market.Minute1, 0, 6, false)
	mixed := known.Slice(0, 6)
	mixed.TakerBuy = slices.Clone(mixed.TakerBuy)
	mixed.TakerBuy[4] = math.NaN()
	for name, tc := range map[string]struct {
		in   market.Bars
		want []float64 // nil: no column
	}{
		"known volumes add up":                  {known, []float64{1.5, 1.5}},
		"no column gives no column":             {unknown, nil},
		"one unknown part makes the bar so":     {mixed, []float64{1.5, math.NaN()}},
		"an empty source gives an empty result": {market.Bars{}, nil},
	} {
		got, err := market.Aggregate(&tc.in, market.Minute1, market.Minute3, market.Calendar{})
		same := slices.EqualFunc(got.Bars.TakerBuy, tc.want, func(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) })
		if err != nil || !same || (got.Bars.TakerBuy == nil) != (tc.want == nil) {
			t.Errorf("%s: %v, %v", name, got.Bars.TakerBuy, err)
		}
		if len(got.Partial) != 0 {
			t.Errorf("%s: partial bars %v", name, got.Partial)
		}
	}
}

func TestAggregate_Refuses(t *testing.T) {
	t.Parallel()
	b := series(market.Calendar{}, market.Hour1, 0, 3, false)
	_, err := market.Aggregate(&b, market.Hour8, market.Hour12, market.Calendar{})
	wantError(t, err, "bars of 12h cannot be built from bars of 8h")
	b.T[2] = b.T[1]
	_, err = market.Aggregate(&b, market.Hour1, market.Hour4, market.Calendar{})
	wantError(t, err, "does not come after")
	_, err = market.Gaps(&b, market.Hour1, market.Calendar{})
	wantError(t, err, "does not come after")
	b.T[2] = b.T[0]
	_, err = market.Aggregate(&b, market.Hour1, market.Day1, market.Calendar{})
	wantError(t, err, "does not come after")
	_, err = market.Gaps(&b, 0, market.Calendar{})
	wantError(t, err, "no interval")
}

func TestAggregate_LeavesOutAndListsBarsOffTheGrid(t *testing.T) {
	t.Parallel()
	b := series(market.Calendar{}, market.Hour1, 0, 8, false)
	b.T[0], b.T[5], b.T[7] = 10, 5*3600+7, 7*3600+59
	got, err := market.Aggregate(&b, market.Hour1, market.Hour4, market.Calendar{})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got.OffGrid, []int64{10, 5*3600 + 7, 7*3600 + 59}) ||
		!slices.Equal(got.Gaps, []market.Gap{{From: 5 * 3600, To: 6 * 3600, Missing: 1}}) ||
		!slices.Equal(got.Partial, []int{0, 1}) {
		t.Errorf("got %+v", got)
	}
}

func TestAggregate_SessionOfNewYork(t *testing.T) {
	t.Parallel()
	c := calendar(t, market.USEquities())
	start := at(t, "2024-03-07T00:00:00Z") // a Thursday before clocks change on Sunday
	b := series(c, market.Minute5, start, 78*4, false)
	b = without(b, func(i int) bool { return i >= 78 && i < 156 }) // Friday is missing
	hours, err := market.Aggregate(&b, market.Minute5, market.Hour1, c)
	if err != nil {
		t.Fatal(err)
	}
	wantGap := market.Gap{From: at(t, "2024-03-08T14:30:00Z"), To: at(t, "2024-03-11T13:30:00Z"), Missing: 78, Holiday: true}
	if hours.Bars.Len() != 21 || len(hours.Partial) != 0 || !slices.Equal(hours.Gaps, []market.Gap{wantGap}) {
		t.Fatalf("hours: %d bars, %+v, %+v", hours.Bars.Len(), hours.Partial, hours.Gaps)
	}
	if first, last := utc(hours.Bars.T[0]), utc(hours.Bars.T[20]); first != "2024-03-07T14:30:00Z" || last != "2024-03-12T19:30:00Z" {
		t.Errorf("hours run from %s to %s", first, last)
	}
	days, err := market.Aggregate(&b, market.Minute5, market.Day1, c)
	if err != nil || days.Bars.Len() != 3 || len(days.Partial) != 0 {
		t.Errorf("days: %+v, %v", days, err)
	}
	weeks, err := market.Aggregate(&days.Bars, market.Day1, market.Week1, c)
	if err != nil || weeks.Bars.Len() != 2 ||
		!slices.Equal(weeks.Partial, []int{0, 1}) {
		t.Errorf("weeks: %+v, %v", weeks, err)
	}
}

// TestAggregate_AgreesWithASlowTwin compares with an aggregation that looks up
// every bar's bucket by itself.
func TestAggregate_AgreesWithASlowTwin(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		c := anyCalendar().Draw(rt, "calendar")
		from := rapid.SampledFrom(allKinds()).Draw(rt, "from")
		to := rapid.SampledFrom(allKinds()).Draw(rt, "to")
		if !from.Divides(to) {
			rt.Skip()
		}
		src := series(c, from, rapid.Int64Range(-1e9, 2e9).Draw(rt, "start"), rapid.IntRange(1, 300).Draw(rt, "n"), rapid.Bool().Draw(rt, "taker"))
		holes := rapid.SliceOfN(rapid.IntRange(0, src.Len()-1), 0, 12).Draw(rt, "holes")
		src = without(src, func(i int) bool { return i > 0 && slices.Contains(holes, i) })
		if src.Len() > 2 && rapid.Bool().Draw(rt, "off grid") {
			src.T[1]++ // at least a minute separates two bars
		}
		got, err := market.Aggregate(&src, from, to, c)
		if err != nil {
			rt.Fatal(err)
		}
		want, missing := slowAggregate(&src, from, to, c)
		if !equalBars(got.Bars, want.Bars) || !slices.Equal(got.Partial, want.Partial) || !slices.Equal(got.OffGrid, want.OffGrid) {
			rt.Fatalf("got  %+v\nwant %+v", got, want)
		}
		sum := 0
		for _, g := range got.Gaps {
			sum += g.Missing
		}
		if sum != missing {
			rt.Fatalf("%d bars missing in %+v, want %d", sum, got.Gaps, missing)
		}
		alone, err := market.Gaps(&src, from, c)
		if err != nil || !slices.Equal(alone.Gaps, got.Gaps) || !slices.Equal(alone.OffGrid, got.OffGrid) {
			rt.Fatalf("Gaps sees %+v, Aggregate %+v", alone, got.Holes)
		}
		if err := got.Bars.Check(); err != nil {
			rt.Fatal(err)
		}
	})
}

func slowAggregate(src *market.Bars, from, to market.Interval, c market.Calendar) (out market.Aggregated, missing int) {
	have, first := map[int64]int{}, int64(math.MinInt64)
	var last int64
	for i := range src.T {
		bar := src.At(i)
		if s, ok := c.Bucket(from, bar.T); !ok || s.Open != bar.T {
			out.OffGrid = append(out.OffGrid, bar.T)
			continue
		}
		if first == math.MinInt64 {
			first = bar.T
		}
		last = bar.T
		missing--
		span, _ := c.Bucket(to, bar.T)
		if n := out.Bars.Len(); n == 0 || out.Bars.T[n-1] != span.Open {
			bar.T = span.Open
			out.Bars.Append(bar)
		} else {
			n--
			out.Bars.H[n], out.Bars.L[n] = max(out.Bars.H[n], bar.H), min(out.Bars.L[n], bar.L)
			out.Bars.C[n] = bar.C
			out.Bars.V[n] += bar.V
			if out.Bars.TakerBuy != nil {
				out.Bars.TakerBuy[n] += bar.TakerBuy
			}
		}
		have[span.Open]++
	}
	for i, open := range out.Bars.T {
		span, _ := c.Bucket(to, open)
		if want := c.Count(from, span); have[open] < want {
			out.Partial = append(out.Partial, i)
		}
	}
	if first != math.MinInt64 {
		missing += c.Count(from, market.Span{Open: first, Close: last + 1})
	}
	return out, missing
}

func TestAggregate_TwoStepsEqualOne(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		c := anyCalendar().Draw(rt, "calendar")
		iv := rapid.SampledFrom(allKinds())
		a, b, d := iv.Draw(rt, "fine"), iv.Draw(rt, "middle"), iv.Draw(rt, "coarse")
		if !a.Divides(b) || !b.Divides(d) {
			rt.Skip()
		}
		src := series(c, a, rapid.Int64Range(0, 2e9).Draw(rt, "start"), 500, false)
		direct, err1 := market.Aggregate(&src, a, d, c)
		middle, err2 := market.Aggregate(&src, a, b, c)
		twice, err3 := market.Aggregate(&middle.Bars, b, d, c)
		if err1 != nil || err2 != nil || err3 != nil || !equalBars(direct.Bars, twice.Bars) {
			rt.Fatalf("%v, %v, %v: %v and %v", err1, err2, err3, direct.Bars, twice.Bars)
		}
	})
}

func TestGaps_OfRealBars(t *testing.T) {
	t.Parallel()
	raw := sharedtest.Bars(t, "data/BTCUSDT_1h_raw.csv")
	clean := without(raw, func(i int) bool { return i > 0 && raw.At(i).Equal(raw.At(i-1)) })
	if clean.Len() != raw.Len()-5 {
		t.Errorf("%d of %d bars are left, want 5 duplicates dropped", clean.Len(), raw.Len())
	}
	published := sharedtest.Bars(t, "data/BTCUSDT_1h.csv")
	if !equalBars(clean, published) {
		t.Error("the cleaned bars differ from the cleaned file")
	}
	holes, err := market.Gaps(&clean, market.Hour1, market.Calendar{})
	if err != nil {
		t.Fatal(err)
	}
	hour := func(s string) int64 { return at(t, s+":00:00Z") }
	want := []market.Gap{
		{From: hour("2020-11-30T06"), To: hour("2020-11-30T07"), Missing: 1},
		{From: hour("2020-12-21T15"), To: hour("2020-12-21T18"), Missing: 3},
		{From: hour("2020-12-25T02"), To: hour("2020-12-25T03"), Missing: 1},
		{From: hour("2021-02-11T04"), To: hour("2021-02-11T05"), Missing: 1},
		{From: hour("2021-03-06T02"), To: hour("2021-03-06T03"), Missing: 1},
		{From: hour("2021-04-20T02"), To: hour("2021-04-20T04"), Missing: 2},
		{From: hour("2021-04-25T05"), To: hour("2021-04-25T08"), Missing: 3},
	}
	if !slices.Equal(holes.Gaps, want) || len(holes.OffGrid) != 0 {
		t.Errorf("holes are %+v", holes)
	}
	days, err := market.Aggregate(&clean, market.Hour1, market.Day1, market.Calendar{})
	if err != nil || !slices.Equal(days.Gaps, want) {
		t.Fatalf("aggregating reports %+v, %v", days.Gaps, err)
	}
	if err := days.Bars.Check(); err != nil {
		t.Error(err)
	}
	// Seven days with a hole, and a last day that the file leaves unfinished.
	if n := len(days.Partial); n != 7 && n != 8 {
		t.Errorf("%d partial days: %+v", n, days.Partial)
	}
}

// TestAggregate_EqualsTheVenuesOwnDays holds our days against those the venue
// published, on the days without a hole.
func TestAggregate_EqualsTheVenuesOwnDays(t *testing.T) {
	t.Parallel()
	hours, days := sharedtest.Bars(t, "data/BTCUSDT_1h.csv"), sharedtest.Bars(t, "data/BTCUSDT_1d.csv")
	got, err := market.Aggregate(&hours, market.Hour1, market.Day1, market.Calendar{})
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for i := range days.T[:days.Len()-1] { // the file's last day was still running
		k := got.Bars.Search(days.T[i])
		partial := slices.Contains(got.Partial, k)
		if k == got.Bars.Len() || partial {
			continue
		}
		ours, theirs := got.Bars.At(k), days.At(i)
		// The file rounds each hour's volume to a tenth.
		if math.Abs(ours.V-theirs.V) > 24*0.05+0.05 {
			t.Errorf("%s: volume %v, venue %v", utc(ours.T), ours.V, theirs.V)
		}
		ours.V = theirs.V
		if !ours.Equal(theirs) {
			t.Errorf("%s: %+v, venue %+v", utc(ours.T), ours, theirs)
		}
		compared++
	}
	if compared < 10 {
		t.Errorf("only %d days could be compared", compared)
	}
}

func TestGaps_HolidaysOfRealStocks(t *testing.T) {
	t.Parallel()
	bars := sharedtest.Bars(t, "data/AAPL_1d.csv")
	holes, err := market.Gaps(&bars, market.Day1, calendar(t, market.UTCWeekdays()))
	if err != nil || len(holes.OffGrid) != 0 {
		t.Fatalf("%+v, %v", holes, err)
	}
	missing := 0
	for _, g := range holes.Gaps {
		missing += g.Missing
		if !g.Holiday {
			t.Errorf("a missing day in a daily series may be a holiday: %+v", g)
		}
	}
	weekdays := calendar(t, market.UTCWeekdays()).Count(market.Day1, market.Span{Open: bars.T[0], Close: bars.T[bars.Len()-1] + 1})
	if bars.Len()+missing != weekdays {
		t.Errorf("%d bars and %d missing of %d weekdays", bars.Len(), missing, weekdays)
	}
	good := at(t, "2015-04-03T00:00:00Z") // Good Friday
	if !slices.ContainsFunc(holes.Gaps, func(g market.Gap) bool { return g.From == good && g.Missing == 1 }) {
		t.Error("Good Friday is not among the holes")
	}
}

func TestGap_HolidayMeansWholeSessions(t *testing.T) {
	t.Parallel()
	c := calendar(t, market.USEquities())
	full := series(c, market.Hour1, at(t, "2024-03-11T00:00:00Z"), 21, false)
	for name, tc := range map[string]struct {
		from, to int // missing bars [from, to)
		want     bool
	}{
		"one session":               {7, 14, true},
		"one hour":                  {8, 9, false},
		"a session but one hour":    {7, 13, false},
		"from the middle to an end": {9, 14, false},
		"a session and an hour":     {6, 14, false},
	} {
		b := without(full, func(i int) bool { return i >= tc.from && i < tc.to })
		holes, err := market.Gaps(&b, market.Hour1, c)
		if err != nil || len(holes.Gaps) != 1 || holes.Gaps[0].Holiday != tc.want || holes.Gaps[0].Missing != tc.to-tc.from {
			t.Errorf("%s: %+v, %v", name, holes, err)
		}
	}
}

func TestGaps_OfMonths(t *testing.T) {
	t.Parallel()
	b := series(market.Calendar{}, market.Month1, at(t, "2023-11-01T00:00:00Z"), 6, false)
	b = without(b, func(i int) bool { return i == 2 || i == 3 })
	holes, err := market.Gaps(&b, market.Month1, market.Calendar{})
	want := []market.Gap{{From: at(t, "2024-01-01T00:00:00Z"), To: at(t, "2024-03-01T00:00:00Z"), Missing: 2}}
	if err != nil || !slices.Equal(holes.Gaps, want) {
		t.Errorf("%+v, %v", holes, err)
	}
}
