package engine_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/data/provider"
	"candela/lib/fault"
	"candela/lib/market"
)

func TestQuote_IsNewOrAskedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, steps(map[time.Duration]float64{time.Minute: 101.25}))
		defer s.stop()
		btc := market.Symbol{Venue: "venue", Name: "BTC"}
		if _, known := s.LastQuote(btc); known {
			t.Error("a price is known before anyone asked")
		}
		q, err := s.Quote(t.Context(), btc)
		if err != nil || q.Last.String() != "100" || time.Since(q.At) > 2*time.Second {
			t.Errorf("%+v, %v", q, err)
		}
		if _, err := s.Quote(t.Context(), market.Symbol{Venue: "venue", Name: "NONE"}); fault.KindOf(err) != fault.NotFound {
			t.Errorf("a symbol that is not there: %v", err)
		}
		s.Follow([]market.Symbol{btc})
		time.Sleep(2 * time.Minute)
		if q, known := s.LastQuote(btc); !known || q.Last.String() != "101.25" || time.Since(q.At) > tickEvery*time.Second {
			t.Errorf("%+v, %v", q, known)
		}
		s.mu.Lock()
		observed := slices.Clone(s.observed)
		s.mu.Unlock()
		if len(observed) == 0 || observed[0].Symbol != btc || observed[0].Interval != market.Minute1 {
			t.Errorf("%d events observed", len(observed))
		}
		if got := s.venue.streamed(); !slices.Equal(got, []string{"venue:BTC 1m"}) {
			t.Errorf("streams %v", got)
		}
		s.venue.setDown(true)
		time.Sleep(3 * time.Minute)
		if lost := s.LaggingVenues(); !slices.Equal(lost, []string{"venue"}) {
			t.Errorf("lost %v", lost)
		}
		if _, err := s.Quote(t.Context(), btc); fault.KindOf(err) != fault.Unavailable {
			t.Errorf("a quote of a venue that is away: %v", err)
		}
		s.venue.setDown(false)
		time.Sleep(3 * time.Minute)
		if lost := s.LaggingVenues(); len(lost) != 0 || s.logged("venue prices stalled") != 1 || s.logged("venue prices resumed") != 1 {
			t.Errorf("lost %v: %s", lost, s.log.String())
		}
		s.Follow(nil)
		time.Sleep(2 * time.Minute)
		if got := s.venue.streamed(); len(got) != 0 {
			t.Errorf("streams %v", got)
		}
		if _, known := s.LastQuote(btc); known {
			t.Error("a price is known that nobody follows")
		}
	})
}

// TestQuote_HasTheMark holds that a mark price stays beside the last price, fires no alert and reaches orders.
func TestQuote_HasTheMark(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, steps(map[time.Duration]float64{time.Minute: 101.25}))
		defer s.stop()
		s.venue.mu.Lock()
		s.venue.mark = 100.5
		s.venue.mu.Unlock()
		btc := market.Symbol{Venue: "venue", Name: "BTC"}
		s.Follow([]market.Symbol{btc})
		time.Sleep(2 * time.Minute)
		q, known := s.LastQuote(btc)
		if !known || q.Last.String() != "101.25" || q.Mark.String() != "100.5" || time.Since(q.MarkedAt) > tickEvery*time.Second {
			t.Errorf("%+v, %v", q, known)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if !slices.ContainsFunc(s.observed, func(e provider.Event) bool { return e.Kind == provider.Marked && e.Price == 100.5 }) {
			t.Error("orders do not see the mark")
		}
	})
}

// ended is a venue in whose market nobody has traded since a time.
type ended struct {
	*venue
	at    int64
	hours market.Calendar
}

func (v ended) Bars(ctx context.Context, q provider.BarQuery) (provider.BarPage, error) {
	if q.To == 0 || q.To > v.at {
		q.To = v.at
	}
	return v.venue.Bars(ctx, q)
}

func (v ended) Instrument(ctx context.Context, s market.Symbol) (provider.Instrument, error) {
	i, err := v.venue.Instrument(ctx, s)
	i.Calendar = v.hours
	return i, err
}

// TestQuote_OfAClosedMarketIsOld holds that the last price of a market that is
// closed, or of a file that ended, does not become new by being read again: paper
// orders would fill at it. Nor does that of an open market in which nobody trades:
// the feed may be behind.
func TestQuote_OfAClosedMarketIsOld(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		since     time.Duration
		hours     bool // until nobody traded
		old, shut bool
	}{
		"open and quiet":           {20 * time.Minute, false, true, false},
		"open and quiet for hours": {2 * time.Hour, false, true, false},
		"closed a while ago":       {20 * time.Minute, true, true, true},
		"closed for hours":         {2 * time.Hour, true, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newScene(t, steps(nil))
				s.stop()
				closed := time.Now().Truncate(time.Minute)
				v := ended{venue: s.venue, at: closed.Unix()}
				if tc.hours {
					v.hours = until(t, closed)
				}
				s.from = v
				time.Sleep(tc.since)
				s.start()
				defer s.stop()
				q, err := s.Quote(t.Context(), market.Symbol{Venue: "venue", Name: "BTC"})
				if err != nil || q.Last.String() != "100" || q.MarketClosed != tc.shut || q.At.Equal(closed) != tc.old {
					t.Errorf("%+v, closed at %v, %v", q, closed, err)
				}
			})
		})
	}
}

