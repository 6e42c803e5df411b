package desk_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/kit/principal"
	fakebinance "candela/internal/testkit/fake/binance"
	"candela/internal/trading/broker"
	"candela/internal/trading/broker/brokertest"
	"candela/internal/trading/desk"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
)

// counting counts what is submitted.
type counting struct {
	broker.Broker
	single, groups atomic.Int64
}

func (c *counting) Submit(ctx context.Context, s order.Spec) (order.Report, error) {
	c.single.Add(1)
	return c.Broker.Submit(ctx, s)
}

func (c *counting) SubmitGroup(ctx context.Context, orders []order.Spec) ([]order.Report, error) {
	c.groups.Add(1)
	return c.Broker.SubmitGroup(ctx, orders)
}

// commits keeps how many orders each commit approves and sends.
type commits struct {
	desk.Store
	mu  sync.Mutex
	yes [][2]int
}

func (c *commits) AppendEvents(ctx context.Context, by principal.Caller, events []order.Event, notices ...order.Notice) ([]order.Event, error) {
	var yes [2]int
	for _, e := range events {
		switch e.Kind {
		case order.KindApproved:
			yes[0]++
		case order.KindSent:
			yes[1]++
		default:
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if yes != [2]int{} {
		c.yes = append(c.yes, yes)
	}
	return c.Store.AppendEvents(ctx, by, events, notices...)
}

// asking starts the desk again, with an owner who is asked above 1,000 and a venue that is
// counted.
func (w *world) asking() *counting {
	w.stop()
	w.policy.Approval.Above = guard.Limit{Value: dec("1000")}
	c := &counting{Broker: w.broker}
	w.broker = c
	w.start()
	time.Sleep(2 * time.Second)
	return c
}

// atVenues runs a test with an owner who is asked, at each venue that holds groups.
func atVenues(t *testing.T, test func(w *world, sent *counting)) {
	t.Helper()
	for name, manner := range map[string]brokertest.Manner{"like Binance": brokertest.LikeBinance, "like Alpaca": brokertest.LikeAlpaca} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(w *world) {
				w.venue.Behave(manner)
				test(w, w.asking())
			})
		})
	}
	t.Run("on paper", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			p := newPaper(t)
			defer func() { p.stop() }()
			test(p.world, p.asking())
		})
	})
	t.Run("at Binance", func(t *testing.T) {
		t.Parallel()
		atBinance(t, func(w *world, _ *fakebinance.Server) { test(w, w.asking()) })
	})
}

// protections are what an entry may be placed with.
func protections() map[string]order.Protection {
	return map[string]order.Protection{
		"a bracket": {StopLoss: dec("48000"), TakeProfit: dec("55000")},
		"a stop":    {StopLoss: dec("48000")},
		"a target":  {TakeProfit: dec("55000")},
	}
}

// all returns a status for each leg.
func all(s order.Status, p order.Placed) []order.Status {
	statuses := make([]order.Status, len(p.Legs))
	for i := range statuses {
		statuses[i] = s
	}
	return statuses
}

