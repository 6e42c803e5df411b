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
	on := func(i market.Interval, c alert.Condition) alert.Condition {
		c.Interval = i
		return c
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
		add(symbol, market.Minute1, 0, alert.Condition{Type: alert.All, Members: []alert.Condition{value(alert.Less, 60), on(market.Minute5, value(alert.Greater, 40))}})
		add(symbol, market.Minute1, 0, alert.Condition{Type: alert.Any, Members: []alert.Condition{on(market.Minute3, high), on(market.Minute15, value(alert.CrossesAbove, 50)), low}})
		price := decimal.NewFromFloat(tp.At(symbol, made.Unix()).C)
		for _, kind := range []alert.Type{alert.PriceAbove, alert.PriceBelow, alert.PriceCrosses} {
			add(symbol, 0, time.Second, alert.Condition{Type: kind, Threshold: price})
		}
	}
	return all
}

// compounds returns alerts on bars of several intervals that the tape knows, by their identifiers.
func compounds(made time.Time) (all []alert.Alert, known map[string]*tape.Compound) {
	known = map[string]*tape.Compound{}
	for n, longer := range [][]market.Interval{{market.Minute3}, {market.Minute5}, {market.Minute15}, {market.Minute3, market.Minute15}, {market.Minute5, market.Minute15}} {
		for ways := range 1 << (1 + len(longer)) {
			c := &tape.Compound{Symbol: symbols()[n%3], Parts: []tape.Part{{Interval: market.Minute1, Up: ways&1 > 0}}}
			for k, i := range longer {
				c.Parts = append(c.Parts, tape.Part{Interval: i, Up: ways>>(k+1)&1 > 0})
			}
			a := alert.Alert{
				ID: id.New(made), Owner: oauth.SoleOwner, Created: made, Interval: market.Minute1, Condition: alert.Condition{Type: alert.All},
				Symbol: market.Symbol{Name: c.Symbol}, Instrument: market.Symbol{Venue: "binance", Name: c.Symbol}, Repeat: alert.Repeat{MaxFires: alert.MaxFires},
			}
			for _, p := range c.Parts {
				m := alert.Condition{Type: alert.Value, Left: alert.Operand{Price: "close"}, Op: alert.Less, Right: alert.Operand{Price: "open"}}
				if p.Up {
					m.Op = alert.Greater
				}
				if p.Interval != market.Minute1 {
					m.Interval = p.Interval
				}
				a.Condition.Members = append(a.Condition.Members, m)
			}
			all, known[a.ID] = append(all, a), c
		}
	}
	return all, known
}

// due returns the firings of a compound from when it was made up to a time, as the bars of the venue have them and as onBars
// writes them.
func due(c *tape.Compound, made, until time.Time) (all []string) {
	tp := tape.New(seed)
	for at := made.Unix() - made.Unix()%60 + 60; at <= until.Unix(); at += 60 {
		if holds, rises := tp.Holds(c, at); holds && (rises || at-60 <= made.Unix()) {
			bar, _ := tp.ClosedBy(c.Symbol, market.Minute1, at)
			all = append(all, onBar(len(all)+1, time.Unix(at, 0), bar.C))
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
			all = append(all, onBar(f.Fire, f.Triggered, f.Value))
		}
	}
	return all
}

// onBar writes a firing, as a text to compare.
func onBar(fire int, closed time.Time, value float64) string {
	return fmt.Sprintf("#%d at %s: %v", fire, closed.UTC().Format(time.DateTime), value)
}

// follower is a program that finds what it missed, and what polling delivered of it.
type follower struct {
	*notes

	p *program
	c client
}

func follow(t *testing.T, home, venue string) *follower {
	t.Helper()
	n := newNotes()
	p := start(t, "--mcp", "--trade", "--home", home, "--binance-url", venue)
	return &follower{n, p, connectPipes(p, n.push)}
}

