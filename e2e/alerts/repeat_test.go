package alerts

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/e2e/build"
	"candela/e2e/tape"
	"candela/internal/access/oauth"
	"candela/internal/alerting/alert"
	"candela/internal/kit/id"
	"candela/internal/kit/principal"
	"candela/internal/store/ledger"
	"candela/lib/market"
)

// repeats returns alerts that fire again: compounds and values on minutes, which the bars
// decide, and prices. They were made a while ago, so that each start finds firings to catch
// up with.
func repeats(made time.Time) []alert.Alert {
	tp := tape.New(seed)
	rsi := alert.Operand{Indicator: "rsi", Params: `{"length":7}`, Line: "RSI"}
	value := func(op alert.Op, limit int64) alert.Condition {
		return alert.Condition{Type: alert.Value, Left: rsi, Op: op, Right: alert.Operand{Number: decimal.NewFromInt(limit)}}
	}
	var all []alert.Alert
	add := func(symbol string, i market.Interval, cooldown time.Duration, c alert.Condition) {
		all = append(all, alert.Alert{
			ID: id.New(made), Owner: oauth.SoleOwner, Created: made, Interval: i, Condition: c,
			Symbol: market.Symbol{Name: symbol}, Instrument: market.Symbol{Venue: "binance", Name: symbol},
			Repeat: alert.Repeat{MaxFires: alert.MaxFires, Cooldown: cooldown},
		})
	}
	for _, symbol := range symbols()[:3] {
		high, low := alert.Condition{Type: alert.NewHigh, Bars: 2}, alert.Condition{Type: alert.NewLow, Bars: 2}
		rising := alert.Condition{Type: alert.Value, Left: alert.Operand{Price: "close"}, Op: alert.Greater, Right: alert.Operand{Price: "open"}}
		add(symbol, market.Minute1, 0, alert.Condition{Type: alert.Any, Members: []alert.Condition{high, low}})
		add(symbol, market.Minute1, 0, alert.Condition{Type: alert.All, Members: []alert.Condition{rising, value(alert.Less, 60)}})
		add(symbol, market.Minute1, 3*time.Minute, value(alert.CrossesAbove, 50))
		add(symbol, market.Minute1, 0, value(alert.Greater, 50))
		price := decimal.NewFromFloat(tp.At(symbol, made.Unix()).C)
		for _, kind := range []alert.Type{alert.PriceAbove, alert.PriceBelow, alert.PriceCrosses} {
			add(symbol, 0, time.Second, alert.Condition{Type: kind, Threshold: price})
		}
	}
	return all
}

// leave puts alerts into a new store.
func leave(t *testing.T, home string, all []alert.Alert) {
	t.Helper()
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	store, err := ledger.Open(t.Context(), home, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		if err := store.PutAlert(t.Context(), principal.Caller{Subject: oauth.SoleOwner, Key: "local"}, a); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
}

// numbered is a firing of an alert that repeats.
type numbered struct {
	firing
	Fire      int
	Condition struct{ Type string }
}

// name names a firing.
func (f *numbered) name() string { return fmt.Sprintf("%s #%d", f.AlertID, f.Fire) }

// again is what fired in a home by alert, in the order of the audit log.
type again struct{ firings map[string][]numbered }

func readAgain(t *testing.T, home string) again {
	t.Helper()
	a := again{make(map[string][]numbered)}
	for _, e := range audit(t, home) {
		if e.Kind != "alert_fired" {
			continue
		}
		var body struct{ Record json.RawMessage }
		var f numbered
		if err := json.Unmarshal(e.Body, &body); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(body.Record, &f); err != nil {
			t.Fatal(err)
		}
		a.firings[e.Subject] = append(a.firings[e.Subject], f)
	}
	return a
}

// onBars returns the firings of an alert on bars up to a time, as texts to compare.
func (a again) onBars(id string, until time.Time) []string {
	var all []string
	for _, f := range a.firings[id] {
		if !f.Triggered.After(until) {
			all = append(all, fmt.Sprintf("#%d at %s: %v", f.Fire, f.Triggered.UTC().Format(time.DateTime), f.Value))
		}
	}
	return all
}

// catchUp runs the program until it reports nothing for a while, and returns what polling
// delivered.
func catchUp(t *testing.T, home, venue string) *notes {
	t.Helper()
	n := newNotes()
	p := start(t, "--mcp", "--trade", "--home", home, "--binance-url", venue)
	c := connectPipes(p, n.push)
	for quiet := 0; quiet < 4; quiet++ { // prices go on firing, a few at a time
		if n.poll(must(t, c, "get_notifications", `{"wait_seconds":1}`)) > 10 {
			quiet = 0
		}
	}
	p.term(t)
	return n
}

// TestCrash_RepeatsFireEachNumberOnce kills the program while it finds and commits firings
// of compound and repeating alerts. In the end the firings on bars are those of a program
// that was left alone, every firing has the number after the one before, and all were
// delivered.
func TestCrash_RepeatsFireEachNumberOnce(t *testing.T) {
	t.Parallel()
	venue, home, quiet := newVenue(t), build.Home(t), build.Home(t)
	made := time.Now().Add(-back * time.Minute).UTC().Truncate(time.Millisecond)
	all := repeats(made)
	leave(t, home, all)
	leave(t, quiet, all)
	for range *kills {
		p := start(t, "--mcp", "--trade", "--home", home, "--binance-url", venue)
		time.Sleep(rand.N(1500 * time.Millisecond))
		p.kill(t)
		verify(t, home)
	}
	until := time.Now()
	delivered := catchUp(t, home, venue)
	catchUp(t, quiet, venue)
	got, want := readAgain(t, home), readAgain(t, quiet)
	onBars, onPrices := 0, 0
	for i := range all {
		a := &all[i]
		for k, f := range got.firings[a.ID] {
			if f.Fire != k+1 || k > 0 && !f.Triggered.After(got.firings[a.ID][k-1].Triggered) {
				t.Errorf("%s: firing %d is %+v", a.Describe(), k+1, f)
			}
		}
		if a.Condition.Type.OnPrice() {
			onPrices += len(got.firings[a.ID])
			continue
		}
		crashed, calm := got.onBars(a.ID, until), want.onBars(a.ID, until)
		if onBars += len(crashed); !slices.Equal(crashed, calm) {
			t.Errorf("%s: fired %q, and %q without crashes", a.Describe(), crashed, calm)
		}
	}
	polled := delivered.names(t)
	for _, firings := range got.firings {
		for _, f := range firings {
			if !polled[f.name()] && f.Triggered.Before(until) {
				t.Errorf("LOST: %+v", f)
			}
		}
	}
	t.Logf("%d firings on bars as without crashes, %d on prices, each once and delivered", onBars, onPrices)
	if onBars < 50 || onPrices < 5 {
		t.Error("too little happened to say anything")
	}
}

// names returns the firings that were polled.
func (n *notes) names(t *testing.T) map[string]bool {
	t.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	all := make(map[string]bool)
	for _, records := range n.polled {
		for _, record := range records {
			var f numbered
			if err := json.Unmarshal([]byte(record), &f); err != nil {
				t.Fatal(err)
			}
			all[f.name()] = true
		}
	}
	return all
}
