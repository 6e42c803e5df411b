package soak

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shopspring/decimal"
)

// market is one symbol: its price, which the test alone moves, and what the model knows. The
// agent that has locked it may change it.
type market struct {
	symbol string
	still  bool // nobody trades in it: it has alerts alone

	mu     sync.Mutex
	price  decimal.Decimal
	plan   plan
	rests  *entry // an order that waits to open a position; nil for none
	alerts []*alert
	steps  []string // the last ones
	held   bool     // nothing more is judged: what came of an order is not known yet

	history sync.Mutex // guards prices
	prices  []priced
}

// entry is an order that waits below the market.
type entry struct {
	id              string
	quantity, price decimal.Decimal
	want            want
}

// violation is something that the model forbids.
type violation struct {
	kind, text string
	steps      []string
}

// world is a site, all who use it, and what must be true.
type world struct {
	testing.TB
	site      *site
	seed      uint64
	markets   []*market
	fee       decimal.Decimal // the part of a purchase that is taken out of it
	pace      time.Duration   // of agents
	listening context.Context // of streams
	busy      sync.WaitGroup
	calls     atomic.Int64
	actions   atomic.Int64
	revoking  atomic.Bool
	pausing   atomic.Bool   // no step begins
	plans     atomic.Bool   // the program says plans
	lag       atomic.Int64  // how long a short pause took beyond its time, at most, in nanoseconds
	over      chan struct{} // closed when no new step begins
	quiet     sync.RWMutex

	mu       sync.Mutex
	dice     *rand.Rand // of what no agent decides
	logins   []*login
	alerts   map[string]*alert // by ID
	notes    map[string]bool   // of alerts that were asked for
	polled   map[string][]receipt
	fired    map[string]firing
	faults   []span
	halts    []span
	wrongs   []violation
	refusals map[string]int
	orders   map[string]*order // every one that was ever listed
	traded   []string          // those with fills, in the order of these
	acked    map[string]string // symbols of orders that were acknowledged
	gaps     []time.Duration
}

// clock measures how slow the machine is: by how much pauses are too long.
func (w *world) clock(ctx context.Context) {
	const step = 20 * time.Millisecond
	for began := time.Now(); pause(ctx, step); began = time.Now() {
		if late := int64(time.Since(began) - step); late > w.lag.Load() {
			w.lag.Store(late)
		}
	}
}

// patience returns how long to wait for something that takes at most d on a machine that nothing else uses.
func (w *world) patience(d time.Duration) time.Duration {
	return d + 10*time.Duration(w.lag.Load())
}

// violate notes a violation, with the last steps of its symbol.
func (w *world) violate(kind, symbol, format string, args ...any) {
	v := violation{kind: kind, text: fmt.Sprintf(format, args...)}
	if symbol != "" {
		v.text = symbol + ": " + v.text
	}
	for _, m := range w.markets {
		if m.symbol == symbol && kind == protection {
			v.steps = slices.Clone(m.steps)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wrongs = append(w.wrongs, v)
}

// protection is the kind of violations of plans.
const protection = "protection"

// ending reports whether no new step begins.
func (w *world) ending() bool {
	select {
	case <-w.over:
		return true
	default:
		return false
	}
}

// count counts a refusal.
func (w *world) count(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refusals[what]++
}

// begin notes that something is done to the program.
func (w *world) begin(halt bool) (end func()) {
	list := &w.faults
	if halt {
		list = &w.halts
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	*list = append(*list, span{began: time.Now()})
	i := len(*list) - 1
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		(*list)[i].ended = time.Now()
	}
}

// disturbed reports whether something was done to the program since a time.
func (w *world) disturbed(since time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	touches := func(s span) bool { return s.touches(since.Add(-time.Second), time.Now()) }
	return slices.ContainsFunc(w.faults, touches) || slices.ContainsFunc(w.halts, touches)
}

// halted reports whether trading was halted since a time.
func (w *world) halted(since time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.ContainsFunc(w.halts, func(s span) bool { return s.touches(since, time.Now()) })
}

// note adds a step to a market's history.
func (m *market) note(format string, args ...any) {
	m.steps = append(m.steps, clock(time.Now())+" "+fmt.Sprintf(format, args...))
	m.steps = m.steps[max(0, len(m.steps)-14):]
}

// fix moves the price of a market.
func (w *world) fix(m *market, price decimal.Decimal) {
	m.price = price
	w.trade(m)
	m.history.Lock()
	defer m.history.Unlock()
	m.prices = append(m.prices, priced{time.Now(), price})
}

// trade lets much be traded at the price of a market.
func (w *world) trade(m *market) { w.site.venue.Fix(m.symbol, m.price, decimal.NewFromInt(100_000)) }

// past returns the prices of a market so far.
func (m *market) past() []priced {
	m.history.Lock()
	defer m.history.Unlock()
	return slices.Clone(m.prices)
}

// report prints what was done and found, and fails the test for what is wrong.
func (w *world) report(took time.Duration) {
	w.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	kinds := map[string]int{}
	for _, v := range w.wrongs {
		kinds[v.kind]++
	}
	slices.Sort(w.gaps)
	longest := time.Duration(0)
	if len(w.gaps) > 0 {
		longest = w.gaps[len(w.gaps)-1]
	}
	w.Logf("seed %d, %.0f s: %d calls, %d steps, %d orders of which %d traded, %d alerts of which %d fired, %d logins, %d faults, %d halts; the longest time without a stop %v, the longest delay of a pause %v; refused: %v",
		w.seed, took.Seconds(), w.calls.Load(), w.actions.Load(), len(w.orders), len(w.traded), len(w.alerts), len(w.fired), len(w.logins), len(w.faults), len(w.halts), longest, time.Duration(w.lag.Load()), w.refusals)
	w.Logf("%d violations: %v", len(w.wrongs), kinds)
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		shown := 0
		for _, v := range w.wrongs {
			if v.kind != kind || shown == 8 {
				continue
			}
			shown++
			text := fmt.Sprintf("VIOLATION of %s, seed %d: %s\n\t%s", kind, w.seed, v.text, strings.Join(v.steps, "\n\t"))
			if kind == protection && !w.plans.Load() {
				w.Log(text + "\nThe program states no plans: this is reported and is no failure.")
				continue
			}
			w.Error(text)
		}
	}
}
