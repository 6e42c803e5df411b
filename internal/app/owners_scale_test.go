package app

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/access/oauth"
	"candela/internal/alerting/alert"
	"candela/internal/alerting/notify"
	"candela/internal/alerting/notify/local"
	"candela/internal/kit/id"
	"candela/internal/kit/principal"
	"candela/internal/store/ledger"
	"candela/internal/testkit/longtest"
	"candela/lib/market"
)

const (
	alertsOfOwner  = 5
	entriesOfOwner = 5
)

// TestOwners_CostStaysFlat measures what an owner with five alerts, five notifications, a token
// and a subscription costs on one node, among few owners and among many: memory, disk, and the
// time to set, list and fire an alert. An owner among a hundred thousand costs as much as one
// among a thousand.
func TestOwners_CostStaysFlat(t *testing.T) { //nolint:paralleltest // it measures
	sizes := longtest.Pick([]int{50, 200, 800}, []int{1_000, 10_000, 100_000})
	rounds := longtest.Pick(10, 1000)
	var all []*crowd
	for _, n := range sizes {
		all = append(all, newCrowd(t, n))
	}
	for range rounds { // in turns, so that all meet the same machine
		for _, c := range all {
			c.measure(t)
		}
	}
	for _, c := range all {
		t.Logf("%6d owners: %5.0f bytes of memory and %5.0f of disk an owner; set %v, list %v, fire %v, start %v",
			c.owners, c.memory/float64(c.owners), float64(c.disk)/float64(c.owners), median(c.set), median(c.list), median(c.fire), c.start)
	}
	few, some, many := all[0], all[1], all[2]
	slack := longtest.Pick(1.35, 1.10)
	lower := (some.memory - few.memory) / float64(some.owners-few.owners)
	upper := (many.memory - some.memory) / float64(many.owners-some.owners)
	t.Logf("memory of one owner more: %.0f bytes up to %d, %.0f up to %d: %.2f", lower, some.owners, upper, many.owners, upper/lower)
	if upper > slack*lower {
		t.Errorf("the memory of an owner grows from %.0f to %.0f bytes", lower, upper)
	}
	if a, b := float64(few.disk)/float64(few.owners), float64(many.disk)/float64(many.owners); b > slack*a {
		t.Errorf("the disk of an owner grows from %.0f to %.0f bytes", a, b)
	}
	for what, took := range map[string][2][]time.Duration{"set": {few.set, many.set}, "list": {few.list, many.list}, "fire": {few.fire, many.fire}} {
		ratio := float64(median(took[1])) / float64(median(took[0]))
		t.Logf("%s: %.2f of the time among %d owners", what, ratio, few.owners)
		if longtest.On() && ratio > 1.25 { // the rest is the machine's
			t.Errorf("%s takes %v among many and %v among few", what, median(took[1]), median(took[0]))
		}
	}
}

// crowd is a node with many owners.
type crowd struct {
	owners          int
	store           *ledger.Ledger
	index           *alert.Index
	inbox           *local.Inbox
	tokens          *oauth.Memory
	memory          float64
	disk            int64
	set, list, fire []time.Duration
	start           time.Duration
	rng             *rand.Rand
}

func ownerName(i int) principal.Owner { return principal.Owner(fmt.Sprintf("%026d", i)) }

func callerOf(i int) principal.Caller {
	return principal.Caller{Subject: ownerName(i), Key: fmt.Sprintf("%064d", i), ClientKey: fmt.Sprintf("%032d", i), Expires: time.Now().Add(time.Hour)}
}

func alertOf(owner, k int) alert.Alert {
	s := market.Symbol{Venue: "binance", Name: fmt.Sprintf("S%03dUSDT", (owner*7+k*31)%200)}
	return alert.Alert{
		ID: id.New(time.Now()), Owner: ownerName(owner), Symbol: market.Symbol{Name: s.Name}, Instrument: s,
		Condition: alert.Condition{Type: alert.PriceAbove, Threshold: decimal.New(int64(100_000+owner%1000+k), -2)}, Created: time.Now().UTC().Truncate(time.Microsecond),
	}
}

