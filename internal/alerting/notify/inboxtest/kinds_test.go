package inboxtest

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"candela/internal/alerting/notify"
	"candela/lib/market"
)

// note appends an entry about an order.
func (s *scene) note(symbol string) {
	e := s.next("AAPL", "order_filled")
	if e.Symbol.Name = symbol; symbol == "" {
		e.Symbol.Venue = ""
	}
	e.Kind, e.Data = notify.Order, fmt.Appendf(nil, `{"event":"order_filled","order_id":"o-%d"}`, e.Seq)
	s.Append([]notify.Entry{e})
}

func (s *scene) take(kinds notify.Kinds, limit int) (seqs []uint64) {
	s.t.Helper()
	b, err := s.Poll(s.t.Context(), caller("any"), 0, notify.Bound{Entries: limit, Kinds: kinds})
	if err != nil {
		s.t.Fatal(err)
	}
	for _, e := range b.Entries {
		seqs = append(seqs, e.Seq)
		if want := fmt.Sprintf(`{"event":"order_filled","seq":%d,"order_id":"o-%d"}`, e.Seq, e.Seq); e.Kind == notify.Order && string(e.Data) != want {
			s.t.Errorf("%s, want %s", e.Data, want)
		}
	}
	b.Settle(true)
	return seqs
}

// TestKinds_HaveCursorsOfTheirOwn polls one kind and the other: neither takes nor skips the other's, also after a restart.
func TestKinds_HaveCursorsOfTheirOwn(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	wants := func(kinds notify.Kinds, limit int, want ...uint64) {
		t.Helper()
		if got := s.take(kinds, limit); !slices.Equal(got, want) {
			t.Fatalf("polled %v, want %v", got, want)
		}
	}
	s.fire("AAPL")         // 1
	s.note("AAPL")         // 2
	s.note("TSLA")         // 3
	s.fire("AAPL", "TSLA") // 4, 5
	wants(0, 0, 1, 4, 5)
	wants(notify.Alerts, 0)
	wants(notify.Orders, 1, 2)
	s.fire("AAPL") // 6
	s.note("")     // 7
	wants(notify.Alerts|notify.Orders, 2, 3, 6)
	entries := []notify.Entry{s.next("AAPL", "price_above")} // 8
	if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	s.reopen()
	late := s.next("AAPL", "order_filled") // 9
	late.Kind, late.Data = notify.Order, []byte(`{"event":"order_filled","order_id":"o-9"}`)
	seven := entry(7, "AAPL", "order_filled", s.now)
	seven.Kind, seven.Data = notify.Order, []byte(`{"event":"order_filled","order_id":"o-7"}`)
	s.Restore(9, append([]notify.Entry{seven}, append(entries, late)...))
	wants(notify.Alerts, 0, 8)
	wants(notify.Orders, 0, 7, 9)
	wants(notify.Alerts|notify.Orders, 0)
}

// TestKinds_ManyOfOneKeepTheOther has far more order events than can be polled behind one alert, and the other way round.
func TestKinds_ManyOfOneKeepTheOther(t *testing.T) {
	t.Parallel()
	for many, rare := range map[notify.Kind]notify.Kinds{notify.Order: notify.Alerts, notify.Alert: notify.Orders} {
		s := newScene(t)
		first := s.next("AAPL", "price_above")
		first.Kind = 1 - many
		s.Append([]notify.Entry{first})
		var last uint64
		for range 3*notify.MaxPolled + 7 {
			e := s.next("AAPL", "price_above")
			e.Kind, last = many, e.Seq
			s.Append([]notify.Entry{e})
			s.now = s.now.Add(time.Second) // most are too old to be pushed
		}
		if got := s.takeAll(rare); !slices.Equal(got, []uint64{first.Seq}) {
			t.Errorf("of the rare kind %d were polled", len(got))
		}
		got := s.takeAll(notify.Kinds(1 << many))
		if len(got) != notify.MaxPolled || got[0] != last-notify.MaxPolled+1 || got[len(got)-1] != last {
			t.Errorf("of the other kind %d were polled", len(got))
		}
	}
}

// takeAll polls until nothing is left.
func (s *scene) takeAll(kinds notify.Kinds) (all []uint64) {
	s.t.Helper()
	for {
		b, err := s.Poll(s.t.Context(), caller("any"), 0, notify.Bound{Kinds: kinds})
		if err != nil {
			s.t.Fatal(err)
		}
		b.Settle(true)
		if len(b.Entries) == 0 {
			return all
		}
		for _, e := range b.Entries {
			all = append(all, e.Seq)
		}
	}
}

// TestKinds_StreamsAskForThem has a filter of symbols apply to orders, one of types not, and no order reach a subscriber that
// did not ask.
func TestKinds_StreamsAskForThem(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	for key, f := range map[string]notify.Filter{
		"alerts": {}, "orders": {Kinds: notify.Orders, Types: []string{"price_below"}}, "both": {Kinds: notify.Alerts | notify.Orders},
		"apple": {Kinds: notify.Orders, Symbols: []market.Symbol{{Name: "AAPL"}}},
	} {
		if err := s.Subscribe(t.Context(), caller(key), f); err != nil {
			t.Fatal(err)
		}
	}
	s.fire("AAPL")
	s.note("AAPL")
	s.note("TSLA")
	s.note("") // the account
	for key, want := range map[string]int{"alerts": 1, "orders": 3, "both": 4, "apple": 2} {
		stream := s.open(caller(key), "")
		if got := stream.Take(nil); len(got) != want {
			t.Errorf("%s gets %d events, want %d", key, len(got), want)
		}
		stream.Close()
	}
	tail := s.Tail("owner", notify.Orders)
	defer tail.Close()
	if next, _, skipped := tail.Next(0, time.Hour, 2); next == nil || next.Seq != 3 || skipped != 1 {
		t.Errorf("the tail has %+v after %d", next, skipped)
	}
}

// TestKinds_WaitersGetTheirs wakes the caller that waits for orders, and not the one before it that waits for alerts.
func TestKinds_WaitersGetTheirs(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	got := make(chan []notify.Entry, 2)
	for _, kinds := range []notify.Kinds{notify.Alerts, notify.Orders} {
		go func() {
			b, err := s.Poll(ctx, caller("any"), time.Minute, notify.Bound{Kinds: kinds})
			if err != nil {
				got <- nil
				return
			}
			b.Settle(true)
			got <- b.Entries
		}()
	}
	s.note("AAPL")
	if e := <-got; len(e) != 1 || e[0].Kind != notify.Order {
		t.Errorf("first %+v", e)
	}
	s.fire("AAPL")
	if e := <-got; len(e) != 1 || e[0].Kind != notify.Alert {
		t.Errorf("then %+v", e)
	}
}
