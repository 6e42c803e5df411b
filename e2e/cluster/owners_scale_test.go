package cluster

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/e2e/remote"
	"candela/internal/access/oauth"
	"candela/internal/alerting/alert"
	"candela/internal/alerting/notify/records"
	"candela/internal/kit/id"
	"candela/internal/kit/principal"
	"candela/internal/kit/seal"
	alertstore "candela/internal/store/replica/alerts"
	"candela/internal/store/replica/conn"
	"candela/internal/store/replica/logins"
	"candela/internal/store/statedir"
	"candela/internal/testkit/longtest"
	"candela/lib/market"
)

// sizes are the numbers of owners that are compared.
var sizes = flag.String("sizes", longtest.Pick("0,100,300", "0,1000,10000,100000"), "how many owners there are when a replica is measured, ascending and separated by commas")

// replicas is how many replicas share the alerts.
var replicas = flag.Int("replicas", 1, "how many replicas there are when the first of them is measured")

// Of each owner.
const (
	ownAlerts = 5
	ownFired  = 5
)

// TestOwners_CostOfAReplicaStaysFlat seeds owners at three servers, each with five alerts, five
// notifications of the week, a token and a subscription, and starts replicas: what one owner more costs
// in memory, in processor time at the start and at the servers does not grow with their number.
func TestOwners_CostOfAReplicaStaysFlat(t *testing.T) {
	t.Parallel()
	sizes := numbers(t, *sizes)
	s := newSite(t, *replicas, true, manyOwners(t))
	c := s.seeder()
	generation := s.generation(c)
	var at []figures
	for i, n := range sizes {
		if i > 0 {
			for _, r := range s.replicas {
				r.term(t)
			}
			s.seed(c, generation, sizes[i-1], n)
			for _, r := range s.replicas {
				r.start(t)
			}
		}
		at = append(at, s.figures(n))
		t.Logf("%6d owners: %s; %.1f MB at each server", n, at[i], at[i].disk/1e6)
		if n > 0 {
			again := s.startAgain(n)
			t.Logf("%6d owners, started again: %s", n, again)
			s.timeStore(c, n)
			s.timeTools(n)
		}
		if t.Failed() {
			t.FailNow() // what follows would wait for what was not written
		}
	}
	last := len(sizes) - 1
	if last < 2 {
		return // nothing to compare
	}
	each := func(of func(figures) float64, from, to int) float64 {
		return (of(at[to]) - of(at[from])) / float64(sizes[to]-sizes[from])
	}
	for what, of := range map[string]func(figures) float64{
		"bytes of memory": func(f figures) float64 { return f.live }, "us of processor time at the start": func(f figures) float64 { return f.cpu.Seconds() * 1e6 },
		"bytes at a server": func(f figures) float64 { return f.disk },
	} {
		lower, upper := each(of, last-2, last-1), each(of, last-1, last)
		t.Logf("one owner more: %.0f %s up to %d owners, %.0f up to %d: %.2f", lower, what, sizes[last-1], upper, sizes[last], upper/lower)
		if longtest.On() && what != "us of processor time at the start" && upper > 1.1*lower {
			t.Errorf("%s of an owner grow from %.0f to %.0f", what, lower, upper)
		}
	}
}

// stopwatch collects how long calls of each kind take.
type stopwatch struct {
	testing.TB
	took map[string][]time.Duration
}

func (w stopwatch) time(what string, do func() error) {
	w.Helper()
	began := time.Now()
	if err := do(); err != nil {
		w.Errorf("%s: %v", what, err)
		return
	}
	w.took[what] = append(w.took[what], time.Since(began))
}

// report logs the medians.
func (w stopwatch) report(owners int, where string) {
	w.Helper()
	for what, took := range w.took {
		slices.Sort(took)
		w.Logf("%6d owners: %s of one owner %s: %.1f ms (p50), %.1f ms (p90)", owners, what, where, took[len(took)/2].Seconds()*1e3, took[len(took)*9/10].Seconds()*1e3)
	}
}

// asked is how many owners are asked for.
func asked() int { return longtest.Pick(5, 100) }

