package engine_test

import (
	"context"
	"flag"
	"fmt"
	"iter"
	"log/slog"
	"runtime"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/alerting/alert"
	"candela/internal/alerting/engine"
	"candela/internal/alerting/notify"
	"candela/internal/data/feed"
	"candela/internal/data/marketdata"
	"candela/internal/data/provider"
	"candela/internal/kit/id"
	"candela/internal/kit/principal"
	"candela/lib/market"
)

var (
	manyAlerts  = flag.Int("alerts", 20_000, "alerts of the test of many")
	manySymbols = flag.Int("symbols", 200, "symbols of the test of many")
)

// memory is a store that forgets everything with the process.
type memory struct {
	alerts []alert.Alert
	fired  int
	seq    uint64
}

func (m *memory) PutAlert(context.Context, principal.Caller, alert.Alert) error { return nil }
func (m *memory) CancelAlert(context.Context, principal.Caller, string) error   { return nil }
func (m *memory) ExpireAlerts(context.Context, []alert.Alert) error             { return nil }
func (m *memory) ReportAlerts(context.Context, []alert.Firing) ([]notify.Entry, error) {
	return nil, nil
}
func (m *memory) ResumeAlert(context.Context, principal.Caller, string) error { return nil }
func (m *memory) SaveMarks(context.Context, map[provider.Sub]int64) error     { return nil }
func (m *memory) Marks(context.Context) (map[provider.Sub]int64, error)       { return nil, nil }
func (m *memory) Alerts(context.Context) iter.Seq2[alert.Alert, error] {
	return func(yield func(alert.Alert, error) bool) {
		for _, a := range m.alerts {
			if !yield(a, nil) {
				return
			}
		}
	}
}

func (m *memory) FireAlerts(_ context.Context, firings []alert.Firing) ([]notify.Entry, error) {
	entries := make([]notify.Entry, len(firings))
	for i := range firings {
		m.seq++
		entries[i] = notify.Entry{Seq: m.seq, Owner: firings[i].Owner, At: time.Now()}
	}
	m.fired += len(firings)
	return entries, nil
}

// run starts an engine over the alerts and returns what stops it.
func (m *memory) run(t *testing.T, v *venue) (*engine.Engine, func()) {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	data, err := marketdata.New(marketdata.Config{Providers: []provider.Provider{v}, Routes: marketdata.Routes{Other: "venue"}, Log: log, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	half := func() float64 { return 0.5 }
	e := engine.New(engine.Config{
		Store: m, Data: data, Feed: feed.NewHub(data.Route, feed.Config{Log: log, Rand: half, Now: time.Now}),
		Publish: func([]notify.Entry) {}, Log: log, Now: time.Now, Rand: half,
	})
	ctx, cancel := context.WithCancel(t.Context())
	ready, done := make(chan struct{}), make(chan error, 1)
	go func() { done <- e.Run(ctx, t.Context(), func() { close(ready) }) }()
	<-ready
	if err := e.Restore(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	return e, func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		data.Close()
	}
}

func stored(a alert.Alert, i int) alert.Alert {
	a.ID, a.Owner, a.Created = id.New(time.Now()), principal.Owner(fmt.Sprintf("owner %d", i%100)), time.Now()
	a.Instrument = market.Symbol{Venue: "venue", Name: a.Symbol.Name}
	return a
}

// TestEngine_ManyAlerts says what many alerts over many symbols take, the fake venue
// included: with -alerts 1000000 -symbols 1000 the figures of docs/scaling.md.
func TestEngine_ManyAlerts(t *testing.T) {
	symbols := *manySymbols
	if raced {
		symbols = 20 // the detector wants the code, not the load
	}
	m := &memory{}
	v := newVenue(func(_ market.Symbol, at int64) float64 { return 100 + float64(at/tickEvery%7) })
	began, clock := time.Now(), wall(t)
	var start, busy time.Duration
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(monday))
		for i := range *manyAlerts {
			a := above(fmt.Sprintf("S%d", i%symbols), 0)
			a.Condition.Threshold = decimal.New(int64(20_000+i), -2) // from 200 on
			m.alerts = append(m.alerts, stored(a, i))
		}
		loaded := clock()
		e, stop := m.run(t, v)
		start = clock().Sub(loaded)
		m.alerts = nil
		time.Sleep(2 * time.Minute)
		if s := e.Status(); s.Alerts != *manyAlerts || s.Prices != symbols || s.Loading != 0 {
			t.Errorf("status %+v", s)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		at := clock()
		time.Sleep(time.Minute)
		busy = clock().Sub(at)
		stop()
	})
	t.Logf("%d alerts over %d symbols: ready after %v, %.0f MB; a minute of %d events took %v; %v in all",
		*manyAlerts, symbols, start, float64(after.HeapAlloc-before.HeapAlloc)/1e6, symbols*13, busy, time.Since(began))
	if m.fired != 0 {
		t.Errorf("%d fired", m.fired)
	}
}

