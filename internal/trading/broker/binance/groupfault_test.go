package binance_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/testkit/fake"
	venue "candela/internal/testkit/fake/binance"
	"candela/internal/testkit/longtest"
	"candela/internal/trading/broker"
	"candela/internal/trading/broker/binance"
	"candela/internal/trading/broker/brokertest"
	"candela/internal/trading/order"
	"candela/lib/fault"
)

// TestSubmitGroup_Fates sends a bracket and a pair with each fault there is. The error is
// about all orders of the group, and afterwards all of them are found, or none.
func TestSubmitGroup_Fates(t *testing.T) {
	t.Parallel()
	network, server := fake.NewNetwork(), venue.New(venue.Config{})
	for _, f := range failures(network, server) {
		if f.Name == "no network" {
			continue // its own test follows
		}
		for _, orders := range [][]order.Spec{bracket(nil), pair(nil)} {
			within(t, func(t *testing.T, s *venue.Server, b *binance.Broker) {
				t.Helper()
				s.Next(venue.OrderFaults()[f.Name])
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				_, err := b.SubmitGroup(ctx, orders)
				if broker.Outcome(err) != f.Want { //nolint:errorlint // one of the values
					t.Errorf("%s: %v", f.Name, err)
				}
				s.Clear()
				time.Sleep(3 * time.Minute) // after the longest ban
				found(t, b, f.Name, orders, f.Done)
				if lists := s.Lists(); len(lists) != map[bool]int{true: 1}[f.Done] {
					t.Errorf("%s: %d lists", f.Name, len(lists))
				}
				if !f.Done {
					return
				}
				// The venue has the ids, so the same orders again are no refusal.
				if _, err := b.SubmitGroup(t.Context(), orders); !errors.Is(err, broker.ErrUnknown) || len(s.Lists()) != 1 {
					t.Errorf("%s, sent again: %v", f.Name, err)
				}
			})
		}
	}
}

// found holds that the orders of a group are at the venue, or none of them.
func found(t *testing.T, b *binance.Broker, name string, orders []order.Spec, want bool) {
	t.Helper()
	for _, o := range orders {
		r, err := b.Query(t.Context(), o.Handle())
		if !want {
			if !errors.Is(err, broker.ErrNotFound) {
				t.Errorf("%s: %s is there: %+v, %v", name, o.Role, r, err)
			}
			continue
		}
		status := order.Accepted
		if o.Group.Leg {
			status = order.Held
		}
		if err != nil || r.Status != status || r.Group != o.Group || r.ID != o.ID {
			t.Errorf("%s: %s is %+v, %v", name, o.Role, r, err)
		}
	}
}

func TestSubmitGroup_NothingLeavesWithoutANetwork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		network, server := open(t)
		b := connect(t, network)
		for range 2 { // the second time with the symbol and the clock known
			network.SetDown(true)
			if _, err := b.SubmitGroup(t.Context(), bracket(nil)); !errors.Is(err, broker.ErrNotSent) {
				t.Error(err)
			}
			network.SetDown(false)
			time.Sleep(time.Minute)
			if _, err := b.Capabilities(t.Context(), btc()); err != nil {
				t.Fatal(err)
			}
			if _, err := b.Skew(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if len(server.Orders()) != 0 {
			t.Error("an order is at the venue")
		}
	})
}

// TestCancel_OneOrderOfAGroupEndsIt cancels each order of a group in turn.
func TestCancel_OneOrderOfAGroupEndsIt(t *testing.T) {
	t.Parallel()
	for i := range 3 {
		within(t, func(t *testing.T, _ *venue.Server, b *binance.Broker) {
			t.Helper()
			orders := bracket(nil)
			if _, err := b.SubmitGroup(t.Context(), orders); err != nil {
				t.Fatal(err)
			}
			if r, err := b.Cancel(t.Context(), orders[i].Handle()); err != nil || r.Status != order.Canceled || r.ID != orders[i].ID || r.Group != orders[i].Group {
				t.Errorf("%d: %+v, %v", i, r, err)
			}
			for _, o := range orders {
				if r, err := b.Cancel(t.Context(), o.Handle()); err != nil || r.Status != order.Canceled {
					t.Errorf("%d, %s: %+v, %v", i, o.Role, r, err)
				}
			}
		})
	}
}

// account folds reports of orders into their states, as the desk does.
type account map[string]order.Order

// add records a group as sent.
func (a account) add(t *testing.T, orders []order.Spec) {
	t.Helper()
	for _, o := range orders {
		for _, e := range []order.Event{{Kind: order.KindCreated, Origin: &order.Origin{Spec: o, Broker: "binance", Mode: order.Paper}}, {Kind: order.KindSent}} {
			e.OrderID, e.At = o.ID, time.Now()
			a.apply(t, e)
		}
	}
}

func (a account) apply(t *testing.T, events ...order.Event) {
	t.Helper()
	for _, e := range events {
		next, err := order.Apply(a[e.OrderID], e)
		if err != nil {
			t.Fatal(err)
		}
		a[e.OrderID] = next
	}
}

// take folds the reports that have come.
func (a account) take(t *testing.T, l *brokertest.Listening) {
	t.Helper()
	for len(l.Reports) > 0 {
		if r := <-l.Reports; a[r.ID].Status != 0 {
			a.apply(t, order.FromReport(a[r.ID], r)...)
		}
	}
}

