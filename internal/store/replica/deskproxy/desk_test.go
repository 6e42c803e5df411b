package deskproxy_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/shopspring/decimal"

	"candela/internal/store/replica/replicatest"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/fault"
	"candela/lib/market"
)

func TestDesk_AnswersAtEveryReplica(t *testing.T) {
	t.Parallel()
	f := newTradeCluster(t, replicatest.Servers(), 0)
	trader := f.steady()
	for i, r := range f.replicas {
		if o := f.filled(r, fmt.Sprintf("k%d", i)); o.Token != "token-1" || o.Client != "a client" {
			t.Errorf("at %s the order is %+v", r.name, o)
		}
		f.same("k0", r)
		replicatest.Eventually(t, "the desk has reconciled its account", func() bool { // the next desk, after a takeover
			s, err := r.Status(t.Context())
			if err != nil || s.Broker != "binance" {
				t.Fatalf("at %s the status is %+v, %v", r.name, s, err)
			}
			return s.Reconciled
		})
		for _, other := range f.replicas { // all replicas have what one has acknowledged
			orders, position, err := other.InSymbol(t.Context(), owner(), market.Symbol{Venue: "binance", Name: "BTCUSDT"})
			if err != nil || len(orders) != i+1 || !position.Quantity.Equal(decimal.New(999*int64(i+1), -6)) || position.Quote.Last.IsZero() {
				t.Errorf("at %s after an order at %s: %d orders, %s, %v", other.name, r.name, len(orders), position.Quantity, err)
			}
		}
	}
	f.settled(f.others(trader)[0])
	f.refuses(f.others(trader)[0], trader)
	f.halts(f.others(trader)[0], trader)
	f.heeds(f.others(trader)[0], f.others(trader)[1], trader)
}

// refuses compares the errors of two replicas.
func (f *tradeCluster) refuses(a, b *trader) {
	f.t.Helper()
	stranger := owner()
	stranger.Subject = "somebody else"
	small := bid("")
	small.Quantity = decimal.New(1, -9)
	for name, call := range map[string]func(r *trader) (order.Placed, error){
		"a stranger": func(r *trader) (order.Placed, error) { return r.Place(f.t.Context(), stranger, bid("")) },
		"a used key": func(r *trader) (order.Placed, error) { return r.Place(f.t.Context(), owner(), bidMore("k0")) },
		"too little": func(r *trader) (order.Placed, error) { return r.Place(f.t.Context(), owner(), small) },
		"an unknown order": func(r *trader) (p order.Placed, err error) {
			p.Order, err = r.Cancel(f.t.Context(), owner(), "never")
			return p, err
		},
		"an unknown symbol": func(r *trader) (order.Placed, error) { return r.Place(f.t.Context(), owner(), elsewhere()) },
	} {
		x, errX := call(a)
		y, errY := call(b)
		fx, fy := fault.Of(errX), fault.Of(errY)
		if fx == nil || fy == nil || fx.Kind != fy.Kind || fx.Code != fy.Code || fx.Message != fy.Message || fx.Value != fy.Value || fx.Allowed != fy.Allowed || x.Status != y.Status || x.Denial != y.Denial {
			f.t.Errorf("%s: one says %v with %v, the other %v with %v", name, errX, x.Status, errY, y.Status)
		}
	}
}

func bidMore(key string) order.Request {
	r := bid(key)
	r.Quantity = decimal.New(2, -3)
	return r
}

func elsewhere() order.Request {
	r := bid("")
	r.Symbol.Name = "NOSUCHUSDT"
	return r
}

// halts halts at a replica that does not trade, and resumes.
func (f *tradeCluster) halts(a, trader *trader) {
	f.t.Helper()
	s, err := a.Halt(f.t.Context(), "candela halt", "lunch")
	if err != nil || s.Level() != guard.Halted || trader.Running().Status().State.Level() != guard.Halted {
		f.t.Errorf("halted: %v, %v", s, err)
	}
	if _, err := a.Place(f.t.Context(), owner(), bid("halted")); fault.Of(err) == nil || !strings.Contains(fault.Of(err).Message, "lunch") {
		f.t.Errorf("an order during a halt: %v", err)
	}
	f.resume(a)
}

