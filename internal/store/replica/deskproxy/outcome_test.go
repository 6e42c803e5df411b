package deskproxy_test

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/kit/principal"
	"candela/internal/store/replica/deskproxy"
	"candela/internal/store/replica/member"
	"candela/internal/store/replica/orders"
	"candela/internal/store/replica/replicatest"
	"candela/internal/trading/broker/paper"
	"candela/internal/trading/broker/paper/papertest"
	"candela/internal/trading/desk"
	"candela/internal/trading/order"
	"candela/lib/fault"
	"candela/lib/market"
)

// TestDesk_ReportsUnknownOutcomes calls a replica that receives calls and does not reply.
func TestDesk_ReportsUnknownOutcomes(t *testing.T) {
	t.Parallel()
	prefix := replicatest.NewPrefix()
	mute, _ := replicatest.Join(t, replicatest.Servers(), prefix, "mute")
	conn := replicatest.Connect(t, replicatest.Servers(), prefix)
	asks, err := member.Join(t.Context(), conn, member.Info{Name: "asks"}, replicatest.Quiet()) // owns nothing
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(asks.Close)
	replicatest.Agree(t, asks, mute)
	over := make(chan struct{})
	t.Cleanup(func() { close(over) })
	for name, c := range map[string]struct {
		method    string
		call      func(ctx context.Context, d *deskproxy.Desk) error
		says      string
		retryable bool
	}{
		"an order with a key": {"place", func(ctx context.Context, d *deskproxy.Desk) error {
			_, err := d.Place(ctx, owner(), bid("k"))
			return err
		}, "with the same idempotency_key", true},
		"an order without a key": {"place", func(ctx context.Context, d *deskproxy.Desk) error {
			_, err := d.Place(ctx, owner(), bid(""))
			return err
		}, "get_orders before you retry", false},
		"a cancel":    {"cancel", func(ctx context.Context, d *deskproxy.Desk) error { _, err := d.Cancel(ctx, owner(), "o1"); return err }, "cancelling twice is safe", true},
		"a halt":      {"halt", func(ctx context.Context, d *deskproxy.Desk) error { _, err := d.Halt(ctx, "me", ""); return err }, "may not have been halted", true},
		"an approval": {"approve", func(ctx context.Context, d *deskproxy.Desk) error { _, err := d.Approve(ctx, "o1", "me"); return err }, "an order is sent once", true},
		"a refusal": {"refuse", func(ctx context.Context, d *deskproxy.Desk) error {
			_, err := d.Refuse(ctx, "o1", "me", "")
			return err
		}, "may still wait", true},
		"a resumption": {"resume", func(ctx context.Context, d *deskproxy.Desk) error { _, err := d.Resume(ctx, "me"); return err }, "may not have been resumed", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			mute.Handle("desk."+c.method+" "+name, func(context.Context, []byte) ([]byte, error) {
				cancel() // the caller gives up
				<-over
				return nil, nil
			})
			err := c.call(ctx, deskproxy.New(asks, deskproxy.Config{Account: name, Log: replicatest.Quiet(), Now: time.Now}))
			f := fault.Of(err)
			if !errors.Is(err, member.ErrOutcomeUnknown) || f.Kind != fault.Unavailable || f.Retryable != c.retryable || !strings.Contains(f.Message, "may ") || !strings.Contains(f.Message, c.says) {
				t.Errorf("got %+v", f)
			}
		})
	}
}

// TestDesk_WaitsForATradingReplica calls while the shard owner does not trade.
func TestDesk_WaitsForATradingReplica(t *testing.T) {
	t.Parallel()
	members, _ := replicatest.Join(t, replicatest.Lone(), replicatest.NewPrefix(), "a")
	d := deskproxy.New(members, deskproxy.Config{Account: "ann", Log: replicatest.Quiet(), Now: time.Now})
	began := time.Now()
	_, err := d.Place(t.Context(), owner(), bid("k"))
	f := fault.Of(err)
	if !errors.Is(err, member.ErrNotShardOwner) || !f.Retryable || !strings.Contains(f.Message, "nothing was executed") {
		t.Errorf("got %+v", f)
	}
	if waited := time.Since(began); waited < 10*time.Second {
		t.Errorf("after %s", waited)
	}
}

// TestDesk_IdempotencyKeySurvivesATakeover places orders at every replica while the new trading
// replica cannot reconcile, and again with the same keys.
func TestDesk_IdempotencyKeySurvivesATakeover(t *testing.T) {
	t.Parallel()
	f := newTradeCluster(t, replicatest.Servers(), 0)
	was := f.steady()
	f.deafen(true)
	if err := was.members.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	replicatest.Eventually(t, "another replica trades", func() bool {
		return slices.ContainsFunc(f.others(was), func(r *trader) bool { return r.Running() != nil })
	})
	var asked sync.WaitGroup
	for _, r := range f.replicas {
		asked.Go(func() {
			// A call without a trading replica or a reply is retried.
			o, err := r.Place(t.Context(), owner(), bid(r.name))
			for began := time.Now(); absent(err) && time.Since(began) < replicatest.Patience; {
				o, err = r.Place(t.Context(), owner(), bid(r.name))
			}
			if fe := fault.Of(err); fe == nil || fe.Code != "not_compared" || !fe.Retryable || o.Status != 0 {
				t.Errorf("at %s: %+v with %v", r.name, fe, o.Status)
			}
		})
	}
	asked.Wait()
	f.deafen(false)
	for _, r := range f.replicas {
		f.filled(r, r.name)
	}
	f.settled(was)
}

