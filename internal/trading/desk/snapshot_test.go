package desk_test

import (
	"context"
	"errors"
	"iter"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/kit/principal"
	"candela/internal/trading/broker/brokertest"
	"candela/internal/trading/desk/desktest"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
)

// latest returns the snapshot that the store has, and how many events came since.
func (w *world) latest() ([]byte, int) {
	w.t.Helper()
	data, since, err := w.store.Snapshot(w.t.Context(), owner)
	if err != nil {
		w.t.Fatal(err)
	}
	n := 0
	for range since {
		n++
	}
	return data, n
}

// TestStart_FromASnapshot starts a desk with a snapshot, with one and events since,
// and with some that are of no use: it must be the same desk each time.
func TestStart_FromASnapshot(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		filled, open := w.place(buy("0.5")), w.place(limit("0.4", "48000"))
		for range 3 {
			w.place(buy("0.1"))
			time.Sleep(20 * time.Second)
		}
		time.Sleep(2 * time.Minute)
		good, since := w.latest()
		if good == nil || since >= w.every {
			t.Fatalf("a snapshot of %d bytes, and %d events since", len(good), since)
		}
		other, err := order.NewBook("somebody else").Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		w.every = 1000
		for name, snapshot := range map[string][]byte{"one": good, "none": nil, "damaged": good[:len(good)/2], "somebody else's": other} {
			w.stop()
			w.store.SetSnapshot(owner, snapshot)
			before := w.store.Replays()
			w.start()
			if n := w.store.Replays() - before; n > 0 != (name == "damaged" || name == "somebody else's") {
				t.Errorf("all events were read %d times", n)
			}
			w.venue.SetPrice(dec("50001"))
			time.Sleep(20 * time.Second)
			w.wants(w.order(filled.ID), order.Filled)
			w.wants(w.order(open.ID), order.Accepted)
			w.wants(w.place(buy("0.1")), order.Filled) // an event since
			time.Sleep(5 * time.Second)
			w.level(guard.Active)
			w.equal()
			if t.Failed() {
				t.Fatalf("after a start with %s", name)
			}
		}
	})
}

// TestSnapshot_FailsAndIsTriedAgain lets the store take events and no snapshot.
func TestSnapshot_FailsAndIsTriedAgain(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.store.FailSnapshots(true)
		for range 10 {
			w.place(buy("0.1"))
			time.Sleep(10 * time.Second)
		}
		w.level(guard.Active)
		if data, _ := w.latest(); data != nil {
			t.Fatal("it was kept")
		}
		w.store.FailSnapshots(false)
		time.Sleep(2 * time.Minute)
		if data, since := w.latest(); data == nil || since > 0 {
			t.Errorf("it is not kept, or %d events are not in it", since)
		}
		w.equal()
	})
}

// odd is a store with troubles of its own.
type odd struct {
	*desktest.Store
	strange  atomic.Bool // appending also returns what no book takes, and no book can be read
	attempts atomic.Int64
}

func (s *odd) AppendEvents(ctx context.Context, by principal.Caller, events []order.Event, notices ...order.Notice) ([]order.Event, error) {
	kept, err := s.Store.AppendEvents(ctx, by, events, notices...)
	if s.strange.Load() && len(kept) > 0 {
		kept = append([]order.Event{{Kind: order.KindAccepted, OrderID: "nobody's", At: time.Now()}}, kept...)
	}
	return kept, err
}

func (s *odd) Snapshot(ctx context.Context, subject principal.Owner) ([]byte, iter.Seq2[order.Event, error], error) {
	if s.strange.Load() {
		return nil, nil, errors.New("cannot be read")
	}
	return s.Store.Snapshot(ctx, subject)
}

func (s *odd) SaveSnapshot(ctx context.Context, by principal.Caller, b *order.Book) error {
	s.attempts.Add(1)
	return s.Store.SaveSnapshot(ctx, by, b)
}

