package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shopspring/decimal"
	"go.uber.org/goleak"

	"candela/internal/alerting/alert"
	"candela/internal/alerting/engine"
	"candela/internal/alerting/notify"
	"candela/internal/data/feed"
	"candela/internal/data/marketdata"
	"candela/internal/data/provider"
	"candela/internal/kit/budget"
	"candela/internal/kit/principal"
	"candela/internal/store/ledger"
	"candela/lib/fault"
	"candela/lib/market"
	"candela/lib/ta"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// scene is an engine over a venue in virtual time, with a ledger of its own that
// outlives it.
type scene struct {
	*engine.Engine
	t     *testing.T
	venue *venue // nil when it is another one
	from  provider.Provider
	dir   string
	store *failing
	data  *marketdata.Service
	log   journal

	evaluations engine.Evaluations
	died        map[string]time.Time // what an earlier process was evaluating

	library   ta.Library
	scripts   *budget.Pool
	suspended func(owner principal.Owner) bool
	now       func() time.Time // the engine's clock; nil for time.Now

	mu        sync.Mutex
	published []firing
	observed  []provider.Event
	stop      func()
}

// firing is a notification as clients get it.
type firing struct {
	Seq       uint64
	AlertID   string `json:"alert_id"`
	Symbol    string
	Interval  string
	Value     float64
	Triggered time.Time `json:"triggered_at"`
	Late      bool
	Fire      int
	Error     string
	State     string
}

// monday is where the tests begin: not on the minute.
var monday = time.Date(2025, time.July, 7, 12, 0, 7, 0, time.UTC)

func newScene(t *testing.T, wave func(market.Symbol, int64) float64) *scene {
	t.Helper()
	time.Sleep(time.Until(monday))
	s := &scene{t: t, venue: newVenue(wave), dir: t.TempDir()}
	s.from = s.venue
	s.start()
	return s
}

// start opens the ledger and runs an engine over it.
func (s *scene) start() {
	s.t.Helper()
	db, err := ledger.Open(s.t.Context(), s.dir, time.Now)
	if err != nil {
		s.t.Fatal(err)
	}
	s.store = &failing{Ledger: db}
	log := slog.New(slog.NewTextHandler(&s.log, nil))
	s.data, err = marketdata.New(marketdata.Config{
		Providers: []provider.Provider{s.from}, Routes: marketdata.Routes{Preferred: []string{s.from.Name()}}, Log: log, Now: time.Now,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	half, now := func() float64 { return 0.5 }, s.now
	if now == nil {
		now = time.Now
	}
	s.Engine = engine.New(engine.Config{
		Store: s.store, Data: s.data, Feed: feed.NewHub(s.data.Route, feed.Config{Log: log, Rand: half, Now: time.Now}),
		Publish: s.publish, Observe: s.observe, Log: log, Now: now, Rand: half, Library: s.library, Scripts: s.scripts, Suspended: s.suspended, Evaluations: s.evaluations,
	})
	ctx, cancel := context.WithCancel(s.t.Context())
	ready, done := make(chan struct{}), make(chan error, 1)
	go func() { done <- s.Run(ctx, s.t.Context(), func() { close(ready) }) }()
	<-ready
	if err := s.SetAside(s.t.Context(), s.died); err != nil {
		s.t.Error(err)
	}
	if err := s.Restore(s.t.Context(), s.store); err != nil {
		s.t.Error(err)
	}
	if err := s.StoreReports(s.t.Context()); err != nil {
		s.t.Error(err)
	}
	s.stop = func() {
		s.t.Helper()
		cancel()
		if err := <-done; err != nil {
			s.t.Error(err)
		}
		s.data.Close()
		if err := db.Close(); err != nil {
			s.t.Error(err)
		}
	}
}

func (s *scene) observe(e provider.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.observed = append(s.observed, e)
}

func (s *scene) publish(entries []notify.Entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range entries {
		f := firing{Seq: e.Seq}
		if err := json.Unmarshal(e.Data, &f); err != nil {
			s.t.Error(err)
		}
		s.published = append(s.published, f)
	}
}

// fired returns the notifications since the last call.
func (s *scene) fired() []firing {
	s.mu.Lock()
	defer s.mu.Unlock()
	published := s.published
	s.published = nil
	return published
}

func (s *scene) logged(text string) int { return strings.Count(s.log.String(), text) }

// journal is a log that can be read while it is written.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

func ann() principal.Caller { return principal.Caller{Subject: "ann", Key: "k"} }

func symbol(name string) market.Symbol { return market.Symbol{Name: name} }

func above(name string, price float64) alert.Alert {
	return alert.Alert{Symbol: symbol(name), Condition: alert.Condition{Type: alert.PriceAbove, Threshold: decimal.NewFromFloat(price)}}
}

func below(name string, price float64) alert.Alert {
	a := above(name, price)
	a.Condition.Type = alert.PriceBelow
	return a
}

func signal(name string, i market.Interval, indicator, label string) alert.Alert {
	return alert.Alert{Symbol: symbol(name), Interval: i, Condition: alert.Condition{Type: alert.IndicatorSignal, Indicator: indicator, Signal: label}}
}

func (s *scene) set(a alert.Alert) alert.Alert {
	s.t.Helper()
	set, err := s.Set(s.t.Context(), ann(), a)
	if err != nil {
		s.t.Fatal(err)
	}
	return set
}

func (s *scene) active() []string {
	s.t.Helper()
	all, err := s.Alerts(s.t.Context(), ann())
	if err != nil {
		s.t.Fatal(err)
	}
	ids := make([]string, len(all))
	for i, a := range all {
		ids[i] = a.ID
	}
	return ids
}

// steps is a price that is one for a time and then another.
func steps(prices map[time.Duration]float64) func(market.Symbol, int64) float64 {
	return func(_ market.Symbol, t int64) float64 {
		after := time.Duration(t-monday.Unix()) * time.Second
		price, at := 100.0, time.Duration(math.MinInt64)
		for from, p := range prices {
			if from <= after && from > at {
				price, at = p, from
			}
		}
		return price
	}
}

func TestSet_ThePriceFiresIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, steps(map[time.Duration]float64{90 * time.Second: 101, 200 * time.Second: 98.5}))
		defer s.stop()
		up, down, far := s.set(above("BTC", 100.5)), s.set(below("BTC", 99)), s.set(above("BTC", 500))
		if fired := s.fired(); len(fired) != 0 {
			t.Fatalf("fired %+v at 100", fired)
		}
		time.Sleep(95 * time.Second)
		if fired := s.fired(); len(fired) != 1 || fired[0].AlertID != up.ID || fired[0].Value != 101 || fired[0].Late || fired[0].Triggered.Sub(monday).Round(5*time.Second) != 95*time.Second {
			t.Errorf("at 101 %+v", fired)
		}
		time.Sleep(2 * time.Minute)
		if fired := s.fired(); len(fired) != 1 || fired[0].AlertID != down.ID || fired[0].Value != 98.5 {
			t.Errorf("at 98.5 %+v", fired)
		}
		if ids := s.active(); !slices.Equal(ids, []string{far.ID}) {
			t.Errorf("active %v", ids)
		}
	})
}

