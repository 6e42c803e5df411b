package desk_test

import (
	"context"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/data/provider"
	"candela/internal/trading/broker"
	"candela/internal/trading/broker/brokertest"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/fault"
	"candela/lib/market"
)

// halfGone is a market of which one symbol's venue was taken away.
type halfGone struct {
	broker.Broker
	gone *atomic.Bool
}

func (h halfGone) Instrument(ctx context.Context, s market.Symbol) (provider.Instrument, error) {
	if h.gone.Load() && s.Name == "BTCUSDT" {
		return provider.Instrument{}, fault.Field("symbol", s.String(), "a symbol of one of: csv, yahoo")
	}
	if s.Name != "BTCUSDT" {
		return provider.Instrument{Symbol: s, Quote: "USDT"}, nil
	}
	return h.Broker.Instrument(ctx, s)
}

func (h halfGone) Capabilities(context.Context, market.Symbol) (order.Capabilities, error) {
	return order.Capabilities{}, nil
}

// TestPaper_AVenueThatIsGoneLocksNothing has a paper account hold a symbol whose venue
// is not there at the next start, as after a replay.
func TestPaper_AVenueThatIsGoneLocksNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPaper(t)
		defer func() { p.stop() }()
		time.Sleep(2 * time.Second)
		p.wants(p.place(buy("0.5")), order.Filled)
		p.stop()
		btc := market.Symbol{Venue: "binance", Name: "BTCUSDT"}
		p.market.Forget(btc)
		p.market.SetLagging("binance")
		gone := &atomic.Bool{}
		gone.Store(true)
		p.broker = halfGone{p.paper, gone}
		p.start()
		time.Sleep(5 * time.Minute)
		if s := p.Status(); !s.Reconciled || s.State.Level() != guard.Active {
			t.Fatalf("the account is %+v", s)
		}
		r := buy("1")
		r.Symbol.Name, r.DryRun = "ETHUSDT", true
		p.market.Set(market.Symbol{Venue: "binance", Name: "ETHUSDT"}, order.Quote{Last: dec("3000")})
		if o := p.place(r); o.Status != order.New {
			t.Errorf("an order in another symbol is %v", o.Status)
		}
		if held, err := p.Positions(t.Context(), caller()); err != nil || len(held) != 1 {
			t.Errorf("%+v, %v", held, err)
		}
		gone.Store(false)
		p.market.Set(btc, order.Quote{Last: dec("50000")})
		p.market.SetLagging()
		time.Sleep(2 * time.Minute)
		sell := buy("0.5")
		sell.Side = order.Sell
		sell.DryRun = true
		if o := p.place(sell); o.Status != order.New {
			t.Errorf("a sale when the venue is back is %v", o.Status)
		}
	})
}

// unaccounted is a venue that accepts cancels and does not report its holdings.
type unaccounted struct{ broker.Broker }

func (m unaccounted) Holdings(context.Context) ([]order.Holding, error) {
	return nil, fault.Unreachable(net.ErrClosed, 0, "memory does not answer about holdings")
}

// TestStart_SaysWhyTheAccountIsNotCompared holds that an account that cannot be compared
// names the cause, in its state and to who places an order, and that a cancel passes.
func TestStart_SaysWhyTheAccountIsNotCompared(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		open := w.place(limit("0.5", "49000"))
		w.stop()
		w.broker = unaccounted{w.venue}
		w.start()
		time.Sleep(10 * time.Second)
		if why := w.Status().State.Explain(); !strings.Contains(why, "memory does not answer about holdings") || !strings.Contains(why, "can be cancelled") {
			w.t.Errorf("the state says %q", why)
		}
		_, err := w.Place(w.t.Context(), caller(), limit("0.5", "49000"))
		if f := fault.Of(err); f == nil || f.Code != "not_compared" || !strings.Contains(f.Message, "memory does not answer about holdings") {
			w.t.Errorf("an order: %v", err)
		}
		o, err := w.Cancel(w.t.Context(), caller(), open.ID)
		if err != nil {
			w.t.Errorf("a cancel: %v", err)
		}
		w.wants(o, order.Canceled)
		w.stop()
		w.broker = w.venue
		w.start()
		time.Sleep(10 * time.Second)
		w.level(guard.Active)
	})
}

func TestCancel_OfAnOrderThatIsOverIsAnError(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		filled := w.place(buy("0.5"))
		w.wants(filled, order.Filled)
		wrong := buy("0.000001")
		denied, _ := w.Place(w.t.Context(), caller(), wrong)
		for _, o := range []order.Order{filled, denied.Order} {
			got, err := w.Cancel(w.t.Context(), caller(), o.ID)
			if f := fault.Of(err); f == nil || f.Code != "order_closed" || f.Field != "order_id" || !strings.Contains(f.Message, o.Status.String()) || got.Status != o.Status {
				w.t.Errorf("a cancel of a %v order: %v, %v", o.Status, got.Status, err)
			}
		}
	})
}