// timeTools logs how long tools take over HTTP, through the balancer, for owners who sign in and have
// as many alerts as the others.
func (s *site) timeTools(owners int) {
	s.Helper()
	w := stopwatch{s.TB, map[string][]time.Duration{}}
	const never = `{"symbol":"C00USDT","condition":{"price_above":2000000000}}`
	for i := range longtest.Pick(3, 30) {
		person := fmt.Sprintf("%d among %d", i, owners)
		c := s.visitor(i, nil, &remote.Owner{Person: person})
		s.enter(s.Context(), c)
		for range ownAlerts {
			if err := s.ask(c, "set_alert", never); err != nil {
				s.Fatalf("set_alert: %v", err)
			}
		}
		call := func(what, tool, arguments string) {
			w.time(what, func() error { return s.ask(c, tool, arguments) })
		}
		call("list_alerts", "list_alerts", `{}`)
		call("set_alert", "set_alert", never)
		call("set_alert that fires", "set_alert", `{"symbol":"C00USDT","condition":{"price_above":0.000001}}`)
		call("get_notifications", "get_notifications", `{}`)
	}
	w.report(owners, "over HTTP")
}

// ask calls a tool when a replica is ready: on a busy machine the only one may miss two checks of the balancer, and
// then nothing was done.
func (s *site) ask(c *remote.Client, tool, arguments string) (err error) {
	s.Helper()
	until(s.TB, time.Minute, "a replica is ready", func() bool {
		_, err = c.Call(s.Context(), tool, arguments)
		return err == nil || !strings.Contains(err.Error(), errNobody.Error())
	})
	return err
}

// startAgain starts a replica again that has saved its list of alerts.
func (s *site) startAgain(owners int) figures {
	s.Helper()
	r := s.replicas[0]
	began := time.Now()
	until(s.TB, 5*time.Minute, "the list of alerts is saved", func() bool {
		info, err := os.Stat(filepath.Join(r.home, statedir.AlertsName))
		return err == nil && info.ModTime().After(began.Add(-time.Minute))
	})
	r.term(s.TB)
	until(s.TB, 5*time.Minute, "the others have taken over", func() bool { return len(s.replicas) == 1 || s.evaluated(s.replicas[1:]) >= owners*ownAlerts })
	r.start(s.TB)
	return s.figures(owners)
}

// evaluated counts the alerts that replicas evaluate.
func (s *site) evaluated(by []*replica) (alerts int) {
	time.Sleep(200 * time.Millisecond) // the page costs the replica something
	for _, r := range by {
		page, err := r.read(s.Context(), "/metrics")
		if err != nil {
			return -1
		}
		found := regexp.MustCompile(`\ncandela_alerts_active ([0-9]+)\n`).FindStringSubmatch(page)
		if found == nil {
			return -1
		}
		n, _ := strconv.Atoi(found[1])
		if n == 0 && len(s.replicas) > 1 {
			return -1 // it has not taken its share
		}
		alerts += n
	}
	return alerts
}

// timeStore logs how long the servers take for what an owner asks for.
func (s *site) timeStore(c *conn.Conn, owners int) {
	s.Helper()
	store, err := alertstore.Open(s.Context(), c, time.Now)
	if err != nil {
		s.Fatal(err)
	}
	w := stopwatch{s.TB, map[string][]time.Duration{}}
	for i := range asked() {
		owner := principal.Owner(fmt.Sprintf("%026d", i*owners/asked()))
		now := time.Now().UTC().Truncate(time.Millisecond)
		symbol := market.Symbol{Venue: "binance", Name: "C00USDT"}
		one := alert.Alert{
			ID: id.New(now), Owner: owner, Symbol: symbol, Instrument: symbol, Created: now,
			Condition: alert.Condition{Type: alert.PriceAbove, Threshold: decimal.NewFromInt(2_000_000_000)},
		}
		w.time("list", func() error { _, err := store.OwnerAlerts(s.Context(), owner); return err })
		w.time("log", func() error { _, err := store.OwnerEntries(s.Context(), owner); return err })
		w.time("set", func() error { return store.PutAlert(s.Context(), principal.Caller{Subject: owner}, one) })
		w.time("fire", func() error {
			_, err := store.FireAlerts(s.Context(), []alert.Firing{{Alert: one, At: now}})
			return err
		})
	}
	w.report(owners, "at the servers")
}