func TestSet_WhatIsReachedFiresAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, steps(nil))
		defer s.stop()
		a := s.set(above("BTC", 100))
		if fired := s.fired(); len(fired) != 1 || fired[0].AlertID != a.ID || fired[0].Value != 100 {
			t.Errorf("%+v", fired)
		}
		if ids := s.active(); len(ids) != 0 {
			t.Errorf("active %v", ids)
		}
	})
}

// The high of the bar that runs is older than the alert.
func TestSet_WhatWasReachedBeforeDoesNotFireIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, steps(map[time.Duration]float64{0: 150, 10 * time.Second: 100, 5 * time.Minute: 101}))
		defer s.stop()
		time.Sleep(20 * time.Second)
		a := s.set(above("BTC", 120))
		time.Sleep(3 * time.Minute)
		if fired := s.fired(); len(fired) != 0 || !slices.Equal(s.active(), []string{a.ID}) {
			t.Errorf("fired %+v, active %v", fired, s.active())
		}
	})
}

// Nor does it when a new alert has the price read before the older one's history is.
func TestSet_ReadsAPriceThatDoesNotFireOlderAlerts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, steps(map[time.Duration]float64{0: 150, 10 * time.Second: 100, 5 * time.Minute: 130}))
		time.Sleep(20 * time.Second)
		older := s.set(above("BTC", 120))
		s.stop()
		s.venue.setDown(true)
		s.start()
		defer func() { s.stop() }()
		time.Sleep(100 * time.Millisecond) // the history is not read
		s.venue.setDown(false)
		newer := s.set(above("BTC", 500))
		time.Sleep(3 * time.Minute)
		if fired := s.fired(); len(fired) != 0 || !slices.Equal(s.active(), []string{older.ID, newer.ID}) {
			t.Errorf("fired %+v, active %v", fired, s.active())
		}
		time.Sleep(3 * time.Minute)
		if fired := s.fired(); len(fired) != 1 || fired[0].AlertID != older.ID || fired[0].Value != 130 {
			t.Errorf("fired %+v at 130", fired)
		}
	})
}

