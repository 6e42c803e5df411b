package deploy_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/kit/principal"
	"candela/internal/trading/deploy"
	"candela/lib/backtest"
	"candela/lib/market"
	"candela/lib/pine"
	"candela/lib/pine/eval"
)

const owner principal.Owner = "owner"

// journals keeps journals in memory. It fails every append after failAfter, as a store does that is killed.
type journals struct {
	mu        sync.Mutex
	entries   map[string][][]byte
	failAfter int // appends that succeed; negative for all
}

func newJournals() *journals { return &journals{entries: map[string][][]byte{}, failAfter: -1} }

func (j *journals) AppendJournal(_ context.Context, _ principal.Owner, name string, entries [][]byte) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.failAfter == 0 {
		return errors.New("killed")
	}
	if j.failAfter > 0 {
		j.failAfter--
	}
	for _, e := range entries {
		j.entries[name] = append(j.entries[name], slices.Clone(e))
	}
	return nil
}

func (j *journals) Journal(_ context.Context, _ principal.Owner, name string) iter.Seq2[[]byte, error] {
	j.mu.Lock()
	defer j.mu.Unlock()
	entries := slices.Clone(j.entries[name])
	return func(yield func([]byte, error) bool) {
		for _, e := range entries {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func (j *journals) Journals(context.Context) (map[principal.Owner][]string, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	all := map[principal.Owner][]string{}
	for name := range j.entries {
		all[owner] = append(all[owner], name)
	}
	return all, nil
}

// venue has bars of which the first ones have closed.
type venue struct {
	mu     sync.Mutex
	bars   []market.Bar
	closed int
}

func (v *venue) Closed(_ context.Context, _ market.Symbol, _ market.Interval, from int64) ([]market.Bar, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	i, _ := slices.BinarySearchFunc(v.bars[:v.closed], from, func(b market.Bar, t int64) int { return int(b.T - t) })
	return v.bars[i:v.closed], nil
}

func (v *venue) Newest(context.Context, market.Symbol, market.Interval) (int64, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.bars[v.closed-1].T, nil
}

func (v *venue) Follow([]deploy.Sub) {}

func (v *venue) now() time.Time {
	v.mu.Lock()
	defer v.mu.Unlock()
	return time.Unix(v.bars[v.closed-1].T+300, 0)
}

func (v *venue) close(n int) market.Bar {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.closed = n
	return v.bars[n-1]
}

// walk makes bars of five minutes.
func walk(n int, seed uint64) []market.Bar {
	r := rand.New(rand.NewPCG(seed, 5))
	cents := func(x float64) float64 { return math.Round(x*100) / 100 }
	bars, last := make([]market.Bar, n), 100.0
	for i := range bars {
		o := cents(last + r.NormFloat64()*0.1)
		c := cents(max(20, o+r.NormFloat64()))
		bars[i] = market.Bar{T: 1_700_000_100 + int64(i)*300, O: o, H: cents(max(o, c) + r.Float64()), L: cents(min(o, c) - r.Float64()), C: c, V: 1000}
		last = c
	}
	return bars
}

// programs compiles scripts.
type programs struct{}

func (programs) Program(_ context.Context, _ principal.Owner, t *deploy.Terms) (deploy.Made, error) {
	checked, found := pine.Check(t.Program.Script, nil)
	if checked == nil {
		return deploy.Made{}, fmt.Errorf("%v", found)
	}
	return deploy.Made{
		Program: &backtest.Script{
			Program: checked.Program, Tick: 0.01, Step: t.Step.InexactFloat64(), Paper: &backtest.PaperCosts{Commission: 0.1, Slippage: 0.05},
			Env: eval.Env{Interval: t.Interval, Limits: eval.AlertLimits()},
		},
		Tick: t.Tick, Step: t.Step,
		Closes: func(open int64) time.Time { return time.Unix(open+300, 0) },
	}, nil
}

const script = `//@version=6
strategy("x", initial_capital = 10000, default_qty_type = strategy.percent_of_equity, default_qty_value = 50)
if ta.crossover(ta.sma(close, 3), ta.sma(close, 9))
    strategy.entry("L", strategy.long)
    strategy.exit("X", "L", profit = 150, loss = 120)
if close < ta.lowest(close, 20)[1]
    strategy.entry("D", strategy.long, limit = close - 0.6)
strategy.exit("XD", "D", trail_points = 80, trail_offset = 60, loss = 200)
if ta.crossunder(ta.sma(close, 3), ta.sma(close, 9))
    strategy.close_all()`

func termsOf(v *venue, from int) deploy.Terms {
	return deploy.Terms{
		Program: deploy.Program{Script: script}, Symbol: market.Symbol{Venue: "test", Name: "BTCUSDT"}, Interval: market.Minute5,
		Account: deploy.Account{Capital: decimal.NewFromInt(10_000), Size: deploy.SizeScript, FeeBps: decimal.NewFromInt(10), SlipBps: decimal.NewFromInt(5)}, Quote: "USDT", Tick: decimal.New(1, -2), Step: decimal.New(1, -5),
		From: v.bars[from].T, First: v.bars[0].T, Engine: backtest.Engine,
	}
}

// process is a process that runs the deployments of a store.
type process struct {
	*deploy.Deployments
	stop context.CancelFunc
	done chan error
}

func config(j *journals, v *venue, now func() time.Time) deploy.Config {
	return deploy.Config{Owner: owner, Journal: j, Programs: programs{}, Bars: v, Log: slog.New(slog.DiscardHandler), Now: now}
}

func start(t *testing.T, j *journals, v *venue) *process {
	t.Helper()
	return startWith(t, config(j, v, v.now))
}

// startWith starts a process. killer gets what ends it before it runs.
func startWith(tb testing.TB, cfg deploy.Config, killer ...func(stop func())) *process {
	tb.Helper()
	ctx, stop := context.WithCancel(tb.Context())
	for _, k := range killer {
		k(stop)
	}
	p := &process{stop: stop, done: make(chan error, 1), Deployments: deploy.New(cfg)}
	ready := make(chan struct{})
	go func() { p.done <- p.Run(ctx, ctx, func() { close(ready) }) }()
	select {
	case <-ready:
	case err := <-p.done:
		tb.Fatal(err)
	}
	tb.Cleanup(p.kill)
	return p
}

func (p *process) kill() { p.stop(); <-p.done; p.done <- nil }

// intents returns what is recorded in a journal: each bar with intents, and each key.
func (j *journals) intents(t *testing.T, name string) (bars []string, keys []string) {
	t.Helper()
	for data := range j.Journal(t.Context(), owner, name) {
		var e struct {
			Kind    string
			Block   []byte
			Intents []deploy.Intent
		}
		if err := json.Unmarshal(data, &e); err != nil {
			t.Fatal(err)
		}
		if e.Kind != "bar" {
			continue
		}
		text, _ := json.Marshal(e.Intents)
		bars = append(bars, fmt.Sprintf("%x: %s", e.Block, text))
		for _, i := range e.Intents {
			keys = append(keys, i.Key)
		}
	}
	return bars, keys
}

// settled waits until a deployment has computed the newest bar.
func (p *process) settled(t *testing.T, id string, through int64) deploy.Deployment {
	t.Helper()
	for {
		d, err := p.Synced(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if d.Through >= through || d.State != deploy.Running {
			return d
		}
	}
}

// TestRun_KilledAnywhereRecordsTheSame holds that a deployment which is killed at any append records the same intents,
// with the same keys, as one that is never killed, and none twice.
func TestRun_KilledAnywhereRecordsTheSame(t *testing.T) {
	t.Parallel()
	const bars, from, begun = 420, 60, 120
	whole, id := newJournals(), ""
	trade := func(j *journals, kill func(i int) bool) {
		v := &venue{bars: walk(bars, 7), closed: begun}
		p := start(t, j, v)
		d, err := p.Propose(t.Context(), "agent", deploy.Deployment{Name: "x", Terms: termsOf(v, from)})
		if err != nil {
			t.Fatal(err)
		}
		id = d.ID
		if _, err := p.Start(t.Context(), "owner", id, deploy.Shadow, nil); err != nil {
			t.Fatal(err)
		}
		for i := begun + 1; i <= bars; i++ {
			b := v.close(i)
			if kill(i) {
				p.kill()
				p = start(t, j, v)
			}
			p.Deliver(deploy.Sub{Symbol: d.Terms.Symbol, Interval: d.Terms.Interval}, b)
		}
		if d := p.settled(t, id, 0); d.State != deploy.Running || d.Bars < bars-64 {
			t.Fatalf("%+v", d)
		}
		p.kill()
	}
	trade(whole, func(int) bool { return false })
	want, keys := whole.intents(t, "strategy "+id)
	if len(want) < 40 {
		t.Fatalf("%d bars with intents test little", len(want))
	}
	slices.Sort(keys)
	if n := len(slices.Compact(slices.Clone(keys))); n != len(keys) {
		t.Errorf("%d keys, %d different ones", len(keys), n)
	}
	for _, every := range []int{3, 7, 30} {
		j := newJournals()
		trade(j, func(i int) bool { return i%every == 0 })
		got, _ := j.intents(t, "strategy "+id)
		if strip(t, got) != strip(t, want) {
			t.Errorf("killed every %d bars, %d bars have intents, not %d:\n%v\n%v", every, len(got), len(want), got[:3], want[:3])
		}
	}
}

// strip leaves out the keys, which depend on the id.
func strip(t *testing.T, bars []string) string {
	t.Helper()
	var out strings.Builder
	for _, b := range bars {
		at, text, _ := strings.Cut(b, " ")
		var intents []deploy.Intent
		if err := json.Unmarshal([]byte(text), &intents); err != nil {
			t.Fatal(err)
		}
		for i := range intents {
			intents[i].Key = ""
		}
		data, _ := json.Marshal(intents)
		fmt.Fprintln(&out, at, string(data))
	}
	return out.String()
}