// TestDesk_SurvivesItsReplica takes the account from the trading replica while orders are placed at
// the others and one is in flight.
func TestDesk_SurvivesItsReplica(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		sent bool // the venue has the order in flight
		blow func(f *tradeCluster, r *trader) (undo func())
	}{
		"killed": {sent: true, blow: func(_ *tradeCluster, r *trader) func() {
			r.conn.Close() // first, so that it cannot announce its departure
			return func() {}
		}},
		"paused":                               {blow: func(_ *tradeCluster, r *trader) func() { return replicatest.HoldHeartbeats(r.members) }},
		"paused after the venue has the order": {sent: true, blow: func(_ *tradeCluster, r *trader) func() { return replicatest.HoldHeartbeats(r.members) }},
		"released": {sent: true, blow: func(f *tradeCluster, r *trader) func() {
			if err := r.members.Drain(f.t.Context()); err != nil {
				f.t.Error(err)
			}
			return func() {}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newTradeCluster(t, replicatest.Servers(), 0)
			former := f.steady()
			others := f.others(former)
			stop := f.trade(others...)
			held, release := former.gate.hold(c.sent)
			t.Cleanup(release)
			<-held
			began := time.Now()
			undo := c.blow(f, former)
			next := f.trading(former)
			t.Logf("taken over after %s", time.Since(began))
			release() // it continues without knowing of the takeover
			f.same("b-0", next)
			undo()
			if name == "killed" {
				former.kill()
			}
			stop()
			f.settled(others[0])
			f.settled(others[1])
			if name == "killed" && f.lost == 0 {
				t.Error("the call in progress was answered")
			}
		})
	}
}

// TestDesk_NoticesAnotherWriter takes over the orders of an idle trading replica: its desk ends, and
// the next one starts.
func TestDesk_NoticesAnotherWriter(t *testing.T) {
	t.Parallel()
	f := newTradeCluster(t, replicatest.Servers(), 0)
	trader := f.steady()
	was := trader.Running()
	replicatest.OpenOrders(t, replicatest.Servers(), f.prefix)
	// A heartbeat takes a second, and longer if the servers are slow.
	var beats atomic.Int64
	if _, err := replicatest.ConnectRaw(t, replicatest.Servers()).Subscribe(f.prefix+".member."+trader.members.Self(), func(*nats.Msg) { beats.Add(1) }); err != nil {
		t.Fatal(err)
	}
	took := replicatest.Eventually(t, "the desk ends", func() bool { return trader.Running() != was })
	if n := beats.Load(); n > 8 {
		t.Errorf("after %s and %d heartbeats", took, n)
	}
	f.place(f.trading(), "after")
}

// TestDesk_SurvivesAServerOutage stops most servers for longer than a write is retried. Nothing is
// executed then, and trading continues by itself when they are back.
func TestDesk_SurvivesAServerOutage(t *testing.T) {
	t.Parallel()
	three := replicatest.Start(t, 3)
	f := newTradeCluster(t, three, time.Second)
	first := f.steady()
	f.place(first, "before")
	three.Kill(0)
	three.Kill(1)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if o, err := first.Place(ctx, owner(), bid("during")); err == nil {
		t.Errorf("without servers the order is %v", o.Status)
	}
	replicatest.Eventually(t, "the term ends", func() bool { return first.Running() == nil })
	replicatest.Restart(t, three, 0, 1)
	f.steady()
	for i, r := range f.replicas {
		f.place(r, fmt.Sprintf("after-%d", i))
	}
	f.settled(first)
	s, err := first.Status(t.Context())
	if err != nil || s.State.Explain() != "" {
		t.Errorf("trading continues with %q, %v", s.State.Explain(), err)
	}
}
