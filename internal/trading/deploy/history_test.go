package deploy_test

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/kit/principal"
	"candela/internal/testkit/longtest"
	"candela/internal/trading/broker"
	"candela/internal/trading/broker/brokertest"
	"candela/internal/trading/deploy"
	"candela/internal/trading/desk/desktest"
	"candela/internal/trading/order"
	"candela/lib/backtest"
	"candela/lib/market"
	"candela/lib/pine"
	"candela/lib/pine/check"
	"candela/lib/pine/eval"
)

// wanting are scripts that decide by the last digit of a price, so that each bar may want anything.
var wanting = [...]string{
	`if x < 3
    strategy.entry("L", strategy.long)
strategy.exit("X", "L", profit = 90, loss = 120)
if x > 6
    strategy.close_all()`,
	`if x < 4
    strategy.entry("D", strategy.long, limit = close - 0.4)
if x == 9
    strategy.cancel("D")
strategy.exit("XD", "D", trail_points = 60, trail_offset = 40, loss = 150)`,
	`if x < 5
    strategy.entry("U", strategy.long, stop = close + 0.3)
if strategy.position_size > 0
    strategy.exit("A", "U", qty_percent = 50, stop = low - 0.3, limit = high + 0.4)
    strategy.exit("B", "U", stop = low - 0.9)`,
	`if x < 5
    strategy.entry("P" + str.tostring(x), strategy.long, qty = 3 + x)
if x == 6
    strategy.close("P1")
if x > 7
    strategy.close_all()`,
	`if x < 3
    strategy.order("O", strategy.long, qty = 7)
if x == 3
    strategy.order("S", strategy.short, qty = 4)
if strategy.position_size > 0
    strategy.exit("E", stop = strategy.position_avg_price - 1, limit = strategy.position_avg_price + 0.8)
if x == 9
    strategy.entry("F", strategy.short)`,
}

// minutePrograms compiles these scripts for bars of a minute, each once.
type minutePrograms struct {
	mu    sync.Mutex
	cache map[string]*pine.Program
}

func (p *minutePrograms) Program(_ context.Context, _ principal.Owner, t *deploy.Terms) (deploy.Made, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	checked := p.cache[t.Program.Script]
	if checked == nil {
		var found []check.Diagnostic
		if checked, found = pine.Check(t.Program.Script, nil); checked == nil {
			return deploy.Made{}, fmt.Errorf("%v", found)
		}
		p.cache[t.Program.Script] = checked
	}
	return deploy.Made{
		Program: &backtest.Script{
			Program: checked.Program, Tick: 0.01, Step: t.Step.InexactFloat64(), Paper: &backtest.PaperCosts{Commission: 0.1, Slippage: 0.05},
			Env: eval.Env{Interval: t.Interval, Limits: eval.AlertLimits()},
		},
		Tick: t.Tick, Step: t.Step, Closes: func(open int64) time.Time { return time.Unix(open+shortBar, 0) },
	}, nil
}

// history is a random history of strategies on one account: the venue fails, is silent, repeats and delays what it says,
// fills orders in part, and the process is killed; the owner trades by hand beside them.
var oneHistory = flag.Uint64("history", 0, "run the history of this seed, which a failure printed")

type history struct {
	*account
	random  *rand.Rand
	log     []string
	at      *brokertest.Memory
	bars    *venue
	j       *journals
	through *dying
	cfg     deploy.Config
	p       *process
	ids     []string
	had     map[string]decimal.Decimal // by a strategy at the close before, with what its open entries may bring
	old     []order.Report             // as the venue had them once
	silent  bool
	failing bool      // a request fails, now or later
	trouble time.Time // until which a request may have failed
	seen    *histories
}

// histories is what all of them came to.
type histories struct {
	ran, closes, held, less, excused, fills, kills int
	entries                                        int
	causes                                         map[string]int
	steps                                          map[string]int
	did                                            map[string]int
	denied                                         *refusals
}

// refusals are denials of strategies that run at the same time.
type refusals struct {
	mu sync.Mutex
	denials
}

func (r *refusals) WithAttrs([]slog.Attr) slog.Handler { return r }

func (r *refusals) Handle(ctx context.Context, record slog.Record) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.denials.Handle(ctx, record)
}