// TestApproval_AGroupIsDecidedAsOne holds that the orders of a group wait together, count
// once, and end or are sent together.
func TestApproval_AGroupIsDecidedAsOne(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		do         func(w *world, p order.Placed) error
		head, legs order.Status
		rule       string
		sent       int64
	}{
		"yes": {head: order.Accepted, legs: order.Held, sent: 1, do: func(w *world, p order.Placed) error {
			_, err := w.Approve(w.t.Context(), p.ID, owned)
			return err
		}},
		"yes to its last leg": {head: order.Accepted, legs: order.Held, sent: 1, do: func(w *world, p order.Placed) error {
			o, err := w.Approve(w.t.Context(), p.Legs[len(p.Legs)-1].ID, owned)
			if o.ID != p.ID {
				w.t.Errorf("approved is %s, want %s", o.ID, p.ID)
			}
			return err
		}},
		"yes after a restart": {head: order.Accepted, legs: order.Held, sent: 1, do: func(w *world, p order.Placed) error {
			w.kill()
			time.Sleep(time.Minute)
			w.start()
			time.Sleep(5 * time.Second)
			w.wants(w.order(p.ID), order.PendingApproval)
			w.wantsLegs(w.legs(p), all(order.PendingApproval, p)...)
			_, err := w.Approve(w.t.Context(), p.ID, owned)
			return err
		}},
		"no": {head: order.Denied, legs: order.Denied, rule: "owner_refused", do: func(w *world, p order.Placed) error {
			_, err := w.Refuse(w.t.Context(), p.Legs[0].ID, owned, "")
			return err
		}},
		"its end": {head: order.Denied, legs: order.Denied, rule: "approval_expired", do: func(*world, order.Placed) error {
			time.Sleep(6 * time.Minute)
			return nil
		}},
		"its end while the program is down": {head: order.Denied, legs: order.Denied, rule: "approval_expired", do: func(w *world, _ order.Placed) error {
			w.kill()
			time.Sleep(time.Hour)
			w.start()
			time.Sleep(5 * time.Second)
			return nil
		}},
		"a halt": {head: order.Denied, legs: order.Denied, rule: "halted", do: func(w *world, _ order.Placed) error {
			_, err := w.Halt(w.t.Context(), "candela halt", "lunch")
			return err
		}},
		"the cancel of the entry": {head: order.Canceled, legs: order.Canceled, do: func(w *world, p order.Placed) error {
			o, err := w.Cancel(w.t.Context(), caller(), p.ID)
			if o.ID != p.ID {
				w.t.Errorf("canceled is %s", o.ID)
			}
			return err
		}},
		"the cancel of a leg": {head: order.Canceled, legs: order.Canceled, do: func(w *world, p order.Placed) error {
			o, err := w.Cancel(w.t.Context(), caller(), p.Legs[0].ID)
			if o.ID != p.Legs[0].ID || o.Status != order.Canceled {
				w.t.Errorf("canceled is %s, %v", o.ID, o.Status)
			}
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			atVenues(t, func(w *world, sent *counting) {
				for protection, protect := range protections() {
					r := limit("0.1", "49000")
					r.Protect, r.Key = protect, "k-"+protection
					before := sent.groups.Load()
					p := w.placed(r)
					w.wants(p.Order, order.PendingApproval)
					w.wantsLegs(p.Legs, all(order.PendingApproval, p)...)
					if s := w.Status(); s.Pending != 1 {
						w.t.Errorf("with %s %d wait", protection, s.Pending)
					}
					if err := c.do(w, p); err != nil {
						w.t.Errorf("%s: %v", protection, err)
					}
					time.Sleep(10 * time.Second)
					w.wants(w.order(p.ID), c.head)
					w.wantsLegs(w.legs(p), all(c.legs, p)...)
					if o := w.order(p.ID); o.Denial.Rule != c.rule {
						w.t.Errorf("%s is denied by %q", protection, o.Denial.Rule)
					}
					if n := sent.groups.Load() - before; n != c.sent || sent.single.Load() != 0 {
						w.t.Errorf("%s: %d groups and %d orders were sent", protection, n, sent.single.Load())
					}
					if again, _ := w.Place(w.t.Context(), caller(), r); again.ID != p.ID || len(again.Legs) != len(p.Legs) {
						w.t.Errorf("the same key returns %+v", again)
					}
					if _, err := w.Resume(w.t.Context(), "candela resume"); err != nil {
						w.t.Fatal(err)
					}
				}
			})
		})
	}
}

// TestApproval_AGroupIsOneCommit holds that the yes and the submission of all orders of a
// group are one record.
func TestApproval_AGroupIsOneCommit(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		kept := &commits{Store: w.store}
		w.kept = kept
		w.asking()
		p := w.placed(bracket(limit("0.5", "49000")))
		if _, err := w.Approve(w.t.Context(), p.ID, owned); err != nil {
			w.t.Fatal(err)
		}
		if len(kept.yes) != 1 || kept.yes[0] != [2]int{3, 3} {
			w.t.Errorf("approved and sent in %v", kept.yes)
		}
	})
}