// figures are what a replica costs.
type figures struct {
	live, resident, disk float64       // bytes
	ready                time.Duration // until it answers
	all, cpu             time.Duration // until it evaluates all alerts
}

func (f figures) String() string {
	return fmt.Sprintf("%.1f MB live, %.1f MB resident, ready after %.1f s, with its share of alerts after %.1f s and %.2f s of processor time", f.live/1e6, f.resident/1e6, f.ready.Seconds(), f.all.Seconds(), f.cpu.Seconds())
}

// figures waits until the first replica is ready and has its share, and reads what it took.
func (s *site) figures(owners int) (f figures) {
	s.Helper()
	r, began := s.replicas[0], time.Now()
	until(s.TB, 20*time.Minute, "the replica is ready", func() bool { return r.ready(s.Context()) })
	f.ready = time.Since(began)
	until(s.TB, 20*time.Minute, "the replicas evaluate all alerts", func() bool { return owners == 0 || s.evaluated(s.replicas) >= owners*ownAlerts })
	f.all, f.cpu = time.Since(began), r.cpu(s.TB)
	f.live = s.live(r)
	for range 4 { // what the start needed goes when it is over
		time.Sleep(250 * time.Millisecond)
		f.live = min(f.live, s.live(r))
	}
	f.resident = float64(r.resident(s.TB))
	info, err := s.servers.js.Stream(s.Context(), alerts)
	if err != nil {
		s.Fatal(err)
	}
	f.disk = float64(info.CachedInfo().State.Bytes)
	return f
}

// live returns the memory in use after a collection.
func (s *site) live(r *replica) float64 {
	s.Helper()
	if err := r.ask(s.Context(), "/debug/pprof/heap?gc=1"); err != nil {
		s.Fatal(err)
	}
	page, err := r.read(s.Context(), "/metrics")
	if err != nil {
		s.Fatal(err)
	}
	found := regexp.MustCompile(`\ngo_memstats_heap_alloc_bytes ([0-9.e+]+)\n`).FindStringSubmatch(page)
	if found == nil {
		s.Fatal("no metric of the heap")
	}
	n, err := strconv.ParseFloat(found[1], 64)
	if err != nil {
		s.Fatal(err)
	}
	return n
}

// seeder returns a connection that may write what replicas write.
func (s *site) seeder() *conn.Conn {
	s.Helper()
	secret, err := seal.ParseSecret(clusterSecret)
	if err != nil {
		s.Fatal(err)
	}
	c, err := conn.Connect(s.Context(), conn.Config{
		URL: s.servers.url(), Prefix: "candela", Secret: secret, ManyOwners: true,
		CA: s.servers.file("ca.pem"), Cert: s.servers.file("candela.pem"), Key: s.servers.file("candela-key.pem"),
	}, slog.New(slog.DiscardHandler))
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(c.Close)
	return c
}

// numbers parses whole numbers.
func numbers(tb testing.TB, text string) (all []int) {
	tb.Helper()
	for field := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(field)
		if err != nil {
			tb.Fatal(err)
		}
		all = append(all, n)
	}
	return all
}