const (
	historyBegun = 12               // bars before the start
	historyCalm  = 7                // bars at the end without trouble
	settling     = 4 * time.Minute  // after trouble, within which an outcome may still be unknown
	following    = 12 * time.Second // after a close, within which an entry is not late
)

// TestHistories_BookFollowsTheModel runs random histories. At each close no book of a strategy is above its model or on the
// other side, unless requests fail; what the strategies and the owner hold is what the account has; and at the end the
// steps of the drift add up to the gap.
func TestHistories_BookFollowsTheModel(t *testing.T) {
	t.Parallel()
	seen := &histories{causes: make(map[string]int), steps: make(map[string]int), did: make(map[string]int), denied: &refusals{denials: make(denials)}}
	made := &minutePrograms{cache: make(map[string]*pine.Program)}
	ends, bounded := t.Deadline()
	for n := range longtest.Pick(18, 100_000) {
		if bounded && time.Until(ends) < 20*time.Second {
			break // what ran is in the log
		}
		seed := longtest.Seed()<<20 + uint64(n)
		if *oneHistory != 0 {
			seed = *oneHistory
		}
		synctest.Test(t, func(t *testing.T) { runHistory(t, seed, made, seen) })
		if t.Failed() {
			break
		}
	}
	t.Logf("%+v, refused %v", *seen, seen.denied.denials)
	for _, what := range []string{"fault", "silence", "kill", "part", "duplicate", "late", "by hand", "lost stream", "ended", "not written"} {
		if seen.did[what] == 0 {
			t.Errorf("never: %s", what)
		}
	}
}

func runHistory(t *testing.T, seed uint64, made *minutePrograms, seen *histories) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 47))
	h := &history{random: r, had: make(map[string]decimal.Decimal), seen: seen, at: brokertest.NewMemory()}
	h.opened(t)
	defer func() {
		h.p.kill()
		h.stop()
		if t.Failed() {
			t.Logf("seed %d: %s", seed, strings.Join(h.log, "; "))
		}
	}()
	h.begin(made)
	for i := historyBegun; i < len(h.bars.bars)-1; i++ {
		calm := i >= len(h.bars.bars)-1-historyCalm
		if calm {
			h.calm()
		}
		h.bar(i, !calm)
		if t.Failed() {
			return
		}
	}
	h.finish()
	seen.ran++
}

// opened opens the account at a venue of some manner.
func (h *history) opened(t *testing.T) {
	t.Helper()
	manner := []brokertest.Manner{brokertest.LikeBinance, brokertest.LikeAlpaca}[h.random.IntN(2)]
	h.at.Behave(manner)
	if h.random.IntN(3) == 0 {
		h.note("fees in what is bought")
		h.at.FeeInBase()
	}
	h.account = &account{
		t: t, prices: &desktest.Market{}, store: desktest.NewStore(), step: decimal.New(1, -5), stage: deploy.Live, least: decimal.NewFromInt(5),
		symbol: brokertest.MemorySymbol(), open: func() broker.Broker { return h.at },
		set: func(price decimal.Decimal) { h.at.SetPrice(price); _, _ = h.at.Holdings(t.Context()) }, // what is late arrives when somebody asks
	}
	h.price(100)
	h.start()
}