func TestSet_RefusesWhatNeverFires(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, steps(nil))
		defer s.stop()
		past := above("BTC", 500)
		past.Expires = time.Now()
		for want, a := range map[string]alert.Alert{
			"unknown_symbol": above("NONE", 1), "invalid_argument": past,
		} {
			_, err := s.Set(t.Context(), ann(), a)
			if f := fault.Of(err); f == nil || f.Code != want {
				t.Errorf("%s: %v", want, err)
			}
		}
		_, err := s.Set(t.Context(), ann(), signal("BTC", market.Minute3, "rsi", "rsi_oversold"))
		if err != nil {
			t.Errorf("an interval that can be built: %v", err)
		}
		s.venue.setDown(true)
		if _, err := s.Set(t.Context(), ann(), above("ETH", 500)); fault.KindOf(err) != fault.Unavailable {
			t.Errorf("a venue that does not answer: %v", err)
		}
	})
}

func TestCancel_OnlyTheOwnersOwn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, steps(map[time.Duration]float64{time.Minute: 200}))
		defer s.stop()
		a := s.set(above("BTC", 150))
		bob := principal.Caller{Subject: "bob", Key: "b"}
		if err := s.Cancel(t.Context(), bob, a.ID); fault.KindOf(err) != fault.NotFound {
			t.Errorf("another owner: %v", err)
		}
		if all, err := s.Alerts(t.Context(), bob); err != nil || len(all) != 0 {
			t.Errorf("another owner sees %v, %v", all, err)
		}
		if err := s.Cancel(t.Context(), ann(), a.ID); err != nil {
			t.Error(err)
		}
		if err := s.Cancel(t.Context(), ann(), a.ID); fault.KindOf(err) != fault.NotFound {
			t.Errorf("twice: %v", err)
		}
		time.Sleep(2 * time.Minute)
		if fired := s.fired(); len(fired) != 0 {
			t.Errorf("fired %+v", fired)
		}
	})
}

func TestEngine_FollowsWhatIsNeededAndNothingElse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, steps(nil))
		defer s.stop()
		a, b := s.set(above("BTC", 500)), s.set(signal("ETH", market.Minute5, "rsi", "rsi_oversold"))
		time.Sleep(30 * time.Second)
		if got := s.venue.streamed(); !slices.Equal(got, []string{"venue:BTC 1m", "venue:ETH 5m"}) {
			t.Errorf("streams %v", got)
		}
		for _, id := range []string{a.ID, b.ID} {
			if err := s.Cancel(t.Context(), ann(), id); err != nil {
				t.Error(err)
			}
		}
		time.Sleep(90 * time.Second)
		if got := s.venue.streamed(); len(got) != 0 {
			t.Errorf("streams %v", got)
		}
		if st := s.Status(); st.Prices+st.Series != 0 || !st.Ready() {
			t.Errorf("status %+v", st)
		}
		marks, err := s.store.Marks(t.Context())
		if err != nil || len(marks) > 0 {
			t.Errorf("marks %v, %v", marks, err)
		}
	})
}

func (v *venue) streamed() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	var all []string
	for s := range v.subs {
		all = append(all, fmt.Sprintf("%v %v", s.Symbol, s.Interval))
	}
	slices.Sort(all)
	return all
}

func TestEngine_ACommitThatFailsIsTriedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, steps(map[time.Duration]float64{time.Minute: 200, 2 * time.Minute: 100}))
		defer s.stop()
		a := s.set(above("BTC", 150))
		s.store.refuse(fault.Unreachable(nil, 0, "the disk is full"))
		time.Sleep(3 * time.Minute)
		if fired := s.fired(); len(fired) != 0 {
			t.Errorf("published before it was committed: %+v", fired)
		}
		if st := s.Status(); st.Ready() || st.Uncommitted != 1 || !strings.Contains(st.Failure, "disk is full") {
			t.Errorf("status %+v", st)
		}
		if !slices.Equal(s.active(), []string{a.ID}) {
			t.Errorf("active %v", s.active())
		}
		s.store.refuse(nil)
		time.Sleep(time.Minute)
		if fired := s.fired(); len(fired) != 1 || fired[0].AlertID != a.ID || fired[0].Value != 200 {
			t.Errorf("published %+v", fired)
		}
		if st := s.Status(); !st.Ready() || st.Uncommitted != 0 {
			t.Errorf("status %+v", st)
		}
		if s.logged("alert commit failed") < 3 || s.logged("alert commit recovered") != 1 {
			t.Error(s.log.String())
		}
	})
}

func TestEngine_AnAlertExpires(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, steps(map[time.Duration]float64{10 * time.Minute: 200}))
		defer s.stop()
		a := above("BTC", 150)
		a.Expires = time.Now().Add(5 * time.Minute)
		s.set(a)
		time.Sleep(5*time.Minute + time.Second)
		if ids := s.active(); len(ids) != 0 {
			t.Errorf("listed after its time: %v", ids)
		}
		time.Sleep(15 * time.Minute)
		if fired := s.fired(); len(fired) != 0 {
			t.Errorf("fired %+v", fired)
		}
		for a, err := range s.store.Alerts(t.Context()) {
			t.Errorf("still stored: %v %v", a, err)
		}
	})
}
