package marketdata_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"candela/internal/data/marketdata"
	"candela/internal/data/provider"
	"candela/lib/fault"
	"candela/lib/market"
)

func TestBars_ManyCallersMakeOneRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := &venue{name: "binance", delay: 3 * time.Second}
		s := service(t, nil, v)
		var all sync.WaitGroup
		for i := range 500 {
			all.Go(func() {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if i == 0 {
					// The one that began it leaves early; the others must not notice.
					time.AfterFunc(time.Second, cancel)
				} else if i > 100 {
					time.Sleep(time.Duration(i) * time.Millisecond)
				}
				set, err := s.Bars(ctx, btc(200, 300))
				if i == 0 && errors.Is(err, context.Canceled) {
					return
				}
				if err != nil || set.Bars.Len() != 500 || set.Stale || set.Provider != "binance" {
					t.Errorf("%d bars from %s, stale %v, %v", set.Bars.Len(), set.Provider, set.Stale, err)
				}
			})
		}
		all.Wait()
		if n := len(v.calls()); n != 1 || v.asked != 0 {
			t.Errorf("%d requests for bars and %d for instruments, want 1 and 0", n, v.asked)
		}
	})
}

// A caller that looked before a read was over and comes after it must not read again.
func TestBars_ACallJustAfterAReadDoesNotReadAgain(t *testing.T) {
	t.Parallel()
	for range 100 {
		v := &venue{name: "binance"}
		s := service(t, func(c *marketdata.Config) { c.MaxAge = time.Hour }, v)
		var all sync.WaitGroup
		for range 64 {
			all.Go(func() {
				if _, err := s.Bars(t.Context(), btc(2, 0)); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if n := len(v.calls()); n != 1 {
			t.Fatalf("%d requests, want 1", n)
		}
	}
}

func TestBars_AbandonedReadIsCancelled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := &venue{name: "binance", delay: time.Hour}
		s := service(t, func(c *marketdata.Config) { c.Timeout = 2 * time.Hour }, v)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := s.Bars(ctx, btc(10, 0)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error is %v", err)
		}
		synctest.Wait()
		v.delay = 0
		if set, err := s.Bars(t.Context(), btc(10, 0)); err != nil || set.Bars.Len() != 10 {
			t.Errorf("%d bars, %v", set.Bars.Len(), err)
		}
		if waited := time.Since(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)); waited > 2*time.Second {
			t.Errorf("the read went on for %v with nobody waiting", waited)
		}
	})
}

func TestBars_ReadOnlyTheTail(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := &venue{name: "binance"}
		s := service(t, nil, v)
		ask := func(n int) {
			t.Helper()
			set, err := s.Bars(t.Context(), btc(n, 0))
			if err != nil {
				t.Fatal(err)
			}
			want := v.truth(t, market.Minute5, n)
			if diff := cmp.Diff(want.Bars, set.Bars, cmpopts.EquateNaNs()); diff != "" || set.Forming != want.Running {
				t.Fatalf("running %v: %s", set.Forming, diff)
			}
			if set.AsOf != time.Now() {
				t.Errorf("as of %v at %v", set.AsOf, time.Now())
			}
		}
		time.Sleep(7 * time.Second)
		ask(1500)
		time.Sleep(31 * time.Minute)
		ask(1500)
		time.Sleep(10 * time.Second)
		ask(2000)
		q := v.calls()
		if len(q) != 5 {
			t.Fatalf("%d requests: %+v", len(q), q)
		}
		// Two pages at first, then the tail, then the tail and what is older.
		last := time.Now().Add(-31*time.Minute - 10*time.Second).Unix()
		if q[2].From < last-11*60 || q[3].From < q[2].From+25*60 || q[4].From != 0 || q[4].To == 0 || q[4].Limit > 500 {
			t.Errorf("requests: %+v", q)
		}
		if set, err := s.Bars(t.Context(), btc(2000, 0)); err != nil || len(v.calls()) != 5 || !set.AsOf.Equal(time.Now()) {
			t.Errorf("a fresh answer was read again: %v", err)
		}
	})
}