// begin starts one or two strategies.
func (h *history) begin(made *minutePrograms) {
	h.t.Helper()
	h.bars = &venue{bars: h.walk(historyBegun + 6 + h.random.IntN(10) + historyCalm + 1), closed: historyBegun}
	h.price(h.bars.bars[historyBegun-1].C)
	time.Sleep(2 * time.Second)
	h.j = newJournals()
	h.through = &dying{Desk: h.Desk, journals: h.j, at: func(int) (before, after bool) { return false, false }}
	h.cfg = deploy.Config{Owner: owner, Journal: h.through, Programs: made, Bars: h.bars, Log: slog.New(h.seen.denied), Now: time.Now}
	h.cfg.Brokers = h.brokers(h.through)
	h.p = startWith(h.t, h.cfg, h.through.mayKill)
	for n, w := range h.random.Perm(len(wanting))[:1+h.random.IntN(2)] {
		terms := termsOf(h.bars, 0)
		terms.Symbol, terms.Step, terms.Interval = h.symbol, h.step, market.Minute1
		h.note("strategy %d is %d", n, w)
		terms.Program.Script = "//@version=6\nstrategy(\"x\", initial_capital = 10000, default_qty_type = strategy.percent_of_equity, default_qty_value = 30, pyramiding = 2)\n" +
			"x = int(math.round(close * 100)) % 10\n" + wanting[w]
		d, err := h.p.Propose(h.t.Context(), "agent", deploy.Deployment{Name: fmt.Sprint("x", n), Terms: terms})
		if err == nil {
			_, err = h.p.Start(h.t.Context(), "owner", d.ID, h.stage, &deploy.Limits{Cap: decimal.NewFromInt(40_000)})
		}
		if err != nil {
			h.t.Fatal(err)
		}
		h.ids = append(h.ids, d.ID)
	}
	var mu sync.Mutex
	crash := rand.New(rand.NewPCG(h.random.Uint64(), 1))
	mortal := h.random.IntN(2) == 0
	h.through.mu.Lock()
	h.through.at = func(int) (before, after bool) {
		mu.Lock()
		defer mu.Unlock()
		if !mortal || crash.IntN(12) > 0 {
			return false, false
		}
		after = crash.IntN(2) == 0
		return !after, after
	}
	h.through.mu.Unlock()
}

// walk makes bars of a minute that may open away from the close before, the first of them before now.
func (h *history) walk(n int) []market.Bar {
	cents := func(x float64) float64 { return math.Round(x*100) / 100 }
	bars, last := make([]market.Bar, n), 100.0
	first := (time.Now().Unix()/shortBar + 1 - historyBegun) * shortBar
	for i := range bars {
		o := last
		if h.random.IntN(4) == 0 {
			o = cents(o + h.random.NormFloat64()*0.3)
		}
		c := cents(o + h.random.NormFloat64()*0.6)
		bars[i] = market.Bar{T: first + int64(i)*shortBar, O: o, H: cents(max(o, c) + h.random.Float64()*0.4), L: cents(min(o, c) - h.random.Float64()*0.4), C: c, V: 1000}
		last = c
	}
	return bars
}

func (h *history) note(format string, args ...any) {
	h.log = append(h.log, fmt.Sprintf(format, args...))
}

// bar trades a bar, perhaps with trouble, closes it, and looks at the books once they have had the time to follow.
func (h *history) bar(i int, trouble bool) {
	h.t.Helper()
	b := h.bars.bars[i]
	h.note("bar %d %v/%v/%v/%v", i, b.O, b.H, b.L, b.C)
	h.price(b.O)
	path := []float64{b.L, b.H}
	if math.Abs(b.H-b.O) < math.Abs(b.O-b.L) {
		path = []float64{b.H, b.L}
	}
	closes := time.Unix(b.T+shortBar, 0)
	for _, x := range path {
		time.Sleep(time.Until(closes) / 3)
		if h.random.IntN(8) > 0 { // the venue need not trade at each price that its bar has
			h.price(x)
		}
		if trouble && h.random.IntN(2) == 0 {
			h.happen()
		}
		h.revive()
	}
	time.Sleep(time.Until(closes))
	h.price(b.C)
	h.bars.close(i + 1)
	if h.random.IntN(8) > 0 { // else it is read by its strategy
		h.p.Deliver(deploy.Sub{Symbol: h.symbol, Interval: market.Minute1}, b)
	}
	for range 2 {
		time.Sleep(following / 2)
		h.revive()
	}
	h.compare(i)
	if h.failing { // what has met no request is over
		h.failing = false
		h.at.Calm()
		h.troubled()
	}
}

