package deskproxy_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/data/upstream"
	"candela/internal/kit/principal"
	"candela/internal/kit/secret"
	"candela/internal/store/replica/conn"
	"candela/internal/store/replica/deskproxy"
	"candela/internal/store/replica/member"
	"candela/internal/store/replica/natstest"
	"candela/internal/store/replica/orders"
	"candela/internal/store/replica/replicatest"
	"candela/internal/testkit/fake"
	fakebinance "candela/internal/testkit/fake/binance"
	"candela/internal/trading/broker"
	"candela/internal/trading/broker/binance"
	"candela/internal/trading/desk"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/fault"
	"candela/lib/market"
)

const accountName = "owner/binance-testnet"

func owner() principal.Caller {
	return principal.Caller{Subject: accountName, Key: "token-1", Client: "a client"}
}

// tradeCluster is a fake Binance with replicas that trade on one account.
type tradeCluster struct {
	*fakebinance.Server
	t        *testing.T
	to       *natstest.Cluster
	network  *fake.Network
	prefix   string
	replicas []*trader
	patience time.Duration // retry limit of a write; 0 for the default

	mu    sync.Mutex
	acked map[string]order.Order // by idempotency key, as acknowledged
	lost  int                    // calls without a reply

	bars *closedBars // of the strategies that run; nil where none do
}

// trader is one of the replicas.
type trader struct {
	*deskproxy.Desk
	name    string
	members *member.Group
	conn    *conn.Conn
	gate    *gate
	halt    string // the path of the halt file
	kill    func() // ends it without notice

	strategies *termStrategies // nil where none run
}

// gate is the connection to the venue, which can hold an order.
type gate struct {
	broker.Broker
	mu     sync.Mutex
	before chan struct{} // an order waits for it before it is sent; nil for none
	after  chan struct{} // an answer waits for it
	held   chan struct{} // closed when one waits
	deaf   bool          // the account cannot be reconciled
}

// Open fails while the gate is deaf, and with it every reconciliation.
func (g *gate) Open(ctx context.Context) ([]order.Report, error) {
	g.mu.Lock()
	deaf := g.deaf
	g.mu.Unlock()
	if deaf {
		return nil, errors.New("no route")
	}
	return g.Broker.Open(ctx)
}

// deafen makes reconciliation fail at every replica, or not.
func (f *tradeCluster) deafen(deaf bool) {
	for _, r := range f.replicas {
		r.gate.mu.Lock()
		r.gate.deaf = deaf
		r.gate.mu.Unlock()
	}
}

func (g *gate) Submit(ctx context.Context, o order.Spec) (order.Report, error) {
	g.mu.Lock()
	before, after, held := g.before, g.after, g.held
	g.before, g.after, g.held = nil, nil, nil // for one order
	g.mu.Unlock()
	if before != nil {
		close(held)
		<-before // regardless of ctx, like a stopped process
	}
	r, err := g.Broker.Submit(context.WithoutCancel(ctx), o)
	if after != nil {
		close(held)
		<-after
	}
	return r, err
}

// hold holds the next order, before it is sent or after the venue has it.
func (g *gate) hold(sent bool) (held <-chan struct{}, release func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.held = make(chan struct{})
	way := make(chan struct{})
	if sent {
		g.after = way
	} else {
		g.before = way
	}
	return g.held, sync.OnceFunc(func() { close(way) })
}

func newTradeCluster(t *testing.T, to *natstest.Cluster, patience time.Duration) *tradeCluster {
	t.Helper()
	f := &tradeCluster{patience: patience}
	f.begin(t, to)
	return f
}

// begin starts the venue and the replicas.
func (f *tradeCluster) begin(t *testing.T, to *natstest.Cluster) {
	t.Helper()
	f.Server, f.t, f.to, f.network, f.prefix, f.acked = fakebinance.New(fakebinance.Config{Seed: 1}), t, to, fake.NewNetwork(), replicatest.NewPrefix(), make(map[string]order.Order)
	t.Cleanup(f.network.Serve("binance.test:80", f.Server))
	for _, name := range []string{"a", "b", "c"} {
		f.join(name)
	}
}

func (*tradeCluster) Follow([]market.Symbol)  {}
func (*tradeCluster) LaggingVenues() []string { return nil }

func (f *tradeCluster) Quote(_ context.Context, s market.Symbol) (order.Quote, error) {
	q, _ := f.LastQuote(s)
	return q, nil
}

func (f *tradeCluster) LastQuote(s market.Symbol) (order.Quote, bool) {
	return order.Quote{Last: f.Price(s.Name), At: time.Now()}, true
}