// TestBars_EqualTheVenueWhateverHappens draws questions, pauses and outages and
// holds every answer against the venue: bars are those of AsOf, never others.
func TestBars_EqualTheVenueWhateverHappens(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		// Drawn before the bubble, which has its own goroutine.
		type move struct {
			wait           time.Duration
			bars, interval int
			down           bool
		}
		intervals := []market.Interval{market.Minute1, market.Minute3, market.Hour4}
		moves := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) move {
			return move{
				time.Duration(rapid.IntRange(0, 6*3600).Draw(rt, "wait")) * time.Second,
				rapid.IntRange(1, 400).Draw(rt, "bars"), rapid.IntRange(0, 2).Draw(rt, "interval"), rapid.Bool().Draw(rt, "down"),
			}
		}), 1, 12).Draw(rt, "moves")
		synctest.Test(t, func(t *testing.T) {
			start := time.Now().Unix()
			v := &venue{name: "binance", since: start - 300*60, caps: func(c *provider.Caps) {
				c.PageSize, c.Intervals = 70, []market.Interval{market.Minute1, market.Hour1}
			}}
			s := service(t, func(c *marketdata.Config) { c.MaxBars = 700 }, v)
			for _, m := range moves {
				time.Sleep(m.wait)
				v.set(nil)
				if m.down {
					v.set(fault.Unreachable(errors.New("down"), 0, "binance is down"))
				}
				r := btc(m.bars, 0)
				r.Interval = intervals[m.interval]
				set, err := s.Bars(t.Context(), r)
				if err != nil {
					if f := fault.Of(err); f == nil || f.Kind != fault.Unavailable && f.Code != "no_bars" {
						t.Fatalf("%+v: %v", m, err)
					}
					continue
				}
				if set.Stale && !m.down && time.Since(set.AsOf) > 2*time.Second && m.wait > 2*time.Second {
					t.Fatalf("%+v: stale though the venue answers", m)
				}
				for i := range set.Bars.Len() {
					if set.Forming && i == set.Bars.Len()-1 {
						continue
					}
					page, err := v.bars().Bars(t.Context(), provider.BarQuery{Interval: r.Interval, From: set.Bars.T[i], Limit: 1})
					if err != nil || page.Bars.T[0] != set.Bars.T[i] || r.Interval != market.Hour4 && !page.Bars.At(0).Equal(set.Bars.At(i)) {
						t.Fatalf("%+v: bar %d is %+v, the venue has %+v", m, i, set.Bars.At(i), page.Bars)
					}
				}
				if holes, err := market.Gaps(&set.Bars, r.Interval, market.Calendar{}); err != nil || len(holes.Gaps)+len(holes.OffGrid) > 0 {
					t.Fatalf("%+v: %+v %v", m, holes, err)
				}
			}
		})
	})
}

// failures are all the ways in which a read can go wrong.
func failures() map[string]func(*venue) {
	set := func(err error) func(*venue) { return func(v *venue) { v.fail = err } }
	spoil := func(change func(*provider.BarPage)) func(*venue) { return func(v *venue) { v.spoil = change } }
	return map[string]func(*venue){
		"no answer":            set(fault.Unreachable(errors.New("dial"), 0, "binance: BTCUSDT: no answer")),
		"a ban":                set(fault.Unreachable(nil, 2*time.Minute, "binance: BTCUSDT: HTTP 418")),
		"a limit of our own":   set(fault.Unreachable(nil, 19907322398, "binance: BTCUSDT: its limit is used up; try again in 20s")),
		"region refused":       set(&fault.Error{Kind: fault.Unsupported, Code: "region_refused", Message: "binance: HTTP 451"}),
		"keys refused":         set(&fault.Error{Kind: fault.Unauthorized, Code: "keys_refused", Message: "binance: HTTP 401"}),
		"unknown symbol":       set(provider.UnknownSymbol("binance", market.Symbol{Name: "BTCUSDT"})),
		"unsupported interval": set(provider.UnsupportedInterval("binance", market.Minute5, provider.Caps{})),
		"an unmarked error":    set(errors.New("json: cannot unmarshal")),
		"a deadline":           set(context.DeadlineExceeded),
		"a stray cancel":       set(context.Canceled),
		"an empty answer":      spoil(func(p *provider.BarPage) { *p = provider.BarPage{} }),
		"made-up bars":         spoil(func(p *provider.BarPage) { p.Synthetic = true }),
		"bars out of order":    spoil(func(p *provider.BarPage) { p.Bars.T = append([]int64{}, p.Bars.T...); slices.Reverse(p.Bars.T) }),
		"milliseconds": spoil(func(p *provider.BarPage) {
			p.Bars.T = append([]int64{}, p.Bars.T...)
			for i := range p.Bars.T {
				p.Bars.T[i] *= 1000
			}
		}),
		"no column": spoil(func(p *provider.BarPage) { p.Bars.C = nil }),
		"a hang":    func(v *venue) { v.delay = time.Hour },
	}
}