// until returns hours of trade that end every day at the time of day of t.
func until(t *testing.T, end time.Time) market.Calendar {
	t.Helper()
	of := end.UTC().Sub(end.UTC().Truncate(24 * time.Hour))
	hours := market.Hours{Zone: "UTC", Open: of - time.Hour, Close: of, Days: []time.Weekday{0, 1, 2, 3, 4, 5, 6}}
	c, err := market.NewCalendar(hours)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestQuote_IsNoNewerForBeingFollowed holds that a price keeps the venue's time when
// an alert has it read, when the engine follows it and when the bar clock reads it:
// an order at an old price would pass max_quote_age otherwise.
func TestQuote_IsNoNewerForBeingFollowed(t *testing.T) {
	t.Parallel()
	btc := market.Symbol{Venue: "venue", Name: "BTC"}
	for name, follow := range map[string]func(*testing.T, *scene){
		"by an alert": func(t *testing.T, s *scene) {
			t.Helper()
			if _, err := s.Set(t.Context(), ann(), above("BTC", 1000)); err != nil {
				t.Fatal(err)
			}
		},
		"by two alerts": func(t *testing.T, s *scene) {
			t.Helper()
			for range 2 {
				if _, err := s.Set(t.Context(), ann(), above("BTC", 1000)); err != nil {
					t.Fatal(err)
				}
				time.Sleep(10 * time.Second)
			}
		},
		"by an order": func(_ *testing.T, s *scene) { s.Follow([]market.Symbol{btc}) },
	} {
		for _, shut := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, market shut %v", name, shut), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					s := newScene(t, steps(nil))
					s.stop()
					closed := time.Now().Truncate(time.Minute)
					v := ended{venue: s.venue, at: closed.Unix()}
					v.caps.Live = false // read by the bar clock
					if shut {
						v.hours, v.caps.Sessions = until(t, closed), true
					}
					s.from = v
					time.Sleep(20 * time.Minute)
					s.start()
					defer s.stop()
					follow(t, s)
					for range 3 {
						synctest.Wait()
						if q, known := s.LastQuote(btc); !known || !q.At.Equal(closed) || q.MarketClosed != shut {
							t.Errorf("%+v, %v; closed at %v", q, known, closed)
						}
						if q, err := s.Quote(t.Context(), btc); err != nil || !q.At.Equal(closed) || q.MarketClosed != shut {
							t.Errorf("asked for: %+v, %v; closed at %v", q, err, closed)
						}
						time.Sleep(time.Minute)
					}
				})
			})
		}
	}
}

// TestQuote_OfBarsReadByTheClock holds that a venue without a stream is dated by its
// bars: one that has ended by its end, a forming one by the time of the venue.
func TestQuote_OfBarsReadByTheClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, steps(nil))
		s.stop()
		s.venue.caps.Live = false
		s.start()
		defer s.stop()
		btc := market.Symbol{Venue: "venue", Name: "BTC"}
		s.Follow([]market.Symbol{btc})
		for range 8 {
			time.Sleep(17 * time.Second)
			synctest.Wait()
			q, known := s.LastQuote(btc)
			read := s.venue.lastRead()
			if !known || q.At.After(read) || read.Sub(q.At) > 3*time.Second {
				t.Errorf("%+v, %v; read at %v", q, known, read)
			}
		}
	})
}

// TestQuote_OfAFileIsDatedByTheFile holds that a file has one time of a bar that
// runs, its open: reading it again makes its price no newer.
func TestQuote_OfAFileIsDatedByTheFile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, steps(nil))
		s.stop()
		s.venue.caps.Live, s.venue.caps.Files = false, true
		s.venue.caps.Intervals = []market.Interval{market.Hour1}
		s.start()
		defer s.stop()
		btc, opened := market.Symbol{Venue: "venue", Name: "BTC"}, monday.Truncate(time.Hour)
		time.Sleep(40 * time.Minute)
		for range 3 {
			if q, err := s.Quote(t.Context(), btc); err != nil || !q.At.Equal(opened) {
				t.Errorf("%+v, %v; opened at %v", q, err, opened)
			}
			s.Follow([]market.Symbol{btc})
			time.Sleep(5 * time.Minute)
			synctest.Wait()
			if q, known := s.LastQuote(btc); !known || !q.At.Equal(opened) {
				t.Errorf("followed: %+v, %v; opened at %v", q, known, opened)
			}
		}
	})
}

func TestSet_OnAFileThatEndedIsRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, steps(nil))
		s.stop()
		s.venue.caps.Live, s.venue.caps.Files = false, true
		s.start()
		if _, err := s.Set(t.Context(), ann(), above("BTC", 1000)); err != nil {
			t.Errorf("a file that is written: %v", err)
		}
		s.stop()
		s.from = ended{venue: s.venue, at: time.Now().Truncate(time.Minute).Unix()}
		time.Sleep(10 * time.Minute)
		s.start()
		defer s.stop()
		_, err := s.Set(t.Context(), ann(), above("BTC", 1000))
		if f := fault.Of(err); f == nil || f.Field != "symbol" || !strings.Contains(f.Message, "never fire") {
			t.Errorf("a file that ended: %v", err)
		}
	})
}