// TestApproval_AGroupCountsOnce holds that a group that waits uses limits as one that is
// sent, and not against itself.
func TestApproval_AGroupCountsOnce(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(*guard.Policy){
		"max_exposure":  func(p *guard.Policy) { p.MaxExposure = guard.Limit{Value: dec("30000")} },
		"max_open_risk": func(p *guard.Policy) { p.MaxOpenRisk = guard.Limit{Value: dec("900")} }, // 622.75 of the bracket
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			atVenues(t, func(w *world, _ *counting) {
				w.stop()
				set(&w.policy)
				w.policy.MaxTradeRisk, w.policy.MaxTradeRiskPct = guard.Limit{Off: true}, guard.Limit{Off: true}
				w.start()
				time.Sleep(2 * time.Second)
				p := w.placed(bracket(limit("0.5", "49000")))
				for range 2 { // while it waits, and when it is sent
					if got, err := w.Place(w.t.Context(), caller(), bracket(limit("0.3", "49000"))); err == nil || got.Denial.Rule != name {
						w.t.Errorf("beside it %v is placed, denied by %q, %v", got.Status, got.Denial.Rule, err)
					}
					small := bracket(limit("0.02", "49000")) // below the limit of approval
					o := w.placed(small)
					w.wants(o.Order, order.Accepted)
					if _, err := w.Cancel(w.t.Context(), caller(), o.ID); err != nil {
						w.t.Error(err)
					}
					time.Sleep(2 * time.Second)
					if w.order(p.ID).Status != order.PendingApproval {
						break
					}
					if o, err := w.Approve(w.t.Context(), p.ID, owned); err != nil || o.Status != order.Accepted {
						w.t.Errorf("approved, it is %v, %v", o.Status, err)
					}
				}
			})
		})
	}
}

// TestApproval_NeverOfWhatProtects holds that the exits of a position are sent at once: a
// pair, its move, and a sale that releases it.
func TestApproval_NeverOfWhatProtects(t *testing.T) {
	t.Parallel()
	atVenues(t, func(w *world, _ *counting) {
		o := w.held(buy("0.1"))
		if _, err := w.Approve(w.t.Context(), o.ID, owned); err != nil {
			w.t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		r := pair("0.09") // the venue may take its fee from what was bought
		p := w.placed(r)
		w.wants(p.Order, order.Accepted)
		w.wantsLegs(p.Legs, order.Accepted)
		r.Replaces, r.Protect.StopLoss = p.ID, dec("49000")
		p = w.placed(r)
		w.wants(p.Order, order.Accepted)
		exit := buy("0.09")
		exit.Side, exit.ReduceOnly, exit.DryRun = order.Sell, true, true
		if e := w.placed(exit).Estimate; e == nil || e.NeedsApproval {
			w.t.Errorf("the estimate of the exit is %+v", e)
		}
		exit.DryRun = false
		w.wants(w.placed(exit).Order, order.Filled)
	})
}

// TestApproval_OfAnOrderThatReplaces holds that an order that would have to wait does not
// replace another one, which would stay open meanwhile, and that one that waits is not
// replaced.
func TestApproval_OfAnOrderThatReplaces(t *testing.T) {
	t.Parallel()
	atVenues(t, func(w *world, sent *counting) {
		small := w.placed(bracket(limit("0.02", "49000")))
		w.wants(small.Order, order.Accepted)
		r := bracket(limit("0.1", "49000"))
		r.Replaces = small.ID
		for _, dry := range []bool{true, false} {
			r.DryRun = dry
			got, err := w.Place(w.t.Context(), caller(), r)
			if err == nil || got.Status != order.Denied || got.Denial.Rule != "replaces_needs_approval" || !strings.Contains(err.Error(), "Cancel it with cancel_order") {
				w.t.Errorf("dry run %t: %v, %v", dry, got.Status, err)
			}
		}
		w.wants(w.order(small.ID), order.Accepted)
		waiting := w.placed(bracket(limit("0.1", "49000")))
		r = bracket(limit("0.02", "49100"))
		for _, o := range append([]order.Order{waiting.Order}, waiting.Legs...) {
			r.Replaces, r.Side = o.ID, order.Buy
			if _, err := w.Place(w.t.Context(), caller(), r); err == nil || !strings.Contains(err.Error(), "was not sent. Withdraw it with cancel_order") {
				w.t.Errorf("it replaces the %v that waits: %v", o.Role, err)
			}
		}
		w.wants(w.order(waiting.ID), order.PendingApproval)
		if n := sent.groups.Load(); n != 1 {
			w.t.Errorf("%d groups were sent", n)
		}
	})
}

// TestApproval_ADryRunShowsIt holds that a dry run says whether the order would wait.
func TestApproval_ADryRunShowsIt(t *testing.T) {
	t.Parallel()
	atVenues(t, func(w *world, _ *counting) {
		for quantity, want := range map[string]bool{"0.1": true, "0.02": false} {
			r := bracket(limit(quantity, "49000"))
			r.DryRun = true
			if e := w.placed(r).Estimate; e == nil || e.NeedsApproval != want {
				w.t.Errorf("the estimate of %s is %+v", quantity, e)
			}
		}
		if s := w.Status(); s.Pending != 0 || s.Open != 0 {
			w.t.Errorf("the desk is %+v", s)
		}
	})
}
