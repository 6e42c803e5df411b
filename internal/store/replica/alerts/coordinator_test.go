package alerts_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/alerting/alert"
	"candela/internal/alerting/engine"
	"candela/internal/alerting/notify"
	"candela/internal/data/feed"
	"candela/internal/data/marketdata"
	"candela/internal/data/provider"
	"candela/internal/kit/principal"
	"candela/internal/store/replica/alerts"
	"candela/internal/store/replica/conn"
	"candela/internal/store/replica/member"
	"candela/internal/store/replica/natstest"
	"candela/internal/store/replica/replicatest"
	"candela/internal/testkit/longtest"
	"candela/lib/fault"
	"candela/lib/market"
)

// replica is the alerting part of a process.
type replica struct {
	*alerts.Coordinator
	conn    *conn.Conn
	members *member.Group
	feed    *alerts.ChangeFeed
	engine  *engine.Engine

	mu        sync.Mutex
	published []notify.Entry // in order
	last      uint64         // from Restore
}

func (r *replica) restore(last uint64, entries []notify.Entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last, r.published = last, append(r.published, entries...)
}

func (r *replica) publish(entries []notify.Entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.published = append(r.published, entries...)
}

// alerts returns the alerts of the published notifications, in order.
func (r *replica) alerts(tb testing.TB) []string {
	tb.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	ids := make([]string, len(r.published))
	for i, e := range r.published {
		var fields struct {
			AlertID string `json:"alert_id"`
		}
		if err := json.Unmarshal(e.Data, &fields); err != nil {
			tb.Fatal(err)
		}
		ids[i] = fields.AlertID
		if i > 0 && e.Seq <= r.published[i-1].Seq {
			tb.Errorf("notification %d was published after %d", e.Seq, r.published[i-1].Seq)
		}
	}
	return ids
}

// startReplica runs a replica with a market.
func startReplica(tb testing.TB, to *natstest.Cluster, prefix string, from provider.Provider) *replica {
	tb.Helper()
	conn := replicatest.Connect(tb, to, prefix)
	conn.RetryFor = replicatest.Usual
	return startReplicaOn(tb, conn, from, time.Now)
}

// startReplicaOn is startReplica on a connection. Its store calls now after it has read alerts and
// before it writes that they fired.
func startReplicaOn(tb testing.TB, conn *conn.Conn, from provider.Provider, now func() time.Time) *replica {
	tb.Helper()
	r := &replica{conn: conn}
	store, err := replicatest.Insist(tb, func() (*alerts.Store, error) { return alerts.Open(tb.Context(), r.conn, now) })
	if err != nil {
		tb.Fatal(err)
	}
	if r.feed, err = replicatest.Insist(tb, func() (*alerts.ChangeFeed, error) {
		return store.OpenChangeFeed(tb.Context(), alerts.ChangeFeedConfig{Restore: r.restore, Publish: r.publish, Log: replicatest.Quiet()})
	}); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(r.feed.Close)
	if r.members, err = replicatest.Insist(tb, func() (*member.Group, error) {
		return member.Join(tb.Context(), r.conn, member.Info{Name: "r"}, replicatest.Quiet())
	}); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(r.members.Close)
	r.members.Activate(tb.Context())
	data, err := marketdata.New(marketdata.Config{
		Providers: []provider.Provider{from}, Routes: marketdata.Routes{Crypto: from.Name(), Other: from.Name()}, Log: replicatest.Quiet(), Now: time.Now,
	})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(data.Close)
	r.Coordinator = alerts.NewCoordinator(alerts.CoordinatorConfig{Group: r.members, ChangeFeed: r.feed, Route: data.Route, Log: replicatest.Quiet()})
	half := func() float64 { return 0.5 }
	r.engine = engine.New(engine.Config{
		Store: r.Store(), Data: data, Feed: feed.NewHub(data.Route, feed.Config{Log: replicatest.Quiet(), Rand: half, Now: time.Now}),
		Publish: func([]notify.Entry) {}, Log: replicatest.Quiet(), Now: time.Now, Rand: half,
	})
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	ready := make(chan struct{})
	running.Go(func() { _ = r.engine.Run(ctx, ctx, func() { close(ready) }) })
	running.Go(func() { r.Run(ctx, r.engine) })
	tb.Cleanup(func() { stop(); running.Wait() })
	<-ready
	return r
}