// TestSnapshot_IsTriedLessAndLess counts the attempts while the store keeps none: each
// may hold the desk up for seconds.
func TestSnapshot_IsTriedLessAndLess(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.stop()
		s := &odd{Store: w.store}
		w.kept = s
		w.start()
		w.store.FailSnapshots(true)
		time.Sleep(5 * time.Second)
		for range 3 {
			w.place(buy("0.1"))
			time.Sleep(2 * time.Minute)
		}
		time.Sleep(3 * time.Hour)
		if n := s.attempts.Load(); n < 6 || n > 9 {
			t.Errorf("it was tried %d times in three hours", n)
		}
		w.store.FailSnapshots(false)
		time.Sleep(61 * time.Minute)
		if data, since := w.latest(); data == nil || since > 0 {
			t.Errorf("it is not kept, or %d events are not in it", since)
		}
	})
}

// TestCommit_BookBehindTheStore has the book refuse what the store took while it cannot
// be reloaded: no snapshot is made of it, and it is read as soon as it can be.
func TestCommit_BookBehindTheStore(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.stop()
		s := &odd{Store: w.store}
		w.kept, w.every = s, 1
		w.start()
		time.Sleep(5 * time.Second)
		o := w.place(limit("0.5", "49000"))
		time.Sleep(2 * time.Minute)
		s.strange.Store(true)
		before := s.attempts.Load()
		w.venue.SetPrice(dec("48500"))
		time.Sleep(3 * time.Minute)
		w.wants(w.order(o.ID), order.Accepted)
		if n := s.attempts.Load(); n != before {
			t.Errorf("a book that is behind is kept, %d times", n-before)
		}
		s.strange.Store(false)
		time.Sleep(3 * time.Minute)
		w.wants(w.order(o.ID), order.Filled)
		w.equal()
		if data, since := w.latest(); data == nil || since > 0 || s.attempts.Load() == before {
			t.Errorf("it is not kept, or %d events are not in it", since)
		}
	})
}

// TestResume_KnowsTradesOfForgottenOrders has the owner accept the venue's positions
// when most orders are no longer in memory: their trades are read again, and are not
// taken for those of orders that were placed elsewhere.
func TestResume_KnowsTradesOfForgottenOrders(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.remember = 2
		w.start()
		defer func() { w.stop() }()
		time.Sleep(2 * time.Second)
		w.place(buy("0.1"))
		w.stop()
		w.venue.Place(order.Spec{ID: "elsewhere", Symbol: brokertest.MemorySymbol(), Side: order.Buy, Type: order.Market, Quantity: dec("0.2")})
		w.start()
		time.Sleep(2 * time.Minute)
		for range 5 {
			w.place(buy("0.1"))
			time.Sleep(2 * time.Minute)
		}
		time.Sleep(2 * time.Hour)
		all, err := w.Orders(t.Context(), caller(), false)
		if err != nil || len(all) != 2 {
			t.Fatalf("%d orders are in memory, %v", len(all), err)
		}
		for restart := range 2 {
			if restart == 1 {
				w.stop()
				w.start()
			}
			w.venue.Move("BTC", dec("-0.05")) // a withdrawal
			time.Sleep(5 * time.Minute)
			w.level(guard.Reducing)
			if _, err := w.Resume(t.Context(), "owner"); err != nil {
				t.Fatal(err)
			}
			time.Sleep(5 * time.Minute)
			w.level(guard.Active)
		}
		foreign := 0
		for _, o := range w.store.Book(owner).Orders() {
			if o.External {
				foreign++
			}
		}
		if foreign != 1 {
			t.Errorf("%d orders are taken for those from elsewhere", foreign)
		}
		if p, err := w.Positions(t.Context(), caller()); err != nil || len(p) != 1 || !p[0].Quantity.Equal(dec("0.7")) {
			t.Errorf("the position is %+v, %v", p, err)
		}
	})
}