// TestStream_GroupsInAnyOrder trades groups while the stream repeats, delays and reorders
// their reports and loses those of lists. In the end each order is what it is at the venue.
func TestStream_GroupsInAnyOrder(t *testing.T) {
	t.Parallel()
	for n := range longtest.Pick[uint64](2, 20) {
		seed := longtest.Seed() + n
		for _, assumed := range []venue.Assumptions{{}, {TargetKeepsStop: true, OTOLocksLegs: true, ShowsUnsized: true}} {
			recorded(t, venue.Config{Seed: seed, Depth: dec("0.05")}, func(t *testing.T, s *venue.Server, b *binance.Broker, _ *sent) {
				t.Helper()
				s.Assume(assumed)
				s.User.Set(fake.StreamFaults{Duplicate: 0.3, Reorder: 0.3, Late: 0.2})
				s.Lose("listStatus", 20)
				l, books := brokertest.Listen(t.Context(), b), account{}
				<-l.Ready
				random := rand.New(rand.NewPCG(seed, 11))
				for range 40 {
					tradeGroup(t, s, b, random, books)
					time.Sleep(time.Minute) // late reports come
					synctest.Wait()
					books.take(t, l)
				}
				_ = l.End()
				compareGroups(t, s, books)
			})
		}
	}
}

// tradeGroup sends a group and lets something happen to it, and ends it.
func tradeGroup(t *testing.T, s *venue.Server, b *binance.Broker, random *rand.Rand, books account) {
	t.Helper()
	kinds := []func() []order.Spec{
		func() []order.Spec { return bracket(nil) },
		func() []order.Spec { return pair(nil) },
		func() []order.Spec { return trailing("2") },
		func() []order.Spec { return bracket(func(r *order.Request) { r.Protect.TakeProfit = decimal.Zero }) },
		func() []order.Spec { return bracket(func(r *order.Request) { r.Protect.StopLossLimit = dec("46900") }) },
		func() []order.Spec {
			return edged(bracket(func(r *order.Request) { r.Type, r.Price = order.Market, decimal.Zero }), "50250")
		},
	}
	s.Move("BTCUSDT", dec("50000"))
	orders := kinds[random.IntN(len(kinds))]()
	books.add(t, orders)
	reports, err := b.SubmitGroup(t.Context(), orders)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range reports {
		books.apply(t, order.FromReport(books[r.ID], r)...)
	}
	for range 1 + random.IntN(4) {
		one := orders[random.IntN(len(orders))]
		switch random.IntN(6) {
		case 0:
			s.Trade(one.ID, dec("0.03"))
		case 1:
			s.Trade(orders[0].ID, dec("0.1"))
		case 2:
			s.Move("BTCUSDT", dec("46000"))
		case 3:
			s.Move("BTCUSDT", dec("55500"))
		case 4:
			s.Expire(one.ID)
		case 5:
			s.RefuseLeg(one.ID)
		}
		time.Sleep(time.Second)
	}
	for _, o := range orders {
		r, err := b.Cancel(t.Context(), o.Handle())
		if err != nil {
			t.Fatal(err)
		}
		books.apply(t, order.FromReport(books[r.ID], r)...)
	}
}

// compareGroups holds the books against the venue's truth.
func compareGroups(t *testing.T, s *venue.Server, books account) {
	t.Helper()
	triggered, filled := 0, 0
	for _, o := range s.Orders() {
		want, got := reportOf(o), books[o.ClientID]
		sized := o.Quantity.IsZero() || got.Quantity.Equal(o.Quantity)
		if got.Status != want.Status || !got.Filled.Equal(want.Filled) || got.VenueID != want.VenueID || !sized || got.Doubtful() || got.MissingFills() {
			t.Errorf("%s %s is %v over %v, %v filled, %q; the venue has %s over %v, %v filled, %s", got.Role, got.ID, got.Status, got.Quantity, got.Filled, got.Doubt,
				o.Status, o.Quantity, o.Executed, o.ExpiryReason)
		}
		if !got.Triggered.IsZero() != (got.IsStop() && !o.Working.IsZero()) {
			t.Errorf("%s %s was triggered at %v, at the venue at %v", got.Role, got.ID, got.Triggered, o.Working)
		}
		if !got.Triggered.IsZero() {
			triggered++
		}
		if got.Status == order.Filled {
			filled++
		}
	}
	if triggered == 0 || filled == 0 {
		t.Errorf("too little happened: %d triggered, %d filled", triggered, filled)
	}
}

// TestSubmitGroup_WhatTheDocumentsLeaveOpen holds that the venue's other answer to a
// question is a refusal that says what to do, and leaves nothing behind.
func TestSubmitGroup_WhatTheDocumentsLeaveOpen(t *testing.T) {
	t.Parallel()
	config := venue.Config{Funds: map[string]decimal.Decimal{"USDT": dec("100000")}}
	without := config
	without.Symbols = map[string]venue.Features{"BTCUSDT": {NoOPO: true}}
	for name, tc := range map[string]struct {
		config  venue.Config
		assumed venue.Assumptions
		orders  []order.Spec
		code    string
		field   string
	}{
		"no fill-or-kill in an OPO": {
			config, venue.Assumptions{OPORefusesFOK: true}, edged(bracket(func(r *order.Request) { r.Type, r.Price = order.Market, decimal.Zero }), "50250"), "venue_refused", "type",
		},
		"an OTO locks its legs": {without, venue.Assumptions{OTOLocksLegs: true}, bracket(nil), "insufficient_balance", "quantity"},
	} {
		recorded(t, tc.config, func(t *testing.T, s *venue.Server, b *binance.Broker, _ *sent) {
			t.Helper()
			s.Assume(tc.assumed)
			_, err := b.SubmitGroup(t.Context(), tc.orders)
			if f := fault.Of(err); !errors.Is(err, broker.ErrRejected) || f == nil || f.Code != tc.code || f.Field != tc.field {
				t.Errorf("%s: %v", name, err)
			}
			found(t, b, name, tc.orders, false)
		})
	}
}