// startReplicas runs three replicas and waits until they know each other.
func startReplicas(tb testing.TB, to *natstest.Cluster, from provider.Provider) []*replica {
	tb.Helper()
	prefix := replicatest.NewPrefix()
	all := make([]*replica, 3)
	for i := range all {
		all[i] = startReplica(tb, to, prefix, from)
	}
	acquainted(tb, all)
	return all
}

// acquainted waits until the replicas know each other.
func acquainted(tb testing.TB, all []*replica) {
	tb.Helper()
	members := make([]*member.Group, len(all))
	for i, r := range all {
		members[i] = r.members
	}
	replicatest.Agree(tb, members...)
}

func symbolsOf(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = "S" + strconv.Itoa(i)
	}
	return names
}

// setAll sets alerts above prices on each symbol, at changing replicas.
func setAll(tb testing.TB, at []*replica, symbols []string, prices ...float64) []string {
	tb.Helper()
	var wg sync.WaitGroup
	ids := make([]string, len(symbols)*len(prices))
	for i, name := range symbols {
		wg.Go(func() {
			for k, price := range prices {
				n := i*len(prices) + k
				a := alert.Alert{Symbol: market.Symbol{Name: name}, Condition: alert.Condition{Type: alert.PriceAbove, Threshold: decimal.NewFromFloat(price)}}
				ids[n] = set(tb, at[n%len(at)], a)
			}
		})
	}
	wg.Wait()
	return ids
}

// settled waits until a replica has published as many alerts as ids, and compares them.
func settled(tb testing.TB, r *replica, ids []string) {
	tb.Helper()
	replicatest.Eventually(tb, fmt.Sprintf("%d firings are published", len(ids)), func() bool { return len(r.alerts(tb)) >= len(ids) })
	catchUp(tb, r)
	got, want := slices.Sorted(slices.Values(r.alerts(tb))), slices.Sorted(slices.Values(ids))
	if !slices.Equal(got, want) {
		tb.Errorf("%d firings were published of %d alerts", len(got), len(want))
	}
}

func TestAlerts_FireOnceWhereverTheyWereSet(t *testing.T) {
	t.Parallel()
	from := newFakeMarket()
	all := startReplicas(t, replicatest.Servers(), from)
	symbols := symbolsOf(12)
	ids := setAll(t, all, symbols, 110, 120, 500)
	for _, r := range all {
		if list := listed(t, r); len(list) != len(ids) {
			t.Fatalf("a replica lists %d alerts", len(list))
		}
		on, err := r.AlertsOn(t.Context(), principal.Caller{Subject: "ann"}, market.Symbol{Name: "S1"})
		if err != nil || len(on) != 3 {
			t.Errorf("on one symbol it lists %v, %v", on, err)
		}
		if st := r.engine.Status(); st.Alerts == len(ids) {
			t.Error("one replica evaluates all alerts")
		}
	}
	for symbol, n := range from.streamed() {
		if n != 1 {
			t.Errorf("%s is streamed to %d replicas", symbol, n)
		}
	}
	cancelled := ids[1] // 120 on S0
	if err := all[0].Cancel(t.Context(), principal.Caller{Subject: "ann"}, cancelled); err != nil {
		t.Fatal(err)
	}
	replicatest.Eventually(t, "the shard owner knows of the cancellation", func() bool {
		n := 0
		for _, r := range all {
			n += r.engine.Status().Alerts
		}
		return n == len(ids)-1
	})
	from.trade(130, symbols...)
	due := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return id == cancelled || slices.Index(ids, id)%3 == 2 })
	for _, r := range all {
		settled(t, r, due)
	}
	late := startReplica(t, replicatest.Servers(), prefixOf(all[0]), from)
	settled(t, late, due)
	if _, err := all[1].Set(t.Context(), principal.Caller{Subject: "ann"}, alert.Alert{Symbol: market.Symbol{Name: "NONE"}, Condition: alert.Condition{Type: alert.PriceAbove, Threshold: decimal.NewFromInt(1)}}); fault.KindOf(err) != fault.NotFound || fault.Of(err).Field != "symbol" {
		t.Errorf("a symbol that does not exist: %v", err)
	}
}

