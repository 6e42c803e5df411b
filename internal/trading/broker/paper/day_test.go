package paper_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/data/provider"
	"candela/internal/trading/broker/paper"
	"candela/internal/trading/broker/paper/papertest"
	"candela/internal/trading/order"
	"candela/lib/market"
)

// TestSubmit_Day has an order that ends with its session, seen by a price or by a question.
func TestSubmit_Day(t *testing.T) {
	t.Parallel()
	hours, err := market.NewCalendar(market.USEquities())
	if err != nil {
		t.Fatal(err)
	}
	apple := market.Symbol{Venue: "alpaca", Name: "AAPL"}
	for name, end := range map[string]func(*paper.Broker, time.Time){
		"a question after the close": func(*paper.Broker, time.Time) {},
		"a price after the close": func(b *paper.Broker, now time.Time) {
			b.Observe(provider.Event{
				Sub: provider.Sub{Symbol: apple, Interval: market.Minute1}, Kind: provider.Closed, At: now,
				Bar: market.Bar{T: now.Unix() - 60, O: 190, H: 190, L: 190, C: 190, V: 9},
			}, provider.Clock{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := time.Date(2026, 11, 16, 15, 0, 0, 0, time.UTC) // 10:00 in New York
			m := papertest.NewMarket(provider.Instrument{Symbol: apple, Quote: "USD", Calendar: hours})
			m.Set(apple, order.Quote{Last: dec("200"), At: now})
			b := paper.New(paper.Config{
				Journal: &papertest.Journal{}, Market: m, Rates: paper.Usual(), Now: func() time.Time { return now },
				Log: slog.New(slog.DiscardHandler), Cash: map[string]decimal.Decimal{"USD": dec("100000")},
			})
			can, err := b.Capabilities(t.Context(), apple)
			if err != nil || !can.Takes(order.Day) || can.CancelEndsGroup || !can.LegsInPart {
				t.Errorf("%+v, %v", can, err)
			}
			for id, tif := range map[string]order.TimeInForce{"day": order.Day, "gtc": order.GTC} {
				if _, err := b.Submit(t.Context(), order.Spec{ID: id, Symbol: apple, Side: order.Buy, Type: order.Limit, Price: dec("180"), Quantity: dec("1"), TimeInForce: tif}); err != nil {
					t.Fatal(err)
				}
			}
			now = time.Date(2026, 11, 16, 20, 59, 59, 0, time.UTC)
			if open, err := b.Open(t.Context()); err != nil || len(open) != 2 {
				t.Fatalf("before the close %v are open, %v", open, err)
			}
			now = now.Add(time.Second)
			end(b, now)
			r, err := b.Query(t.Context(), order.Spec{ID: "day"}.Handle())
			if err != nil || r.Status != order.Expired || r.Reason == "" || !r.Filled.IsZero() {
				t.Errorf("%s, %q, %v", shown(r), r.Reason, err)
			}
		})
	}
}

// TestSubmit_DayInAReplay holds that the session of a replay is that of its bars: an hour of it
// lasts a minute here.
func TestSubmit_DayInAReplay(t *testing.T) {
	t.Parallel()
	hours, err := market.NewCalendar(market.USEquities())
	if err != nil {
		t.Fatal(err)
	}
	apple := market.Symbol{Venue: "replay", Name: "AAPL"}
	now := time.Date(2026, 11, 15, 3, 0, 0, 0, time.UTC)                                                       // a Sunday night
	clock := provider.Clock{Start: time.Date(2025, 7, 9, 19, 0, 0, 0, time.UTC).Unix(), Began: now, Speed: 60} // an hour before the close
	m := papertest.NewMarket(provider.Instrument{Symbol: apple, Quote: "USD", Calendar: hours})
	m.Set(apple, order.Quote{Last: dec("200"), At: now})
	b := paper.New(paper.Config{
		Journal: &papertest.Journal{}, Market: m, Rates: paper.Usual(), Now: func() time.Time { return now }, Clock: func(string) provider.Clock { return clock },
		Log: slog.New(slog.DiscardHandler), Cash: map[string]decimal.Decimal{"USD": dec("100000")},
	})
	if _, err := b.Submit(t.Context(), order.Spec{ID: "day", Symbol: apple, Side: order.Buy, Type: order.Limit, Price: dec("180"), Quantity: dec("1"), TimeInForce: order.Day}); err != nil {
		t.Fatal(err)
	}
	for after, want := range []order.Status{order.Accepted, order.Expired} {
		now = clock.Began.Add(59*time.Second + time.Duration(after)*2*time.Second)
		if r, err := b.Query(t.Context(), order.Spec{ID: "day"}.Handle()); err != nil || r.Status != want {
			t.Errorf("after %v it is %v, %v", now.Sub(clock.Began), r.Status, err)
		}
	}
}
