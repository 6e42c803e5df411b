package provider_test

import (
	"testing"
	"time"

	"candela/internal/data/provider"
	"candela/lib/market"
)

func hours(times ...int64) market.Bars {
	var b market.Bars
	for _, t := range times {
		b.Append(market.Bar{T: t * 3600, O: 1, H: 1, L: 1, C: 1})
	}
	return b
}

func TestBarQuery_Answer(t *testing.T) {
	t.Parallel()
	type want struct {
		bars          int
		running, more bool
		next          int64
	}
	for name, tc := range map[string]struct {
		q    provider.BarQuery
		s    provider.BarRange
		now  float64 // hours
		want want
	}{
		"the newest, one of them running":      {provider.BarQuery{Limit: 9}, provider.BarRange{Bars: hours(1, 2, 3)}, 3.5, want{3, true, false, 0}},
		"the newest, all closed":               {provider.BarQuery{Limit: 9}, provider.BarRange{Bars: hours(1, 2, 3)}, 4.5, want{3, false, false, 0}},
		"a bar that has just ended":            {provider.BarQuery{Limit: 9}, provider.BarRange{Bars: hours(1, 2, 3)}, 4, want{3, true, false, 0}},
		"older ones beyond":                    {provider.BarQuery{Limit: 3}, provider.BarRange{Bars: hours(1, 2, 3), From: 3600}, 9, want{3, false, true, 3600}},
		"more than asked for":                  {provider.BarQuery{Limit: 2}, provider.BarRange{Bars: hours(1, 2, 3), From: 3600}, 9, want{2, false, true, 7200}},
		"nothing at all before":                {provider.BarQuery{Limit: 2}, provider.BarRange{From: 3600}, 9, want{0, false, false, 0}},
		"forward to a stretch's end":           {provider.BarQuery{From: 3600, Limit: 9}, provider.BarRange{Bars: hours(1, 2), To: 3 * 3600}, 9, want{2, false, true, 3 * 3600}},
		"forward over a stretch without bars":  {provider.BarQuery{From: 3600, Limit: 9}, provider.BarRange{To: 3 * 3600}, 9, want{0, false, true, 3 * 3600}},
		"forward to the end of what was asked": {provider.BarQuery{From: 3600, To: 3 * 3600, Limit: 9}, provider.BarRange{Bars: hours(1, 2), To: 3 * 3600}, 9, want{2, false, false, 0}},
		"forward to the present":               {provider.BarQuery{From: 3600, Limit: 9}, provider.BarRange{Bars: hours(1, 2), To: 3 * 3600}, 2.5, want{2, true, false, 0}},
	} {
		tc.q.Interval = market.Hour1
		p := tc.q.PageFromRange(tc.s, time.Unix(int64(tc.now*3600), 0))
		if got := (want{p.Bars.Len(), p.Running, p.More, p.Next}); got != tc.want {
			t.Errorf("%s: got %+v, want %+v", name, got, tc.want)
		}
	}
}

func TestBarQuery_Empty(t *testing.T) {
	t.Parallel()
	for q, want := range map[provider.BarQuery]bool{
		{}: false, {From: 5}: false, {From: 5, To: 5}: true, {To: -1}: true, {From: -9, To: -1}: true, {From: -9, To: 9}: false,
	} {
		if q.Empty() != want {
			t.Errorf("%+v: %v", q, !want)
		}
	}
}

func TestCheckGrid(t *testing.T) {
	t.Parallel()
	good, back := hours(1, 2, 5), hours(2, 1)
	if err := provider.CheckAligned(&good, market.Hour1); err != nil {
		t.Error(err)
	}
	if provider.CheckAligned(&back, market.Hour1) == nil || provider.CheckAligned(&good, market.Hour4) == nil {
		t.Error("disorder or bars off the grid are not noticed")
	}
}