// polledAgain returns what polling delivered, by alert and in the order of the firings.
func (f *follower) polledAgain(t *testing.T) again {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	a := again{make(map[string][]numbered)}
	for id, records := range f.polled {
		for _, record := range records {
			var n numbered
			if err := json.Unmarshal([]byte(record), &n); err != nil {
				t.Fatal(err)
			}
			a.firings[id] = append(a.firings[id], n)
		}
		slices.SortFunc(a.firings[id], func(x, y numbered) int { return x.Fire - y.Fire })
	}
	return a
}

// catchUp polls two programs until both have delivered the same firings on bars up to a time, those of
// compounds as the bars have them, and then report little for a while: prices go on firing, a few at a
// time. What is still missing after three minutes is missing.
func catchUp(t *testing.T, all []alert.Alert, known map[string]*tape.Compound, made, until time.Time, both ...*follower) {
	t.Helper()
	same := func() bool {
		one, other := both[0].polledAgain(t), both[1].polledAgain(t)
		return !slices.ContainsFunc(all, func(a alert.Alert) bool {
			if a.Condition.Type.OnPrice() {
				return false
			}
			got := one.onBars(a.ID, until)
			return !slices.Equal(got, other.onBars(a.ID, until)) || known[a.ID] != nil && !slices.Equal(got, due(known[a.ID], made, until))
		})
	}
	deadline := time.Now().Add(3 * time.Minute)
	for quiet := 0; quiet < 4 && time.Now().Before(deadline); quiet++ {
		for _, f := range both {
			if f.poll(must(t, f.c, "get_notifications", `{"wait_seconds":1}`)) > 10 {
				quiet = -1
			}
		}
		if quiet >= 0 && !same() {
			quiet = -1
		}
	}
	for _, f := range both {
		f.p.term(t)
	}
}

// TestCrash_RepeatsFireEachNumberOnce kills the program while it finds and commits firings
// of compound and repeating alerts, on one interval and on several. In the end the firings on bars
// are those of a program that was left alone, and those that a hand-written rule finds on the venue's
// bars; every firing has the number after the one before, and all were delivered.
func TestCrash_RepeatsFireEachNumberOnce(t *testing.T) {
	t.Parallel()
	venue, home, quiet := newVenue(t), build.Home(t), build.Home(t)
	made := time.Now().Add(-back * time.Minute).UTC().Truncate(time.Millisecond)
	several, known := compounds(made)
	all := append(repeats(made), several...)
	leave(t, home, all)
	leave(t, quiet, all)
	for n := range *kills {
		p := start(t, "--mcp", "--trade", "--home", home, "--binance-url", venue)
		if n%10 == 9 { // when a minute closes, a few times in a long run
			time.Sleep(time.Until(time.Now().Truncate(time.Minute).Add(time.Minute)))
		}
		time.Sleep(rand.N(1500 * time.Millisecond))
		p.kill(t)
		verify(t, home)
	}
	until := time.Now()
	crashedOne, calmOne := follow(t, home, venue), follow(t, quiet, venue)
	catchUp(t, all, known, made, until, crashedOne, calmOne)
	got, want := readAgain(t, home), readAgain(t, quiet)
	onBars, onPrices, onSeveral := 0, 0, 0
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
		if c := known[a.ID]; c != nil {
			onSeveral += len(crashed)
			if want := due(c, made, until); !slices.Equal(crashed, want) {
				t.Errorf("%s: fired %q, and the bars have %q", a.Describe(), crashed, want)
			}
		}
	}
	polled := crashedOne.names(t)
	for _, firings := range got.firings {
		for _, f := range firings {
			if !polled[f.name()] && f.Triggered.Before(until) {
				t.Errorf("LOST: %+v", f)
			}
		}
	}
	t.Logf("%d firings on bars as without crashes, %d of them of compounds on several intervals as the bars have them, %d on prices, each once and delivered",
		onBars, onSeveral, onPrices)
	if onBars < 50 || onPrices < 5 || onSeveral < 50 {
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
