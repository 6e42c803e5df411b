package desk_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/shopspring/decimal"

	"candela/internal/trading/broker"
	"candela/internal/trading/broker/brokertest"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/fault"
	"candela/lib/market"
)

// level holds the trading state.
func (w *world) level(l guard.Level) {
	w.t.Helper()
	if s := w.Status().State; s.Level() != l {
		w.t.Errorf("trading is %v, want %v: %s", s.Level(), l, s.Explain())
	}
}

// TestStart_ComparesFirst refuses orders until the venue was heard.
func TestStart_ComparesFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.venue.Deaf(errors.New("no route"))
		w.start()
		defer func() { w.stop() }()
		time.Sleep(time.Minute)
		for _, dry := range []bool{true, false} {
			r := buy("0.5")
			r.DryRun = dry
			o, err := w.Place(t.Context(), caller(), r)
			if f := fault.Of(err); f == nil || f.Code != "not_compared" || !strings.Contains(f.Message, "reconciled") || o.Status != 0 || len(w.venue.Orders()) != 0 {
				t.Errorf("before: %v", err)
			}
		}
		w.venue.Deaf(nil)
		time.Sleep(45 * time.Second)
		w.wants(w.place(buy("0.5")), order.Filled)
	})
}

// TestStart_FindsWhatHappened stops a desk, lets the venue go on, and starts
// another one.
func TestStart_FindsWhatHappened(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		fills := w.place(limit("0.5", "49000"))
		partly := w.place(limit("0.4", "48000"))
		cancels := w.place(limit("0.3", "47000"))
		w.stop()
		w.venue.SetPrice(dec("48500"))
		w.venue.Trade(partly.ID, dec("0.1"))
		if _, err := w.venue.Cancel(w.t.Context(), cancels.Spec.Handle()); err != nil {
			w.t.Fatal(err)
		}
		foreign := w.venue.Place(order.Spec{ID: "elsewhere", Symbol: brokertest.MemorySymbol(), Side: order.Sell, Type: order.Limit, Quantity: dec("0.2"), Price: dec("60000")})
		w.start()
		time.Sleep(20 * time.Second)
		w.wants(w.order(fills.ID), order.Filled)
		w.wants(w.order(partly.ID), order.PartiallyFilled)
		w.wants(w.order(cancels.ID), order.Canceled)
		all, err := w.Orders(w.t.Context(), caller(), true)
		if err != nil {
			w.t.Fatal(err)
		}
		i := slices.IndexFunc(all, func(o order.Order) bool { return o.External })
		if i < 0 || all[i].VenueID != foreign || all[i].Status != order.Accepted || len(all) != 2 {
			w.t.Fatalf("open are %+v", all)
		}
		if _, err := w.Cancel(w.t.Context(), caller(), all[i].ID); fault.KindOf(err) != fault.Unsupported {
			w.t.Errorf("an order of someone else's is cancelled: %v", err)
		}
		w.level(guard.Active)
		w.venue.SetPrice(dec("61000")) // the foreign order sells
		time.Sleep(5 * time.Second)
		w.wants(w.order(all[i].ID), order.Filled)
		p, err := w.Positions(w.t.Context(), caller())
		if err != nil || len(p) != 1 || !p[0].Quantity.Equal(dec("0.4")) {
			w.t.Errorf("the position is %+v, %v", p, err)
		}
		w.equal()
	})
}

// equal holds the desk's orders against the venue's, and its projection against
// its events.
func (w *world) equal() {
	w.t.Helper()
	all, err := w.Orders(w.t.Context(), caller(), false)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, r := range w.venue.Orders() {
		i := slices.IndexFunc(all, func(o order.Order) bool { return o.VenueID == r.VenueID })
		if i < 0 {
			w.t.Errorf("the desk does not know %+v", r)
			continue
		}
		if all[i].Status != r.Status || !all[i].Filled.Equal(r.Filled) {
			w.t.Errorf("order %s is %v with %s here, %v with %s at the venue", r.ID, all[i].Status, all[i].Filled, r.Status, r.Filled)
		}
	}
	if diff := cmp.Diff(w.store.Book(owner).Newest(1000), all, cmpopts.EquateEmpty()); diff != "" {
		w.t.Errorf("replay differs:\n%s", diff)
	}
}

