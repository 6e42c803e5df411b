package provider_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"candela/internal/data/provider"
	"candela/lib/fault"
	"candela/lib/market"
)

func caps() provider.Caps {
	return provider.Caps{Intervals: []market.Interval{market.Hour1, market.Day1}, PageSize: 100}
}

func TestCaps_Accept(t *testing.T) {
	t.Parallel()
	good := provider.BarQuery{Symbol: market.Symbol{Name: "A"}, Interval: market.Hour1, From: 10, To: 20, Limit: 5}
	cases := map[string]struct {
		change func(*provider.BarQuery)
		limit  int
		field  string // of the fault; empty: none
	}{
		"a plain query":             {func(*provider.BarQuery) {}, 5, ""},
		"no limit is a page":        {func(q *provider.BarQuery) { q.Limit = 0 }, 100, ""},
		"a huge limit is a page":    {func(q *provider.BarQuery) { q.Limit = math.MaxInt }, 100, ""},
		"a negative limit":          {func(q *provider.BarQuery) { q.Limit = -1 }, 0, "limit"},
		"an empty range":            {func(q *provider.BarQuery) { q.To = q.From }, 5, ""},
		"a range that runs back":    {func(q *provider.BarQuery) { q.To = 9 }, 0, "to"},
		"a range before 1970":       {func(q *provider.BarQuery) { q.From, q.To = -20, -10 }, 5, ""},
		"no start":                  {func(q *provider.BarQuery) { q.From, q.To = 0, -10 }, 5, ""},
		"an interval it has not":    {func(q *provider.BarQuery) { q.Interval = market.Hour4 }, 0, "interval"},
		"an interval there is none": {func(q *provider.BarQuery) { q.Interval = 0 }, 0, "interval"},
	}
	for name, tc := range cases {
		q := good
		tc.change(&q)
		got, err := caps().Normalize("there", q)
		if tc.field == "" && (err != nil || got.Limit != tc.limit) {
			t.Errorf("%s: limit %d, %v", name, got.Limit, err)
		}
		if f := fault.Of(err); tc.field != "" && (f == nil || f.Kind != fault.Invalid || f.Field != tc.field) {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := caps().Normalize("there", provider.BarQuery{Interval: market.Hour4})
	if got := fault.Of(err).Message; !strings.Contains(got, "an interval of there: 1h 1d") || !strings.Contains(got, `"4h"`) {
		t.Errorf("the refusal reads %q", got)
	}
}

func TestUnknownSymbol(t *testing.T) {
	t.Parallel()
	err := provider.UnknownSymbol("there", market.Symbol{Venue: "there", Name: "BTCUSD"}, "BTCUSDT")
	f := fault.Of(err)
	if f == nil || f.Kind != fault.NotFound || f.Message != `there has no symbol "BTCUSD"; did you mean "BTCUSDT"?` || f.Value != "there:BTCUSD" {
		t.Errorf("got %+v", f)
	}
	if f := fault.Of(provider.UnknownSymbol("there", market.Symbol{Name: "X"})); f.Message != `there has no symbol "X"` {
		t.Errorf("got %q", f.Message)
	}
}

// TestBarQuery_PagesJoinToTheWhole draws bars with holes, a range and a page
// size, and follows the pages in either direction.
func TestBarQuery_PagesJoinToTheWhole(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		times := rapid.SliceOfNDistinct(rapid.Int64Range(-50, 50), 0, 40, rapid.ID[int64]).Draw(rt, "times")
		slices.Sort(times)
		for i := range times {
			times[i] *= 60 // bars open at whole minutes
		}
		var all market.Bars
		for _, at := range times {
			all.Append(market.Bar{T: at})
		}
		q := provider.BarQuery{From: rapid.Int64Range(-3600, 3600).Draw(rt, "from"), To: rapid.Int64Range(-3600, 3600).Draw(rt, "to"), Interval: market.Hour1}
		q.Limit = rapid.IntRange(1, 9).Draw(rt, "limit")
		q, err := caps().Normalize("there", q)
		if err != nil {
			rt.Skip()
		}
		var want []int64
		for _, at := range times {
			if (q.From == 0 || at >= q.From) && (q.To == 0 || at < q.To) {
				want = append(want, at)
			}
		}
		var got []int64
		forward := q.From != 0
		for page := 0; ; page++ {
			p := q.PageFromAll(&all, true)
			if p.Bars.Len() > q.Limit || page > len(times) {
				rt.Fatalf("page %d has %d bars for a limit of %d", page, p.Bars.Len(), q.Limit)
			}
			newest := p.Bars.Len() > 0 && p.Bars.T[p.Bars.Len()-1] == times[len(times)-1]
			if p.Running != newest {
				rt.Fatalf("running is %v for %v of %v", p.Running, p.Bars.T, times)
			}
			if forward {
				got = append(got, p.Bars.T...)
			} else {
				got = slices.Concat(p.Bars.T, got)
			}
			if !p.More {
				break
			}
			if forward != (q.Following(p).From != 0) {
				rt.Fatal("the direction changed")
			}
			q = q.Following(p)
		}
		if !slices.Equal(got, want) {
			rt.Fatalf("pages give %v, want %v", got, want)
		}
	})
}