func TestBars_AFailureNeverBecomesSampleData(t *testing.T) {
	t.Parallel()
	for name, breaks := range failures() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				v := &venue{name: "binance"}
				breaks(v)
				s := service(t, nil, v, &venue{name: "coinbase"})
				set, err := s.Bars(t.Context(), btc(10, 5))
				if err == nil {
					t.Fatalf("a broken venue gave %+v", set)
				}
				f := fault.Of(err)
				if f == nil || f.Kind == fault.Internal {
					t.Fatalf("a client cannot read %v", err)
				}
				if !strings.Contains(f.Message, "binance") || f.Kind == fault.Unavailable && (!strings.Contains(f.Message, "BTCUSDT") || !strings.Contains(f.Message, "coinbase")) {
					t.Errorf("the error does not say whom it is about and what to try: %s", f.Message)
				}
				if again := strings.Contains(f.Message, "try again"); again && !f.Retryable {
					t.Errorf("asks to repeat what will fail again: %s", f.Message)
				}
				if strings.Count(f.Message, "try again") > 1 || strings.Contains(f.Message, "9073") {
					t.Errorf("says the same twice, or to the nanosecond: %s", f.Message)
				}
				if n := len(v.calls()); n > 1 {
					t.Errorf("%d requests", n)
				}
				if again, err := s.Bars(t.Context(), btc(10, 5)); err == nil || len(v.calls()) > 1 {
					t.Errorf("a second question at once: %+v, %v after %d requests", again, err, len(v.calls()))
				}
			})
		})
	}
}

func TestBars_StaleWithAMark(t *testing.T) {
	t.Parallel()
	for name, breaks := range failures() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				v := &venue{name: "binance"}
				s := service(t, nil, v)
				time.Sleep(30 * time.Second)
				good, err := s.Bars(t.Context(), btc(100, 50))
				if err != nil {
					t.Fatal(err)
				}
				read := time.Now()
				time.Sleep(time.Minute)
				v.mu.Lock()
				breaks(v)
				v.mu.Unlock()
				got, err := s.Bars(t.Context(), btc(100, 50))
				if name == "unknown symbol" || name == "unsupported interval" {
					if err == nil {
						t.Error("a symbol or interval that the venue denies was served")
					}
					return
				}
				if err != nil || !got.Stale || !got.AsOf.Equal(read) || !got.Forming {
					t.Fatalf("stale %v, running %v, as of %v, %v", got.Stale, got.Forming, got.AsOf, err)
				}
				if diff := cmp.Diff(good.Bars, got.Bars, cmpopts.EquateNaNs()); diff != "" {
					t.Error(diff)
				}
				if _, err := s.Bars(t.Context(), btc(500, 50)); err == nil {
					t.Error("fewer bars than are to be shown were served")
				}
				time.Sleep(5 * time.Minute)
				if got, err := s.Bars(t.Context(), btc(100, 0)); err != nil || got.Forming || got.Bars.T[99] != good.Bars.T[148] {
					t.Errorf("the running bar is over and was never seen to close: running %v, %v", got.Forming, err)
				}
				v.mu.Lock()
				v.fail, v.spoil, v.delay = nil, nil, 0
				v.mu.Unlock()
				time.Sleep(2 * time.Minute)
				if got, err := s.Bars(t.Context(), btc(100, 50)); err != nil || got.Stale || !got.AsOf.Equal(time.Now()) {
					t.Errorf("after the venue came back: stale %v, %v", got.Stale, err)
				}
			})
		})
	}
}