// compare holds the books beside their models.
func (h *history) compare(i int) {
	h.t.Helper()
	excused := h.silent || h.failing || h.halted() || time.Now().Before(h.trouble)
	for _, id := range h.ids {
		d, err := h.p.Synced(h.t.Context(), id)
		if err != nil || h.through.dead.Load() { // killed this moment
			h.revive()
			if d, err = h.p.Get(h.t.Context(), id); err != nil {
				h.t.Fatal(err)
			}
		}
		if d.State != deploy.Running || d.Model == nil {
			if excused {
				continue
			}
			h.t.Fatalf("bar %d: %+v", i, d)
		}
		has, err := h.DeploymentPart(h.t.Context(), id, h.symbol)
		if err != nil {
			h.t.Fatal(err)
		}
		most := d.Model.Target
		if rest := has.Sub(most); rest.IsPositive() && rest.Mul(decimal.NewFromFloat(h.bars.bars[i].C*0.95)).LessThan(h.least) {
			most = has // the venue does not let it sell so little, or did not at a price before
		}
		h.seen.closes++
		switch above := has.GreaterThan(most); {
		case has.IsNegative() || above && (!excused || has.GreaterThan(h.had[id])):
			h.t.Errorf("bar %d: the book of %s has %s, might have had %s, and the model %s", i, id, has, h.had[id], d.Model.Target)
		case above:
			h.seen.excused++
		case has.LessThan(d.Model.Target):
			h.seen.less++
		}
		if has.IsPositive() {
			h.seen.held++
		}
		h.had[id] = has
		for _, o := range h.store.Book(owner).Open() {
			if o.Deployment == id && !o.ReduceOnly && o.Parent == "" {
				h.had[id] = h.had[id].Add(o.Quantity.Sub(o.Filled))
			}
		}
	}
	if !excused {
		h.add(i)
	}
}

// add holds that what the strategies and the owner hold is what the account has.
func (h *history) add(i int) {
	h.t.Helper()
	sums := make(map[string]decimal.Decimal) // by deployment
	for _, o := range h.store.Book(owner).Orders() {
		for _, f := range o.Fills {
			q := f.Quantity.Mul(decimal.NewFromInt(f.Side.Sign()))
			if f.FeeAsset == "BTC" {
				q = q.Sub(f.Fee)
			}
			sums[o.Deployment] = sums[o.Deployment].Add(q)
		}
	}
	all, err := h.at.Holdings(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	has := decimal.Zero
	for _, a := range all {
		if a.Asset == "BTC" {
			has = a.Quantity
		}
	}
	left := has.Sub(sums[""])
	for _, id := range h.ids {
		book, _, err := h.DeploymentBook(h.t.Context(), id, h.symbol)
		if err != nil {
			h.t.Fatal(err)
		}
		q := book.Position(h.symbol).Quantity
		if left = left.Sub(q); !book.Released && !q.Equal(sums[id]) {
			h.t.Errorf("bar %d: the book of %s has %s, and its fills come to %s", i, id, q, sums[id])
		}
	}
	if !left.IsZero() {
		h.t.Errorf("bar %d: the account has %s, of which %s belong to nobody: %v", i, has, left, sums)
	}
}

// finish ends the strategies, and explains what their accounts earned.
func (h *history) finish() {
	h.t.Helper()
	h.through.mu.Lock()
	h.through.at = func(int) (before, after bool) { return false, false }
	h.through.mu.Unlock()
	for _, id := range h.ids {
		is := checkDrift(h.t, h.account, h.p.Deployments, id)
		h.seen.entries += is.Entries
		for cause, n := range is.Causes {
			h.seen.causes[cause] += n
		}
		for _, s := range is.Steps {
			h.seen.steps[strings.TrimSpace(s.Name+" "+s.Cause)]++
		}
	}
	h.add(-1)
	for _, id := range h.ids {
		closes := h.random.IntN(2) == 0
		h.note("stop, close: %t", closes)
		if _, err := h.p.Stop(h.t.Context(), "owner", id, closes); err != nil {
			h.t.Fatal(err)
		}
		time.Sleep(time.Minute)
		h.stopped(id, closes)
	}
}

// stopped holds that a strategy that was stopped has nothing any more, and no order that opens.
func (h *history) stopped(id string, closes bool) {
	h.t.Helper()
	d, err := h.p.Get(h.t.Context(), id)
	if err != nil || d.State != deploy.Stopped {
		h.t.Errorf("%+v, %v", d, err)
	}
	book, has, err := h.DeploymentBook(h.t.Context(), id, h.symbol)
	if err != nil || !has.IsZero() || !book.Released {
		h.t.Errorf("a strategy that was stopped has %s: %+v, %v", has, book, err)
	}
	for _, o := range h.store.Book(owner).Orders() {
		h.seen.fills += len(o.Fills)
		if o.Deployment == id && !o.Status.Final() && (closes || !o.ReduceOnly) {
			h.t.Errorf("a strategy that was stopped has the order %+v", o)
		}
	}
}