// TestStart_AsksForWhatWasOnItsWay ends the desk between sending and the answer.
func TestStart_AsksForWhatWasOnItsWay(t *testing.T) {
	t.Parallel()
	for name, done := range map[string]bool{"the venue took it": true, "the venue did not": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(w *world) {
				w.venue.Drop()
				w.venue.Deaf(errors.New("down"))
				w.venue.Fail(brokertest.Fault{Hang: true, Done: done})
				go func() { _, _ = w.Place(w.t.Context(), caller(), limit("0.5", "49000")) }()
				synctest.Wait()
				w.kill()
				w.venue.Deaf(nil)
				w.start()
				time.Sleep(2 * time.Minute)
				all, err := w.Orders(w.t.Context(), caller(), false)
				if err != nil || len(all) != 1 {
					w.t.Fatalf("%v %v", all, err)
				}
				want, n := order.Canceled, 0
				if done {
					want, n = order.Accepted, 1
				}
				w.wants(all[0], want)
				if got := w.taken(all[0].ID); got != n {
					w.t.Errorf("the venue has it %d times", got)
				}
				w.level(guard.Active)
			})
		})
	}
}

func TestStream_LostAndFound(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		o := w.place(limit("0.5", "49000"))
		w.venue.Drop()
		synctest.Wait()
		w.venue.SetPrice(dec("48000")) // nobody hears it
		time.Sleep(5 * time.Second)
		w.wants(w.order(o.ID), order.Filled)
		w.equal()
	})
}

func TestCancel_Fates(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		fault brokertest.Fault
		first order.Status
		later order.Status
		code  string
	}{
		"nothing was sent":     {brokertest.Fault{Fate: broker.ErrNotSent}, order.Accepted, order.Accepted, "cancel_failed"},
		"the venue refuses":    {brokertest.Fault{Fate: broker.ErrRejected}, order.Accepted, order.Accepted, "cancel_failed"},
		"the answer was lost":  {brokertest.Fault{Fate: broker.ErrUnknown, Done: true}, order.Canceled, order.Canceled, ""},
		"the cancel was lost":  {brokertest.Fault{Fate: broker.ErrUnknown}, order.Canceled, order.Canceled, ""},
		"silence, and nothing": {brokertest.Fault{Hang: true}, order.PendingCancel, order.Canceled, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(w *world) {
				o := w.place(limit("0.5", "49000"))
				w.venue.Fail(tc.fault)
				o, err := w.Cancel(w.t.Context(), caller(), o.ID)
				if f := fault.Of(err); tc.code == "" && err != nil || tc.code != "" && (f == nil || f.Code != tc.code) {
					w.t.Errorf("the error is %v", err)
				}
				w.wants(o, tc.first)
				time.Sleep(time.Minute)
				w.wants(w.order(o.ID), tc.later)
			})
		})
	}
}

// TestCancel_BeforeTheAnswer cancels an order of which the venue has not spoken.
func TestCancel_BeforeTheAnswer(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.venue.Deaf(errors.New("down"))
		w.venue.Drop()
		synctest.Wait() // or the lost stream reports the order
		w.venue.Fail(brokertest.Fault{Hang: true, Done: true})
		o, err := w.Place(w.t.Context(), caller(), limit("0.5", "49000"))
		if err != nil {
			w.t.Fatal(err)
		}
		w.wants(o.Order, order.Submitted)
		go func() { _, _ = w.Cancel(w.t.Context(), caller(), o.ID) }()
		time.Sleep(time.Second)
		w.venue.Deaf(nil)
		time.Sleep(time.Minute)
		w.wants(w.order(o.ID), order.Canceled)
	})
}