func TestBars_ARevisedPastIsReadAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := &venue{name: "binance"}
		s := service(t, nil, v)
		if _, err := s.Bars(t.Context(), btc(100, 0)); err != nil {
			t.Fatal(err)
		}
		v.mu.Lock()
		v.spoil = func(p *provider.BarPage) { // a split, two for one
			for _, column := range [][]float64{p.Bars.O, p.Bars.H, p.Bars.L, p.Bars.C} {
				for i := range column {
					column[i] /= 2
				}
			}
		}
		v.mu.Unlock()
		time.Sleep(time.Minute)
		set, err := s.Bars(t.Context(), btc(100, 0))
		if err != nil {
			t.Fatal(err)
		}
		want := v.truth(t, market.Minute5, 100)
		for i := range want.Bars.Len() {
			if set.Bars.C[i] != want.Bars.C[i]/2 {
				t.Fatalf("bar %d closes at %v beside %v", i, set.Bars.C[i], want.Bars.C[i]/2)
			}
		}
	})
}

func TestBars_ChooseTheProvider(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		symbol   string
		provider string
		refusal  string
		sample   bool
	}{
		"no symbol is sample data":        {"", "sample", "", true},
		"sample data by name":             {"sample:SAMPLE-7", "sample", "", true},
		"a pair in a crypto currency":     {"BTCUSDT", "binance", "", false},
		"another":                         {"ETHBTC", "binance", "", false},
		"and another":                     {"SOLFDUSD", "binance", "", false},
		"the currency alone is ambiguous": {"BTC", "", "the symbol BTC alone is ambiguous", false},
		"unless its venue is named":       {"yahoo:BTC", "yahoo", "", false},
		"a stock":                         {"AAPL", "yahoo", "", false},
		"a currency":                      {"EURUSD=X", "yahoo", "", false},
		"a venue is taken at its word":    {"coinbase:BTC-USD", "coinbase", "", false},
		"also against the rule":           {"yahoo:BTCUSDT", "yahoo", "", false},
		"files go first":                  {"FILED", "csv", "", false},
		"what no file has goes by rule":   {"NOFILEUSDT", "binance", "", false},
		"a venue that is not there":       {"binanec:BTCUSDT", "", `did you mean "binance"?`, false},
		"a symbol that nobody has":        {"NONE", "", `yahoo has no symbol "NONE"`, false},
		"sample data knows its own names": {"sample:BTCUSDT", "", `sample has no symbol "BTCUSDT"`, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := service(t, func(c *marketdata.Config) { c.Routes.Preferred = []string{"csv", "absent"} },
					&venue{name: "binance"}, &venue{name: "yahoo"}, &venue{name: "coinbase"}, &folder{venue: &venue{name: "csv"}})
				r := marketdata.Request{Interval: market.Hour4, Bars: 3}
				if tc.symbol != "" {
					var err error
					if r.Symbol, err = market.ParseSymbol(tc.symbol); err != nil {
						t.Fatal(err)
					}
				}
				set, err := s.Bars(t.Context(), r)
				if p, routed := s.Route(t.Context(), r.Symbol); err == nil && (routed != nil || p.Name() != set.Provider) {
					t.Errorf("live bars come from elsewhere: %v", routed)
				}
				if tc.refusal != "" {
					if err == nil || !strings.Contains(err.Error(), tc.refusal) {
						t.Errorf("%s gave %s and %v", tc.symbol, set.Provider, err)
					}
					return
				}
				if err != nil || set.Provider != tc.provider || set.Synthetic != tc.sample || set.Bars.Len() != 3 {
					t.Errorf("%s gave %d bars of %q, synthetic %v, %v", tc.symbol, set.Bars.Len(), set.Provider, set.Synthetic, err)
				}
			})
		})
	}
}

// folder has the symbol FILED alone.
type folder struct{ *venue }

