package aggregate_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"candela/internal/data/provider"
	"candela/internal/data/provider/aggregate"
	"candela/internal/data/provider/providertest"
	"candela/internal/data/provider/sample"
	"candela/lib/market"
)

const now = 1735689600 + 12345

func clock() time.Time { return time.Unix(now, 0) }

// narrow is sample data from a venue with few intervals and small pages.
type narrow struct {
	*sample.Provider
	without []int64 // open times that are missing
	since   int64
}

func (n narrow) Capabilities() provider.Caps {
	c := n.Provider.Capabilities()
	c.Intervals = []market.Interval{market.Minute1, market.Minute5, market.Minute15, market.Hour1, market.Hour6, market.Day1}
	c.Builds, c.PageSize = nil, 30
	return c
}

func (n narrow) Bars(ctx context.Context, q provider.BarQuery) (provider.BarPage, error) {
	q, err := n.Capabilities().Normalize("narrow", q)
	if err != nil {
		return provider.BarPage{}, err
	}
	if n.since != 0 && q.From != 0 {
		q.From = max(q.From, n.since)
	}
	page, err := n.Provider.Bars(ctx, q)
	kept := market.MakeBars(page.Bars.Len(), true)
	for i, t := range page.Bars.T {
		if !slices.Contains(n.without, t) && t >= n.since {
			kept.Append(page.Bars.At(i))
		}
	}
	page.Bars = kept
	if n.since != 0 && q.From == 0 && page.Next <= n.since {
		page.More, page.Next = false, 0
	}
	return page, err
}

func built(n narrow) provider.Provider {
	n.Provider = sample.New(sample.Config{Seed: 3, Now: clock})
	return aggregate.Over(n, clock)
}

func TestProvider_KeepsTheContract(t *testing.T) {
	for _, iv := range []market.Interval{market.Minute3, market.Minute5, market.Hour4, 7 * market.Minute1, 2 * market.Day1, market.Week1, 2 * market.Week1, market.Month1, 3 * market.Month1} {
		t.Run(iv.String(), func(t *testing.T) {
			to := now - now%iv.Seconds()
			providertest.Run(t, providertest.Target{
				New:    func(tb testing.TB) provider.Provider { tb.Helper(); return built(narrow{}) },
				Symbol: market.Symbol{Name: "SAMPLE"}, Unknown: market.Symbol{Name: "BTCUSDT"},
				Interval: iv, From: to - 50*iv.Seconds(), To: to,
			})
		})
	}
}

// intervals are the named ones and others of every kind.
func intervals() []market.Interval {
	return append(market.Intervals(), 7*market.Minute1, 45*market.Minute1, 11*market.Hour1, 2*market.Day1, 2*market.Week1, 3*market.Month1, 5*market.Month1)
}

// TestBars_EqualThoseOfAVenueThatHasThem reads any range both ways: sample bars
// of a longer interval equal the sum of shorter ones to the last digit.
func TestBars_EqualThoseOfAVenueThatHasThem(t *testing.T) {
	t.Parallel()
	rich := sample.New(sample.Config{Seed: 3, Now: clock})
	poor := built(narrow{})
	rapid.Check(t, func(rt *rapid.T) {
		q := provider.BarQuery{Interval: rapid.SampledFrom(intervals()).Draw(rt, "interval"), Limit: rapid.IntRange(1, 8).Draw(rt, "limit")}
		step := q.Interval.Seconds()
		if rapid.Bool().Draw(rt, "from") {
			q.From = now - rapid.Int64Range(-2*step, 40*step).Draw(rt, "back")
		}
		if rapid.Bool().Draw(rt, "to") {
			q.To = max(q.From, now-rapid.Int64Range(-2*step, 40*step).Draw(rt, "end"))
		}
		want, err := provider.Read(t.Context(), rich, q, q.Limit)
		if err != nil {
			rt.Fatal(err)
		}
		got, err := provider.Read(t.Context(), poor, q, q.Limit)
		if err != nil {
			rt.Fatal(err)
		}
		got.Built = 0
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			rt.Fatalf("%+v: %s", q, diff)
		}
	})
}

func TestBars_MarkHolesAndInventNothing(t *testing.T) {
	t.Parallel()
	day := int64(now - now%86400)
	hole := day - 86400 + 2*3600 // inside the first 4h bar of the day before
	p := built(narrow{without: []int64{hole}, since: day - 2*86400 + 3600})
	for name, q := range map[string]provider.BarQuery{
		"newest": {Interval: market.Hour4, To: day, Limit: 20},
		"oldest": {Interval: market.Hour4, From: day - 3*86400, To: day, Limit: 20},
	} {
		page, err := provider.Read(t.Context(), p, q, q.Limit)
		if err != nil {
			t.Fatal(err)
		}
		if n := page.Bars.Len(); n != 11 || page.Bars.T[0] != day-2*86400+4*3600 {
			t.Errorf("%s: %d bars from %v; the one whose beginning is not known must be left out", name, n, page.Bars.T)
		}
		want := []market.Gap{{From: hole, To: hole + 3600, Missing: 1}}
		if diff := cmp.Diff(want, page.Holes); diff != "" || page.Built != market.Hour1 {
			t.Errorf("%s: built from %v: %s", name, page.Built, diff)
		}
	}
}

func TestOver_LeavesAWholeProviderAlone(t *testing.T) {
	t.Parallel()
	p := sample.New(sample.Config{})
	if aggregate.Over(p, clock) != provider.Provider(p) {
		t.Error("a provider that lacks nothing was wrapped")
	}
}

// TestStream_EmitsWhatTheVenueWould streams the intervals a venue lacks and holds
// them against the bars of one that has them.
func TestStream_EmitsWhatTheVenueWould(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		venue := sample.New(sample.Config{Seed: 3, Now: time.Now})
		p := aggregate.Over(narrow{Provider: venue}, time.Now)
		streamer, ok := p.(provider.Streamer)
		if !ok {
			t.Fatal("a live venue must stay one")
		}
		symbol := market.Symbol{Name: "SAMPLE"}
		subs := []provider.Sub{{Symbol: symbol, Interval: market.Minute3}, {Symbol: symbol, Interval: market.Minute1}, {Symbol: symbol, Interval: market.Minute30}}
		out := make(chan provider.Event)
		ctx, stop := context.WithTimeout(t.Context(), 95*time.Minute+time.Second)
		defer stop()
		done := make(chan error, 1)
		go func() {
			done <- streamer.Stream(ctx, subs, nil, providertest.Into(out))
			close(out)
		}()
		var events []provider.Event
		closed := map[market.Interval]int{}
		for e := range out {
			events = append(events, e)
			if e.Kind != provider.Closed {
				continue
			}
			closed[e.Interval]++
			page, err := venue.Bars(t.Context(), provider.BarQuery{Interval: e.Interval, From: e.Bar.T, Limit: 1})
			if err != nil || !page.Bars.At(0).Equal(e.Bar) {
				t.Fatalf("%v closed as %+v, the venue says %+v, %v", e.Interval, e.Bar, page.Bars, err)
			}
		}
		if err := <-done; !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("ended with %v", err)
		}
		if err := providertest.CheckEvents(subs, events); err != nil {
			t.Error(err)
		}
		if closed[market.Minute3] != 31 || closed[market.Minute1] != 95 || closed[market.Minute30] != 3 {
			t.Errorf("closed %v", closed)
		}
	})
}