// absent reports whether no trading replica has replied.
func absent(err error) bool {
	return errors.Is(err, member.ErrNotShardOwner) || errors.Is(err, member.ErrOutcomeUnknown)
}

// TestDesk_KeepsThePaperAccount moves an account that exists only in its journal.
func TestDesk_KeepsThePaperAccount(t *testing.T) {
	t.Parallel()
	prefix, prices := replicatest.NewPrefix(), papertest.NewMarket(papertest.BTCUSDT())
	prices.Set(papertest.BTCUSDT().Symbol, order.Quote{Last: decimal.NewFromInt(50_000)})
	ann := principal.Caller{Subject: "ann"}
	var desks []*deskproxy.Desk
	var members []*member.Group
	for _, name := range []string{"a", "b"} {
		m, _ := replicatest.Join(t, replicatest.Servers(), prefix, name)
		d := deskproxy.New(m, deskproxy.Config{Account: "ann", Log: replicatest.Quiet(), Now: time.Now, Open: func(ctx context.Context, orders *orders.Store) (deskproxy.Trader, func(), error) {
			return openPaper(ctx, orders, prices)
		}})
		ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
		done := make(chan error, 1)
		go func() { done <- d.Run(ctx, ctx, func() {}) }()
		t.Cleanup(func() {
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
		desks, members = append(desks, d), append(members, m)
	}
	replicatest.Agree(t, members...)
	buy := func(d *deskproxy.Desk, key string) (o order.Placed) {
		t.Helper()
		var err error
		replicatest.Eventually(t, "the venue's answer is known", func() bool {
			o, err = d.Place(t.Context(), ann, bid(key))
			return !absent(err) && o.Status != order.Submitted && o.Status != order.Uncertain
		})
		if err != nil || o.Status != order.Filled {
			t.Fatalf("%v is %v: %v", key, o.Status, err)
		}
		return o
	}
	trades := func(i int) bool {
		running := desks[i].Running()
		_, owns := members[i].ShardOwner("desk")
		return owns && running != nil && running.Status().Reconciled
	}
	from := 0
	replicatest.Eventually(t, "one replica trades and has reconciled the account", func() bool {
		if from = 0; trades(1) {
			from = 1
		}
		return trades(from)
	})
	first := buy(desks[0], "k1")
	if err := members[from].Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	replicatest.Eventually(t, "the other trades", func() bool { return trades(1 - from) })
	if again := buy(desks[from], "k1"); again.ID != first.ID {
		t.Errorf("the key returns %s and then %s", first.ID, again.ID)
	}
	if second := buy(desks[from], "k2"); second.VenueID == first.VenueID || second.Fills[0].TradeID == first.Fills[0].TradeID {
		t.Errorf("the account was reset: %+v", second)
	}
	positions, err := desks[from].Positions(t.Context(), ann)
	if err != nil || len(positions) != 1 || !positions[0].Quantity.Equal(decimal.New(2, -3)) {
		t.Errorf("the positions are %v, %v", positions, err)
	}
	s, err := desks[from].Status(t.Context())
	if err != nil || s.State.Explain() != "" {
		t.Errorf("it trades with %q, %v", s.State.Explain(), err)
	}
}

func openPaper(ctx context.Context, orders *orders.Store, prices *papertest.Market) (deskproxy.Trader, func(), error) {
	venue := paper.New(paper.Config{
		Journal: replicatest.Journal{Store: orders, Owner: "ann", Name: paper.Name}, Market: prices, Rates: paper.Usual(), Now: time.Now, Log: slog.New(slog.DiscardHandler),
		Cash: map[string]decimal.Decimal{"USDT": decimal.NewFromInt(1_000_000)},
	})
	if err := venue.Load(ctx); err != nil {
		return nil, nil, err
	}
	return desk.New(desk.Config{
		Owner: "ann", Broker: venue, Store: orders, Market: paperMarket{prices}, Policy: unlimited(), Log: replicatest.Quiet(), Now: time.Now, Rand: rand.Float64,
		Resolve: func(_ context.Context, s market.Symbol) (market.Symbol, error) { s.Venue = "binance"; return s, nil },
	}), func() {}, nil
}

// paperMarket is the market of a paper desk.
type paperMarket struct{ *papertest.Market }

func (m paperMarket) LastQuote(s market.Symbol) (order.Quote, bool) {
	q, err := m.Quote(context.Background(), s)
	return q, err == nil
}
func (paperMarket) Follow([]market.Symbol)  {}
func (paperMarket) LaggingVenues() []string { return nil }