func unlimited() guard.Policy {
	off := guard.Limit{Off: true}
	return guard.Policy{
		Limits: guard.Limits{
			MaxOrderQuantity: off, MaxOrderNotional: off, PriceBandPct: off, RestingBandPct: off, MaxSymbolExposure: off, MaxSymbolOpenOrders: off, AllowShort: true,
			Protective: guard.Protective{RequireStop: guard.StopNever, MaxTradeRisk: off, MaxTradeRiskPct: off, MinStopDistancePct: off, MaxStopDistancePct: off, MaxTargetDistancePct: off},
		},
		Currencies: []string{"USDT"}, MaxExposure: off, MaxOpenOrders: off, MaxOrdersPerMinute: off, MaxDailyNotional: off, MaxDailyLoss: off, MaxOpenRisk: off,
		MaxQuoteAge: time.Minute, MaxClockSkew: time.Minute,
		Approval: guard.Approval{Above: guard.Limit{Value: decimal.NewFromInt(10_000)}, RiskAbove: off, Expires: time.Hour, DriftPct: off},
	}
}

// join adds a replica.
func (f *tradeCluster) join(name string) {
	f.t.Helper()
	conn := replicatest.Connect(f.t, f.to, f.prefix)
	conn.RetryFor = replicatest.Usual
	members, err := member.Join(f.t.Context(), conn, member.Info{Name: name, Account: accountName}, replicatest.Quiet())
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(members.Close)
	members.Activate(f.t.Context())
	hosts := upstream.NewHosts(f.network.Dial)
	venue, err := binance.New(hosts, binance.Config{
		Environment: binance.Testnet, URL: "http://binance.test", Key: secret.New(fakebinance.Key), Secret: secret.New(fakebinance.Secret),
	})
	if err != nil {
		f.t.Fatal(err)
	}
	r := &trader{name: name, members: members, conn: conn, gate: &gate{Broker: venue}, halt: f.t.TempDir() + "/HALT"}
	cfg := deskproxy.Config{
		Account: accountName, HaltFile: r.halt, Log: replicatest.Quiet(), Now: time.Now,
		Open: func(_ context.Context, orders *orders.Store) (deskproxy.Trader, func(), error) {
			if f.patience > 0 {
				orders.RetryFor = f.patience
			}
			d := f.newDesk(r, orders)
			if f.bars != nil {
				r.strategies.open(f.bars, orders, d)
			}
			return d, func() {}, nil
		},
	}
	if f.bars != nil {
		r.strategies = &termStrategies{}
		cfg.Strategies = r.strategies
	}
	r.Desk = deskproxy.New(members, cfg)
	ctx, cancel := context.WithCancel(context.WithoutCancel(f.t.Context()))
	hard, drop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := r.Run(ctx, hard, func() {}); err != nil {
			f.t.Error(err)
		}
	}()
	r.kill = sync.OnceFunc(func() {
		drop()
		cancel()
		<-done
		_ = hosts.Close()
	})
	f.t.Cleanup(r.kill)
	f.replicas = append(f.replicas, r)
}

// newDesk returns a desk of a replica over a store.
func (f *tradeCluster) newDesk(r *trader, orders *orders.Store) *desk.Desk {
	return desk.New(desk.Config{
		Owner: accountName, Broker: r.gate, Store: orders, Market: f, Policy: unlimited(), AssetBalances: true, HaltFile: r.halt, Replica: r.name,
		Resolve: func(_ context.Context, s market.Symbol) (market.Symbol, error) { s.Venue = "binance"; return s, nil },
		Log:     replicatest.Quiet(), Now: time.Now, Rand: rand.Float64,
	})
}

// trading waits until a replica, except some, trades and has reconciled its account, and returns it.
func (f *tradeCluster) trading(but ...*trader) *trader {
	f.t.Helper()
	var found *trader
	took := replicatest.Eventually(f.t, "a replica trades", func() bool {
		for _, r := range f.replicas {
			if running := r.Running(); running != nil && running.Status().Reconciled && !slices.Contains(but, r) {
				found = r
				return true
			}
		}
		return false
	})
	f.t.Logf("%s trades after %s", found.name, took)
	return found
}

// steady waits until the replicas know each other and the shard owner trades: before that the
// account may move.
func (f *tradeCluster) steady() *trader {
	f.t.Helper()
	all := make([]*member.Group, len(f.replicas))
	for i, r := range f.replicas {
		all[i] = r.members
	}
	replicatest.Agree(f.t, all...)
	return f.trading(slices.DeleteFunc(slices.Clone(f.replicas), func(r *trader) bool {
		_, owns := r.members.ShardOwner("desk")
		return owns
	})...)
}

// others returns the replicas except one.
func (f *tradeCluster) others(but *trader) []*trader {
	return slices.DeleteFunc(slices.Clone(f.replicas), func(r *trader) bool { return r == but })
}

func bid(key string) order.Request {
	return order.Request{
		Symbol: market.Symbol{Name: "BTCUSDT"}, Side: order.Buy, Type: order.Market, Quantity: decimal.New(1, -3), Key: key,
	}
}