// held is a venue that says nothing of an order until it is let go.
type held struct {
	broker.Broker
	open chan struct{}
}

func (h held) Submit(ctx context.Context, s order.Spec) (order.Report, error) {
	<-h.open
	return h.Broker.Submit(ctx, s)
}

// TestStop_RecordsTheAnswerThatComesMeanwhile has the venue answer while the desk ends:
// its waiters get the stored order, not the one before.
func TestStop_RecordsTheAnswerThatComesMeanwhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		venue := held{w.venue, make(chan struct{})}
		w.broker = venue
		w.start()
		time.Sleep(2 * time.Second)
		var o order.Order
		var all sync.WaitGroup
		all.Go(func() { o = w.place(buy("0.5")) })
		synctest.Wait()
		all.Go(w.stop)
		synctest.Wait()
		close(venue.open)
		all.Wait()
		w.wants(o, order.Filled)
	})
}

func TestStoreFailure_Halts(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.store.Fail(errors.New("no room"))
		_, err := w.Place(w.t.Context(), caller(), buy("0.5"))
		if f := fault.Of(err); f == nil || f.Code != "store_failed" {
			w.t.Errorf("%v", err)
		}
		w.level(guard.Halted)
		if n := len(w.venue.Orders()); n != 0 {
			w.t.Errorf("%d orders were sent that are not persisted", n)
		}
		w.store.Fail(nil)
		time.Sleep(5 * time.Second)
		w.level(guard.Halted)
		if _, err := w.Resume(w.t.Context(), "owner"); err != nil {
			w.t.Error(err)
		}
		w.wants(w.place(buy("0.5")), order.Filled)
	})
}

// TestStoreFailure_AfterTheAnswer loses the store between sending and the answer:
// what the venue said is found out once it works again.
func TestStoreFailure_AfterTheAnswer(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.venue.Fail(brokertest.Fault{Hang: true, Done: true})
		go func() { _, _ = w.Place(w.t.Context(), caller(), limit("0.5", "49000")) }()
		synctest.Wait()
		w.store.Fail(errors.New("no room"))
		w.venue.SetPrice(dec("48000"))
		time.Sleep(30 * time.Second)
		w.store.Fail(nil)
		time.Sleep(2 * time.Minute)
		w.equal()
	})
}

func TestMismatch_Reduces(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.place(buy("1"))
		w.venue.Move("BTC", dec("-0.4")) // a withdrawal
		time.Sleep(70 * time.Second)
		w.level(guard.Reducing)
		_, err := w.Place(w.t.Context(), caller(), buy("0.5"))
		if f := fault.Of(err); f == nil || !strings.Contains(f.Message, "reduce a position") || !strings.Contains(f.Message, "0.6 BTC") {
			w.t.Errorf("%v", err)
		}
		sell := buy("0.1")
		sell.Side = order.Sell
		w.wants(w.place(sell), order.Filled)
		if _, err := w.Resume(w.t.Context(), "owner"); err != nil {
			w.t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		w.level(guard.Active)
		p, err := w.Positions(w.t.Context(), caller())
		if err != nil || len(p) != 1 || !p[0].Quantity.Equal(dec("0.5")) {
			w.t.Errorf("the position is %+v, %v", p, err)
		}
		time.Sleep(2 * time.Minute)
		w.level(guard.Active)
	})
}

// TestWipe_IsFoundAndAccepted wipes the venue, as testnets are.
func TestWipe_IsFoundAndAccepted(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.place(buy("1"))
		o := w.place(limit("0.5", "49000"))
		time.Sleep(time.Minute)
		w.venue.Wipe()
		w.venue.Drop()
		time.Sleep(3 * time.Minute)
		w.wants(w.order(o.ID), order.Canceled)
		w.level(guard.Reducing)
		if _, err := w.Resume(w.t.Context(), "owner"); err != nil {
			w.t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		w.level(guard.Active)
		w.wants(w.place(buy("0.5")), order.Filled)
		time.Sleep(3 * time.Minute)
		w.level(guard.Active)
		p, err := w.Positions(w.t.Context(), caller())
		if err != nil || len(p) != 1 || !p[0].Quantity.Equal(dec("0.5")) {
			w.t.Errorf("the position is %+v, %v", p, err)
		}
	})
}