func prefixOf(r *replica) string { return replicatest.PrefixOf(r.conn) }

// TestAlerts_FireOnceWhenAReplicaDies moves prices up and down again while no replica watches them.
func TestAlerts_FireOnceWhenAReplicaDies(t *testing.T) {
	t.Parallel()
	from := newFakeMarket()
	all := startReplicas(t, replicatest.Servers(), from)
	symbols := symbolsOf(30)
	low := setAll(t, all, symbols, 110)
	high := setAll(t, all, symbols, 150)
	from.trade(120, symbols...)
	settled(t, all[0], low)
	all[2].conn.Close()
	began := time.Now()
	from.trade(160, symbols...)
	from.trade(100, symbols...)
	for _, r := range all[:2] {
		settled(t, r, slices.Concat(low, high))
	}
	t.Logf("the last alert of a dead replica fired %s after its death", time.Since(began).Round(time.Millisecond))
	more := setAll(t, all[:2], symbols, 170)
	from.trade(180, symbols...)
	for _, r := range all[:2] {
		settled(t, r, slices.Concat(low, high, more))
	}
}

func TestAlerts_FireOnceWhenAReplicaLeaves(t *testing.T) {
	t.Parallel()
	from := newFakeMarket()
	all := startReplicas(t, replicatest.Servers(), from)
	symbols := symbolsOf(30)
	ids := setAll(t, all, symbols, 150)
	began := time.Now()
	if err := all[2].members.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	from.trade(160, symbols...)
	from.trade(100, symbols...)
	for _, r := range all {
		settled(t, r, ids)
	}
	t.Logf("the last alert of a drained replica fired after %s", time.Since(began).Round(time.Millisecond))
	replicatest.Eventually(t, "it evaluates and streams nothing", func() bool {
		st := all[2].engine.Status()
		return st.Alerts+st.Prices == 0
	})
	// It still sets alerts, which others evaluate.
	more := setAll(t, all[2:], symbols[:5], 170)
	from.trade(180, symbols...)
	settled(t, all[2], slices.Concat(ids, more))
}

// pause holds a replica that has read active alerts and not yet written that they fired. The others
// write nothing before it has read.
type pause struct {
	on   atomic.Bool
	read chan struct{} // closed when it has read
	over chan struct{} // closed when it continues
	come sync.Once
	test context.Context //nolint:containedctx // ends the pauses of a test that has failed
}

func newPause(tb testing.TB) *pause {
	tb.Helper()
	return &pause{read: make(chan struct{}), over: make(chan struct{}), test: tb.Context()}
}

// now is the clock of the paused replica, or of one of the others.
func (p *pause) now(still bool) time.Time {
	way := p.read
	if still {
		way = p.over
	}
	if p.on.Load() {
		if still {
			p.come.Do(func() { close(p.read) })
		}
		select {
		case <-way:
		case <-p.test.Done(): // it has failed while it waited for the firings
		}
	}
	return time.Now()
}