// seed writes what the owners from one number to another have.
func (s *site) seed(c *conn.Conn, generation string, from, to int) {
	s.Helper()
	const writers = 4
	var group sync.WaitGroup
	for w := range writers {
		group.Go(func() {
			var alerts, subs, tokens []conn.Change
			flush := func() {
				for stream, changes := range map[string][]conn.Change{"ALERTS": alerts, "STATE": subs, "TOKENS": tokens} {
					for len(changes) > 0 && !s.Failed() {
						n := min(len(changes), conn.MaxBatch)
						if err := conn.RetryWriteFor(s.Context(), 2*time.Minute, "seed", func(ctx context.Context) error {
							_, err := c.Publish(ctx, c.StreamName(stream), changes[:n]...)
							return err
						}); err != nil {
							s.Error(err)
							return
						}
						changes = changes[n:]
					}
				}
				alerts, subs, tokens = nil, nil, nil
			}
			for i := from + w; i < to && !s.Failed(); i += writers {
				owner := principal.Owner(fmt.Sprintf("%026d", i))
				for k := range ownAlerts + ownFired {
					alerts = append(alerts, seeded(c, owner, i, k))
				}
				tokens = append(tokens, seededToken(c, generation, i))
				key := fmt.Sprintf("%064d", i)
				subs = append(subs, conn.Change{Subject: c.Subject(string(records.SubscriptionKind), conn.EncodeToken(key)), Data: records.Encode(records.Subscription{
					Change: "seed", Owner: owner, Client: fmt.Sprintf("%032d", i), Expires: time.Now().Add(time.Hour).UTC(), Seen: time.Now().UTC(),
				})})
				if len(alerts) >= 2*conn.MaxBatch {
					flush()
				}
			}
			flush()
		})
	}
	group.Wait()
}

// generation returns the present generation of logins.
func (s *site) generation(c *conn.Conn) string {
	s.Helper()
	t, err := logins.Open(s.Context(), c, nil, oauth.Capacity{Codes: 1, Tokens: 1, OwnerCodes: 1, OwnerTokens: 1}, slog.New(slog.DiscardHandler))
	if err != nil {
		s.Fatal(err)
	}
	defer t.Close()
	return t.Seal().Generation()
}

// seededToken is the token of an owner.
func seededToken(c *conn.Conn, generation string, n int) conn.Change {
	now := time.Now()
	tok := oauth.Token{
		Hash: oauth.HashOf(strconv.Itoa(n)), ID: strconv.Itoa(n), Generation: generation, Issued: now, Expires: now.Add(oauth.TokenTTL),
		Grant: oauth.Grant{Subject: principal.Owner(fmt.Sprintf("%026d", n)), ClientName: "client", ClientKey: fmt.Sprintf("%032d", n)},
	}
	data, _ := json.Marshal(tok) // texts and times
	return conn.Change{Subject: c.Subject("token", tok.Hash.Hex()), Data: data, TTL: oauth.TokenTTL}
}

// seededRecord has its fields in the order in which replicas write them.
type seededRecord struct {
	State string         `json:"state"`
	Alert map[string]any `json:"alert"`
	Set   map[string]any `json:"set"`
	End   map[string]any `json:"end,omitempty"`
	Data  map[string]any `json:"data,omitempty"`
}

// seeded is an alert of an owner: the first ones wait, the others have fired.
func seeded(c *conn.Conn, owner principal.Owner, i, k int) conn.Change {
	now := time.Now().UTC().Truncate(time.Microsecond)
	one, symbol := id.New(now), fmt.Sprintf("C%02dUSDT", (i*7+k*31)%60)
	body := seededRecord{
		State: "active",
		Alert: map[string]any{
			"id": one, "owner": owner, "symbol": symbol, "instrument": "binance:" + symbol, "type": "price_above", "threshold": strconv.Itoa(1_000_000_000 + i%1000), "created": now,
		},
		Set: map[string]any{"name": one, "at": now, "actor": fmt.Sprintf("%064d", i), "client": "client"},
	}
	if k >= ownAlerts {
		body.State, body.End = "fired", map[string]any{"name": one, "at": now}
		body.Data = map[string]any{
			"alert_id": one, "symbol": symbol, "interval": "", "condition": map[string]any{"price_above": 70000.5}, "value": 70001.25, "triggered_at": now,
		}
	}
	data, _ := json.Marshal(body) // texts, numbers and times
	ch := conn.Change{Subject: c.OwnerSubject(owner, "alert", conn.EncodeToken("binance:"+symbol), one), Data: data}
	if k >= ownAlerts {
		ch.TTL = 8 * 24 * time.Hour
	}
	return ch
}