// TestEngine_OneEvaluationServesAllAlerts has a hundred thousand alerts wait for 50
// indicators: each bar costs 50 evaluations.
func TestEngine_OneEvaluationServesAllAlerts(t *testing.T) {
	t.Parallel()
	names := []string{"macd", "wavetrend", "rsi", "stoch", "cci", "mfi", "adx", "bbands", "supertrend", "sar"}
	labels := map[string]string{
		"macd": "cross_up", "wavetrend": "cross_up", "rsi": "rsi_oversold", "stoch": "stoch_oversold", "cci": "cross_up_os",
		"mfi": "cross_up_os", "adx": "cross_up", "bbands": "breakout_up", "supertrend": "flip_up", "sar": "flip_up",
	}
	count := 100_000
	if raced {
		count = 1000
	}
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(monday))
		m, v := &memory{}, newVenue(func(market.Symbol, int64) float64 { return 100 }) // nothing ever fires
		for i := range count {
			name := names[i/5%len(names)]
			m.alerts = append(m.alerts, stored(signal(fmt.Sprintf("S%d", i%5), market.Minute1, name, labels[name]), i))
		}
		e, stop := m.run(t, v)
		defer stop()
		time.Sleep(90 * time.Second)
		before := e.Status()
		time.Sleep(10 * time.Minute)
		after := e.Status()
		if n := after.Evaluations - before.Evaluations; n != 500 || after.Alerts != count || after.Series != 5 {
			t.Errorf("%d evaluations in ten bars of %d series, %d alerts", n, after.Series, after.Alerts)
		}
	})
}

// TestEngine_OneEvaluationServesAllValues has alerts of many kinds and numbers share the
// indicators that they compare: each bar costs one evaluation of each.
func TestEngine_OneEvaluationServesAllValues(t *testing.T) {
	t.Parallel()
	count := 20_000
	if raced {
		count = 1000
	}
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(monday))
		m, v := &memory{}, newVenue(func(market.Symbol, int64) float64 { return 100 }) // nothing ever fires
		for i := range count {
			limit := alert.Operand{Number: decimal.NewFromInt(int64(1000 + i))}
			c := alert.Condition{Type: alert.Value, Left: alert.Operand{Indicator: "rsi", Params: `{"length":7}`, Line: "RSI"}, Op: alert.Greater, Right: limit}
			switch i % 4 {
			case 1:
				c.Left = alert.Operand{Indicator: "macd", Line: "MACD"}
			case 2:
				c = alert.Condition{Type: alert.PercentChange, Bars: 3, Op: alert.GreaterEqual, Threshold: limit.Number}
			case 3:
				c = alert.Condition{Type: alert.All, Members: []alert.Condition{c, {Type: alert.IndicatorSignal, Indicator: "macd", Signal: "cross_up"}}}
				c.Members[0].Right.Number = decimal.NewFromInt(int64(1000 + i%8)) // few conditions that many alerts share
			}
			m.alerts = append(m.alerts, stored(alert.Alert{Symbol: symbol("S" + strconv.Itoa(i%5)), Interval: market.Minute1, Condition: c}, i))
		}
		e, stop := m.run(t, v)
		defer stop()
		time.Sleep(90 * time.Second)
		before := e.Status()
		time.Sleep(10 * time.Minute)
		after := e.Status()
		const indicators = 3 // rsi, macd and roc
		if n := after.Evaluations - before.Evaluations; n != 10*5*indicators || after.Alerts != count || after.Series != 5 {
			t.Errorf("%d evaluations in ten bars of %d series, %d alerts", n, after.Series, after.Alerts)
		}
	})
}

// wall returns a clock that shows the real time in a bubble, too: it is asked over a
// channel from outside.
func wall(t *testing.T) func() time.Time {
	t.Helper()
	now, done := make(chan time.Time), make(chan struct{})
	go func() {
		for {
			select {
			case now <- time.Now():
			case <-done:
				return
			}
		}
	}()
	t.Cleanup(func() { close(done) })
	return func() time.Time {
		<-now // one that was ready long ago
		return <-now
	}
}
