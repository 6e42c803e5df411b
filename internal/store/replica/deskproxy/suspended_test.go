package deskproxy_test

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/data/upstream"
	"candela/internal/kit/secret"
	"candela/internal/store/replica/replicatest"
	"candela/internal/testkit/fake"
	fakebinance "candela/internal/testkit/fake/binance"
	"candela/internal/testkit/longtest"
	"candela/internal/trading/broker/binance"
	"candela/internal/trading/deploy"
	"candela/internal/trading/desk"
	"candela/internal/trading/order"
)

// where a runner is suspended at a bar.
const (
	beforeRecord = iota
	afterRecord
	beforeSending
	afterSending
	suspensions
)

// TestStrategies_ASuspendedRunnerPlacesNothingTwice lets two runners work on one account: the first is suspended somewhere
// between the close of a bar and the answer of the venue, the second takes over and goes on, and the first wakes and does
// not know. No intent has two orders, and the venue gets no order twice. LONGTEST=1 has 1,000 trials.
func TestStrategies_ASuspendedRunnerPlacesNothingTwice(t *testing.T) { //nolint:tparallel // the trials are counted after it
	t.Parallel()
	var suspended [suspensions]atomic.Int64
	t.Run("trials", func(t *testing.T) { //nolint:paralleltest // they are counted after it
		for batch := range longtest.Pick(1, 50) {
			t.Run(strconv.Itoa(batch), func(t *testing.T) {
				t.Parallel()
				trials(t, longtest.Pick(suspensions, 20), &suspended)
			})
		}
	})
	for at := range suspended {
		n := suspended[at].Load()
		if t.Logf("suspended at %d: %d", at, n); n == 0 {
			t.Errorf("no runner was suspended at %d", at)
		}
	}
}

func trials(t *testing.T, n int, suspended *[suspensions]atomic.Int64) {
	t.Helper()
	f := &tradeCluster{bars: &closedBars{}, Server: fakebinance.New(fakebinance.Config{Seed: 1}), t: t, to: replicatest.Servers(), network: fake.NewNetwork(), prefix: replicatest.NewPrefix()}
	t.Cleanup(f.network.Serve("binance.test:80", f.Server))
	for range 30 {
		f.bars.next(f.Price("BTCUSDT"))
	}
	now := f.runner()
	made, err := now.own.Propose(t.Context(), "agent", deploy.Deployment{Name: "flip", Terms: f.bars.terms()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := now.own.Start(t.Context(), "owner", made.ID, deploy.Live, &deploy.Limits{Cap: decimal.NewFromInt(1_000_000)}); err != nil {
		t.Fatal(err)
	}
	for trial := range n {
		at := trial % suspensions
		held, release := now.suspendAt(at)
		b := f.bars.next(f.Price("BTCUSDT"))
		now.own.Deliver(flipSub, b)
		settled := now.settled(made.ID)
		select {
		case <-held:
			suspended[at].Add(1)
		case <-settled: // it had nothing to record or to send
		case <-time.After(replicatest.Patience):
			t.Fatal("neither suspended nor settled")
		}
		next := f.runner()
		<-next.settled(made.ID)
		release()
		<-settled
		now.end()
		now = next
	}
	f.onlyOnce(now, made.ID)
}

// lone is a runner with a desk and a store of its own.
type lone struct {
	f       *tradeCluster
	trader  *trader
	own     *deploy.Deployments
	journal *seenJournal
	desk    *desk.Desk
	end     func()
}

// runner starts a runner, which becomes the writer of the account.
func (f *tradeCluster) runner() *lone {
	f.t.Helper()
	hosts := upstream.NewHosts(f.network.Dial)
	venue, err := binance.New(hosts, binance.Config{Environment: binance.Testnet, URL: "http://binance.test", Key: secret.New(fakebinance.Key), Secret: secret.New(fakebinance.Secret)})
	if err != nil {
		f.t.Fatal(err)
	}
	r := &lone{f: f, trader: &trader{name: "runner", gate: &gate{Broker: venue}}, journal: &seenJournal{Store: replicatest.OpenOrders(f.t, f.to, f.prefix)}}
	d := f.newDesk(r.trader, r.journal.Store)
	r.desk, r.own = d, newDeployments(f.bars, r.journal, d)
	ctx, stop := context.WithCancel(context.WithoutCancel(f.t.Context()))
	var running sync.WaitGroup
	ready := make(chan struct{})
	running.Go(func() { _ = d.Run(ctx, ctx, func() { close(ready) }) }) // which another runner ends
	<-ready
	d.AwaitReconciled(ctx)
	loaded := make(chan struct{})
	running.Go(func() {
		if err := r.own.Run(ctx, ctx, func() { close(loaded) }); err != nil {
			f.t.Error(err)
		}
	})
	<-loaded
	r.end = sync.OnceFunc(func() {
		stop()
		running.Wait()
		_ = hosts.Close()
	})
	f.t.Cleanup(r.end)
	return r
}

// suspendAt suspends the runner the next time that it comes to a place, until release is called.
func (r *lone) suspendAt(place int) (held <-chan struct{}, release func()) {
	if place == beforeSending || place == afterSending {
		return r.trader.gate.hold(place == afterSending)
	}
	stopped, way := make(chan struct{}), make(chan struct{})
	var once sync.Once
	stop := func(appended bool) {
		if appended == (place == afterRecord) {
			once.Do(func() {
				close(stopped)
				<-way
			})
		}
	}
	r.journal.at.Store(&stop)
	return stopped, sync.OnceFunc(func() { close(way) })
}

// settled returns a channel that is closed when the runner has done what it could at the newest bar.
func (r *lone) settled(id string) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 2 { // its account follows between two calls
			_, _ = r.own.Synced(r.f.t.Context(), id)
		}
	}()
	return done
}

// onlyOnce demands that no intent has two orders, and that the venue has each order once.
func (f *tradeCluster) onlyOnce(at *lone, id string) {
	f.t.Helper()
	known, keys := make(map[string]string), make(map[string]bool)
	for q := (order.Query{Most: 100}); ; {
		page, err := at.desk.OrderPage(f.t.Context(), owner(), q)
		if err != nil {
			f.t.Fatal(err)
		}
		for _, o := range page.Orders {
			if o.Deployment != id || o.Key == "" {
				continue
			}
			if keys[o.Key] {
				f.t.Errorf("two orders have the key %s", o.Key)
			}
			keys[o.Key], known[o.ID] = true, o.Key
		}
		if page.Left == 0 || len(page.Orders) == 0 {
			break
		}
		q.After = page.Orders[len(page.Orders)-1].Mark()
	}
	sent := make(map[string]bool)
	for _, o := range f.Orders() {
		if sent[o.ClientID] {
			f.t.Errorf("the venue has %s twice", o.ClientID)
		}
		if sent[o.ClientID] = true; known[o.ClientID] == "" {
			f.t.Errorf("the venue has %s, which no intent asked for", o.ClientID)
		}
	}
	if len(sent) == 0 {
		f.t.Error("nothing was sent")
	}
}