func TestFeedLost_Reduces(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.market.SetLagging("memory")
		time.Sleep(2 * time.Second)
		w.level(guard.Active) // nothing depends on it
		w.market.SetLagging()
		w.place(buy("1"))
		w.market.SetLagging("memory", "other")
		time.Sleep(2 * time.Second)
		w.level(guard.Reducing)
		w.market.SetLagging()
		time.Sleep(2 * time.Second)
		w.level(guard.Active)
	})
}

func TestDailyLoss_Reduces(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.place(buy("1"))
		time.Sleep(2 * time.Second)
		w.market.Set(brokertest.MemorySymbol(), order.Quote{Last: dec("48000")})
		time.Sleep(2 * time.Second)
		w.level(guard.Reducing)
		w.stop()
		w.start()
		time.Sleep(5 * time.Second)
		w.level(guard.Reducing)
	})
}

func TestPlace_TooFast(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		before := w.store.Commits()
		codes := map[string]int{}
		for i := range 300 {
			r := limit("0.01", "49000")
			r.Price = r.Price.Add(decimal.NewFromInt(int64(i)))
			o, err := w.Place(w.t.Context(), caller(), r)
			rule := "passed"
			if err != nil {
				rule = o.Denial.Rule
			}
			codes[rule]++
			time.Sleep(10 * time.Millisecond)
		}
		if codes["passed"] != 10 || codes["max_symbol_open_orders"] != 10 || codes["max_orders_per_minute"] != 280 {
			w.t.Errorf("%v", codes)
		}
		if n := len(w.venue.Orders()); n != 10 {
			w.t.Errorf("the venue has %d orders", n)
		}
		// Ten placed and answered, ten refused, and of the rest a hundred.
		if n := w.store.Commits() - before; n > 140 {
			w.t.Errorf("%d commits", n)
		}
	})
}

func TestAudit_SaysWho(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		o := w.place(limit("0.5", "49000"))
		if _, err := w.Cancel(w.t.Context(), caller(), o.ID); err != nil {
			w.t.Fatal(err)
		}
		if _, err := w.Halt(w.t.Context(), "candela halt", ""); err != nil {
			w.t.Fatal(err)
		}
		who := map[order.Kind]string{}
		halted := ""
		for _, e := range w.store.Audit() {
			if e.State == "guard" {
				halted = e.By.Client
			} else {
				who[e.Event.Kind] = string(e.By.Subject) + "/" + e.By.Key + "/" + e.By.Client
			}
		}
		want := map[order.Kind]string{
			order.KindCreated: "local/token-1/a client", order.KindSent: "local/token-1/a client", order.KindCancelRequested: "local/token-1/a client",
			order.KindAccepted: "local//", order.KindCanceled: "local//",
		}
		if diff := cmp.Diff(want, who); diff != "" || halted != "candela halt" {
			w.t.Errorf("halted by %q\n%s", halted, diff)
		}
	})
}

func TestOn_IsForCharts(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.place(buy("1"))
		w.place(limit("0.5", "49000"))
		gone := w.place(limit("0.5", "48000"))
		if _, err := w.Cancel(w.t.Context(), caller(), gone.ID); err != nil {
			w.t.Fatal(err)
		}
		all, p, err := w.InSymbol(w.t.Context(), caller(), brokertest.MemorySymbol())
		if err != nil || len(all) != 2 || !p.Quantity.Equal(dec("1")) {
			w.t.Errorf("%+v %+v %v", all, p, err)
		}
		if all, p, _ := w.InSymbol(w.t.Context(), caller(), market.Symbol{Name: "X"}); len(all) != 0 || p.Side() != 0 {
			w.t.Errorf("%+v %+v", all, p)
		}
	})
}