// paused withholds one replica's heartbeats, so that two replicas evaluate the same alerts. It has
// read some as active when they fire elsewhere, and writes afterwards that they fired. paused
// returns how many firings the others published.
func paused(t *testing.T, unguarded bool, rounds int) (published, due int) {
	t.Helper()
	from, prefix, pause := newFakeMarket(), replicatest.NewPrefix(), newPause(t)
	all := make([]*replica, 3)
	for i := range all {
		conn := replicatest.Connect(t, replicatest.Servers(), prefix)
		if unguarded {
			replicatest.DropCompareAndSet(conn)
		}
		all[i] = startReplicaOn(t, conn, from, func() time.Time { return pause.now(i == 2) })
	}
	acquainted(t, all)
	symbols := symbolsOf(40)
	prices := make([]float64, rounds)
	for i := range prices {
		prices[i] = 110 + 10*float64(i)
	}
	setAll(t, all, symbols, prices...)
	set := listed(t, all[0])
	release := replicatest.HoldHeartbeats(all[2].members)
	defer release()
	replicatest.Eventually(t, "the others have taken over", func() bool {
		n := 0
		for _, r := range all[:2] {
			n += r.engine.Status().Alerts
		}
		return n == len(set) && all[0].engine.Status().Loading+all[1].engine.Status().Loading == 0
	})
	if all[2].engine.Status().Alerts == 0 {
		t.Error("the replica without heartbeats evaluates nothing")
	}
	pause.on.Store(true)
	for i, price := range prices {
		from.trade(price, symbols...)
		due = 0
		for _, a := range set {
			if a.Condition.Threshold.InexactFloat64() <= price {
				due++
			}
		}
		replicatest.Eventually(t, "all have fired", func() bool { return len(unique(all[0].alerts(t))) >= due })
		if i == 0 {
			close(pause.over)
		}
	}
	replicatest.Eventually(t, "the engines have nothing left", func() bool {
		return all[0].engine.Status().Alerts+all[1].engine.Status().Alerts+all[2].engine.Status().Alerts == 0
	})
	catchUp(t, all[0])
	return len(all[0].alerts(t)), due
}

func unique(ids []string) []string {
	slices.Sort(ids)
	return slices.Compact(ids)
}

func TestAlerts_FireOnceWhenAReplicaSendsNoHeartbeats(t *testing.T) {
	t.Parallel()
	if published, due := paused(t, false, longtest.Pick(2, 5)); published != due {
		t.Errorf("%d firings of %d alerts", published, due)
	}
}

// TestAlerts_WithoutCompareAndSetFiringsDouble shows that the test above can fail.
func TestAlerts_WithoutCompareAndSetFiringsDouble(t *testing.T) {
	t.Parallel()
	published, due := paused(t, true, 1)
	if published <= due {
		t.Errorf("%d firings of %d alerts: the race did not happen", published, due)
	}
	t.Logf("%d firings of %d alerts", published, due)
}

// A watermark by a shard owner that did not know an alert does not cover it, however new it is.
func TestWatermark_HidesNoBarsFromAnUnknownAlert(t *testing.T) {
	t.Parallel()
	for name, knew := range map[string]bool{"it knew": true, "it did not": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from, prefix := newFakeMarket(), replicatest.NewPrefix()
			minute := time.Now().Truncate(time.Minute)
			from.prices["S0"] = []trade{{minute.Unix() - 150, 200}, {minute.Unix() - 140, 100}}
			store := replicatest.OpenStore(t, replicatest.Servers(), prefix)
			a := replicatest.PriceAlert(0)
			a.Instrument, a.Created = market.Symbol{Venue: "market", Name: "S0"}, minute.Add(-200*time.Second)
			a.Condition.Threshold = decimal.NewFromInt(150)
			replicatest.Fire(t, store, 1) // so that there are sequence numbers
			knownThrough, err := store.LastEntry(t.Context())
			if err == nil {
				err = store.PutAlert(t.Context(), principal.Caller{Subject: "ann"}, a)
			}
			if knew {
				knownThrough++
			}
			if err == nil {
				err = store.SaveMarksFor(t.Context(), map[provider.Sub]int64{{Symbol: market.Symbol{Venue: "market", Name: "S0"}}: minute.Unix() - 60}, knownThrough)
			}
			if err != nil {
				t.Fatal(err)
			}
			r := startReplica(t, replicatest.Servers(), prefix, from)
			replicatest.Eventually(t, "the alert is evaluated", func() bool {
				st := r.engine.Status()
				return st.Alerts+len(r.alerts(t)) == 2 && st.Prices == 1 && st.Loading == 0
			})
			if fired := slices.Contains(r.alerts(t), a.ID); fired == knew {
				t.Errorf("it fired: %v", fired)
			}
		})
	}
}

func TestAlertsOn_DoesNotWaitForTheStart(t *testing.T) {
	t.Parallel()
	c := alerts.NewCoordinator(alerts.CoordinatorConfig{})
	_, err := c.AlertsOn(t.Context(), principal.Caller{Subject: "ann"}, market.Symbol{Name: "S1"})
	if fault.KindOf(err) != fault.Unavailable {
		t.Errorf("before the alerts are read: %v", err)
	}
}