func TestPlace_DryRunsCountInTheRateOfOrders(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		trial := buy("0.5")
		trial.DryRun = true
		wrong := trial
		wrong.Quantity = dec("0.000001")
		for i := range 20 {
			r := trial
			if i%2 == 1 {
				r = wrong
			}
			_, _ = w.Place(w.t.Context(), caller(), r)
		}
		if _, err := w.Place(w.t.Context(), caller(), trial); fault.Of(err) == nil || !strings.Contains(fault.Of(err).Message, "max_orders_per_minute") {
			w.t.Errorf("one more: %v", err)
		}
		other := caller()
		other.Key = "token-2"
		if _, err := w.Place(w.t.Context(), other, trial); err != nil {
			w.t.Errorf("of another token: %v", err)
		}
		w.place(buy("0.5")) // an order is not refused because of them
		time.Sleep(time.Minute)
		w.place(trial)
	})
}

// slowInstruments is a venue that is slow to return instruments.
type slowInstruments struct {
	*brokertest.Memory
	takes *atomic.Int64
}

func (l slowInstruments) Instrument(ctx context.Context, s market.Symbol) (provider.Instrument, error) {
	time.Sleep(time.Duration(l.takes.Load()))
	return l.Memory.Instrument(ctx, s)
}

// slow starts the desk again with a venue that is as slow to return instruments as
// stored in what it returns.
func (w *world) slow() *atomic.Int64 {
	w.t.Helper()
	w.stop()
	takes := &atomic.Int64{}
	w.broker = slowInstruments{w.venue, takes}
	w.start()
	time.Sleep(2 * time.Second)
	return takes
}

func TestPlace_IsNotSentLongAfterTheCall(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		takes := w.slow()
		takes.Store(int64(14 * time.Second))
		r := buy("0.5")
		r.Key = "k"
		if _, err := w.Place(w.t.Context(), caller(), r); fault.Of(err) == nil || fault.Of(err).Code != "too_late" || !fault.Of(err).Retryable {
			w.t.Errorf("after 14 s: %v", err)
		}
		if n := len(w.venue.Orders()); n != 0 {
			w.t.Fatalf("the venue has %d orders", n)
		}
		takes.Store(int64(5 * time.Second))
		w.wants(w.place(r), order.Filled)
	})
}

// TestPlace_AfterAStandstillIsAskedForAgain holds that an order that comes right after
// the process stood still is not sent: nobody knows how long it waited to be read.
func TestPlace_AfterAStandstillIsAskedForAgain(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.stop()
		w.ahead = &atomic.Int64{}
		w.start()
		time.Sleep(10 * time.Second)
		w.ahead.Store(int64(14 * time.Second)) // the clock on the wall went on without us
		r := buy("0.5")
		r.Key = "k"
		if _, err := w.Place(w.t.Context(), caller(), r); fault.Of(err) == nil || fault.Of(err).Code != "too_late" || !strings.Contains(fault.Of(err).Message, "suspended") {
			w.t.Errorf("after a standstill: %v", err)
		}
		if n := len(w.venue.Orders()); n != 0 {
			w.t.Fatalf("the venue has %d orders", n)
		}
		time.Sleep(5 * time.Second)
		w.market.Set(brokertest.MemorySymbol(), order.Quote{Last: dec("50000"), At: time.Now().Add(14 * time.Second)})
		w.wants(w.place(r), order.Filled)
	})
}

// hole is a venue that answers nothing.
type hole struct{ *brokertest.Memory }

func (hole) Open(ctx context.Context) ([]order.Report, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (hole) Stream(ctx context.Context, _ func(), _ chan<- order.Report) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestStop_DoesNotWaitForAVenueThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.stop()
		w.broker = hole{w.venue}
		w.start()
		time.Sleep(4 * time.Second)
		began := time.Now()
		w.stop()
		if took := time.Since(began); took > 0 {
			w.t.Errorf("the stop took %v", took)
		}
	})
}

// TestPlace_ClosesAfterManyDenials holds that a client that repeats itself can close its
// position.
func TestPlace_ClosesAfterManyDenials(t *testing.T) {
	t.Parallel()
	for name, reduceOnly := range map[string]bool{"with reduce_only": true, "without": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.policy.MaxOrdersPerMinute = guard.Limit{Value: dec("5")}
				w.start()
				defer func() { w.stop() }()
				time.Sleep(2 * time.Second)
				w.place(buy("0.03"))
				w.place(buy("0.02"))
				for range 3 {
					if _, err := w.Place(t.Context(), caller(), buy("0.02")); err == nil {
						t.Error("a duplicate passed")
					}
				}
				if _, err := w.Place(t.Context(), caller(), buy("0.01")); err == nil || !strings.Contains(err.Error(), "max_orders_per_minute") {
					t.Errorf("one purchase more: %v", err)
				}
				out := buy("0.05")
				out.Side, out.ReduceOnly = order.Sell, reduceOnly
				w.wants(w.place(out), order.Filled)
			})
		})
	}
}