// newCrowd seeds a store through its own calls, and then starts a node from it.
func newCrowd(t *testing.T, owners int) *crowd {
	t.Helper()
	dir := t.TempDir()
	c := &crowd{owners: owners, rng: rand.New(rand.NewPCG(uint64(owners), 1))}
	open := func() {
		var err error
		if c.store, err = ledger.Open(t.Context(), dir, time.Now); err != nil {
			t.Fatal(err)
		}
	}
	open()
	c.seed(t)
	if err := c.store.Close(); err != nil { // so that everything is in the one file
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(dir, ledger.FileName))
	if err != nil {
		t.Fatal(err)
	}
	c.disk = info.Size()
	open()
	t.Cleanup(func() { _ = c.store.Close() })
	before := heapInUse()
	began := time.Now()
	c.load(t)
	c.start = time.Since(began)
	c.memory = heapInUse() - before
	runtime.KeepAlive(c.index)
	return c
}

func (c *crowd) seed(t *testing.T) {
	t.Helper()
	var all sync.WaitGroup
	for w := range 64 { // they share commits
		all.Go(func() {
			for i := w; i < c.owners; i += 64 {
				for k := range alertsOfOwner {
					if err := c.store.PutAlert(t.Context(), callerOf(i), alertOf(i, k)); err != nil {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	all.Wait()
	entries := make([]notify.Entry, 0, c.owners*entriesOfOwner)
	for k := range entriesOfOwner {
		for i := range c.owners {
			a := alertOf(i, k)
			f := alert.Firing{Alert: a, Value: 1000.5, At: a.Created}
			entries = append(entries, notify.Entry{Owner: a.Owner, Symbol: a.Instrument, Type: "price_above", At: time.Now(), Data: f.AppendJSON(nil)})
		}
	}
	for part := range slices.Chunk(entries, 2000) {
		if _, err := c.store.AddEntries(t.Context(), part); err != nil {
			t.Fatal(err)
		}
	}
}

// load holds in memory what a node does for its owners.
func (c *crowd) load(t *testing.T) {
	t.Helper()
	c.index, c.tokens = alert.NewIndex(), oauth.NewMemoryWithin(oauth.ManyOwners())
	c.inbox = local.New(local.Config{Now: time.Now, Log: slog.New(slog.DiscardHandler), MaxSubscriptions: 1_000_000})
	for a, err := range c.store.Alerts(t.Context()) {
		if err == nil {
			err = c.index.Add(a)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	var entries []notify.Entry
	head, err := c.store.LastEntry(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for e, err := range c.store.Entries(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, e)
	}
	c.inbox.Restore(head, entries)
	now := time.Now()
	for i := range c.owners {
		by := callerOf(i)
		h := oauth.HashOf(by.Key)
		tok := oauth.Token{Hash: h, Key: h.Hex(), ID: by.ClientKey[:16], Grant: oauth.Grant{Subject: by.Subject, ClientName: "client", ClientKey: by.ClientKey, Scope: "trade"}, Generation: c.tokens.Seal().Generation(), Issued: now, Expires: now.Add(time.Hour)}
		if err := c.tokens.PutToken(t.Context(), tok, now); err != nil {
			t.Fatal(err)
		}
		if err := c.inbox.Subscribe(t.Context(), by, notify.Filter{}); err != nil {
			t.Fatal(err)
		}
	}
}

// measure sets, lists and fires an alert of an owner.
func (c *crowd) measure(t *testing.T) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	i := c.rng.IntN(c.owners)
	a := alertOf(i, alertsOfOwner)
	timed := func(took *[]time.Duration, do func() error) {
		began := time.Now()
		if err := do(); err != nil {
			t.Fatal(err)
		}
		*took = append(*took, time.Since(began))
	}
	timed(&c.set, func() error {
		if err := c.store.PutAlert(ctx, callerOf(i), a); err != nil {
			return err
		}
		return c.index.Add(a)
	})
	timed(&c.list, func() error {
		if n := len(c.index.List(ownerName(i))); n < alertsOfOwner {
			return fmt.Errorf("%d alerts", n)
		}
		return nil
	})
	timed(&c.fire, func() error {
		entries, err := c.store.FireAlerts(ctx, []alert.Firing{{Alert: a, Value: 1, At: a.Created}})
		if err == nil {
			c.index.Remove(a.Owner, a.ID)
			c.inbox.Append(entries)
		}
		return err
	})
}

func median(all []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[len(sorted)/2]
}

func heapInUse() float64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}