// place places an order at a replica and retries with its key until the result is known, or with another
// key if it was not sent.
func (f *tradeCluster) place(r *trader, key string) order.Order {
	deadline := time.Now().Add(replicatest.Patience)
	for time.Now().Before(deadline) {
		o, err := r.Place(f.t.Context(), owner(), bid(key))
		switch fe := fault.Of(err); {
		case err == nil:
			f.mu.Lock()
			defer f.mu.Unlock()
			if known := f.acked[key].ID; known != "" && known != o.ID {
				f.t.Errorf("key %s returns %s and %s", key, known, o.ID)
			}
			f.acked[key] = o.Order
			return o.Order
		case f.t.Context().Err() != nil:
			return order.Order{}
		case fe != nil && fe.Code == "not_sent": // it waited too long for its turn, on a loaded machine
			key += " again"
		case fe == nil || !fe.Retryable:
			f.t.Errorf("at %s: %v", r.name, err)
			return order.Order{}
		case errors.Is(err, member.ErrOutcomeUnknown):
			f.mu.Lock()
			f.lost++
			f.mu.Unlock()
		}
	}
	f.t.Errorf("the order %s was not placed", key)
	return order.Order{}
}

// filled places an order and retries with its key until the venue's reply is known, and demands that
// it is filled. A late reply, or one while the desk ends, leaves the order submitted.
func (f *tradeCluster) filled(r *trader, key string) (o order.Order) {
	f.t.Helper()
	replicatest.Eventually(f.t, "the venue's reply is known", func() bool {
		o = f.place(r, key)
		return o.Status != order.Submitted && o.Status != order.Uncertain
	})
	if o.Status != order.Filled {
		f.t.Errorf("at %s the order is %+v", r.name, o)
	}
	return o
}

// trade places orders at replicas until stop is called.
func (f *tradeCluster) trade(at ...*trader) (stop func()) {
	over := make(chan struct{})
	var wg sync.WaitGroup
	for _, r := range at {
		wg.Go(func() {
			tick := time.NewTicker(400 * time.Millisecond)
			defer tick.Stop()
			for i := 0; ; i++ {
				f.place(r, fmt.Sprintf("%s-%d", r.name, i))
				select {
				case <-over:
					return
				case <-tick.C:
				}
			}
		})
	}
	return func() { close(over); wg.Wait() }
}

// settled demands that the account, read at a replica, comes to match the venue: each acknowledged
// order once, and nothing else.
func (f *tradeCluster) settled(at *trader) {
	f.t.Helper()
	var wrong string
	defer func() {
		if f.t.Failed() {
			f.t.Log(wrong)
		}
	}()
	replicatest.Eventually(f.t, "the books match the venue", func() bool {
		wrong = f.unlike(at)
		return wrong == ""
	})
	f.mu.Lock()
	defer f.mu.Unlock()
	f.t.Logf("%d orders, each once at the venue", len(f.acked))
}

// unlike describes the differences between the account and the venue.
func (f *tradeCluster) unlike(at *trader) string {
	ctx, cancel := context.WithTimeout(f.t.Context(), 20*time.Second)
	defer cancel()
	orders, err := at.Orders(ctx, owner(), false)
	if err != nil {
		return err.Error()
	}
	positions, err := at.Positions(ctx, owner())
	if err != nil {
		return err.Error()
	}
	known := make(map[string]order.Order)
	for _, o := range orders {
		known[o.ID] = o
	}
	var text strings.Builder
	there := make(map[string]int)
	for _, o := range f.Orders() {
		there[o.ClientID]++
		ours, ok := known[o.ClientID]
		if !ok || ours.External || !ours.Filled.Equal(o.Executed) || ours.Status != order.Filled || o.Status != "FILLED" {
			fmt.Fprintf(&text, "%s is %s with %s at the venue, and %v with %s here. ", o.ClientID, o.Status, o.Executed, ours.Status, ours.Filled)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for key, o := range f.acked {
		now, ok := known[o.ID]
		// An order whose outcome was reported as unknown may have been recorded and never
		// sent, and the answer to the repeated key may say so.
		unsent := there[o.ID] == 0 && (o.Status == order.Canceled && now.Status == order.Canceled ||
			o.Status == order.Submitted && (now.Status == order.Submitted || now.Status == order.Uncertain || now.Status == order.Rejected || now.Status == order.Canceled))
		if !ok || there[o.ID] != 1 && !unsent {
			fmt.Fprintf(&text, "the order %s of %s is %d times at the venue, was %v and is %v. ", o.ID, key, there[o.ID], o.Status, now.Status)
		}
		delete(there, o.ID)
	}
	if len(there) > 0 {
		fmt.Fprintf(&text, "the venue has unknown orders %v. ", there)
	}
	held := decimal.Zero
	for _, p := range positions {
		held = held.Add(p.Quantity)
	}
	if b := f.Balances()["BTC"]; !held.Add(decimal.NewFromInt(2)).Equal(b.Free.Add(b.Locked)) {
		fmt.Fprintf(&text, "the venue has %s BTC, and %s were bought. ", b.Free, held)
	}
	return text.String()
}

// same demands that a key returns the same order at every replica.
func (f *tradeCluster) same(key string, at ...*trader) {
	f.t.Helper()
	for _, r := range at {
		f.place(r, key)
	}
}