func (f *folder) Instrument(ctx context.Context, s market.Symbol) (provider.Instrument, error) {
	if s.Name != "FILED" {
		return provider.Instrument{}, provider.UnknownSymbol("csv", s)
	}
	return f.venue.Instrument(ctx, s)
}

func (f *folder) Bars(ctx context.Context, q provider.BarQuery) (provider.BarPage, error) {
	if q.Symbol.Name != "FILED" {
		return provider.BarPage{}, provider.UnknownSymbol("csv", q.Symbol)
	}
	return f.venue.Bars(ctx, q)
}

func TestBars_AFailureNamesVenuesThatMayHaveTheSymbol(t *testing.T) {
	t.Parallel()
	down := fault.Unreachable(errors.New("no such host"), 0, "binance BTCUSDT: the venue does not answer")
	s := service(t, nil, &venue{name: "binance", fail: down}, &venue{name: "kraken"}, &venue{name: "yahoo", fail: down}, &venue{name: "alpaca"})
	cases := map[string]string{
		"binance:BTCUSDT": "binance gave no 1h bars of BTCUSDT: the venue does not answer; try again later, or name another venue: kraken:BTC/USDT",
		"yahoo:AAPL":      "yahoo gave no 1h bars of AAPL: binance BTCUSDT: the venue does not answer; try again later, or name another venue: alpaca:AAPL",
	}
	for text, want := range cases {
		symbol, err := market.ParseSymbol(text)
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Bars(t.Context(), marketdata.Request{Symbol: symbol, Interval: market.Hour1, Bars: 5})
		if f := fault.Of(err); f == nil || f.Message != want || !strings.HasSuffix(err.Error(), want+": no such host") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestBars_WithoutVenuesARealSymbolIsRefused(t *testing.T) {
	t.Parallel()
	s := service(t, nil)
	_, err := s.Bars(t.Context(), btc(10, 0))
	if f := fault.Of(err); f == nil || f.Code != "no_source" || !strings.Contains(f.Message, "--csv-dir") {
		t.Errorf("error is %v", err)
	}
	for _, r := range []marketdata.Request{{Interval: market.Hour1}, {Bars: 5}, {Interval: market.Hour1, Bars: 1, Warmup: 1 << 20}} {
		if _, err := s.Bars(t.Context(), r); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%+v: %v", r, err)
		}
	}
}

func TestBars_IntervalsAVenueLacksAreBuilt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := &venue{name: "binance", caps: func(c *provider.Caps) { c.Intervals = []market.Interval{market.Minute1, market.Hour1} }}
		hole := time.Now().Unix() - 2*3600
		v.spoil = func(p *provider.BarPage) {
			kept := market.MakeBars(p.Bars.Len(), true)
			for i, at := range p.Bars.T {
				if at != hole {
					kept.Append(p.Bars.At(i))
				}
			}
			p.Bars = kept
		}
		s := service(t, nil, v)
		time.Sleep(time.Minute)
		r := btc(20, 0)
		r.Interval = market.Hour4
		for range 2 { // the second answer comes from what was kept
			set, err := s.Bars(t.Context(), r)
			if err != nil || set.Bars.Len() != 20 || set.BuiltFrom != market.Hour1 || !set.Forming {
				t.Fatalf("%d bars built from %v, %v", set.Bars.Len(), set.BuiltFrom, err)
			}
			if diff := cmp.Diff([]market.Gap{{From: hole, To: hole + 3600, Missing: 1}}, set.Holes); diff != "" {
				t.Error(diff)
			}
		}
	})
}

func TestService_MemoryIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := &venue{name: "binance"}
		s := service(t, func(c *marketdata.Config) { c.MaxBars = 3000 }, v)
		for i := range 40 {
			r := btc(500, 0)
			r.Symbol.Name = fmt.Sprintf("C%dUSDT", i)
			if _, err := s.Bars(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
		if bars, series := s.CacheSize(); bars > 3000 || series < 4 || series > 5 {
			t.Errorf("%d bars of %d series are kept", bars, series)
		}
		s.Close()
		if _, err := s.Bars(t.Context(), btc(500, 0)); fault.KindOf(err) != fault.Unavailable {
			t.Errorf("after Close: %v", err)
		}
	})
}
