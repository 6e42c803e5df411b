package backtest

import (
	"context"
	"math"
	"slices"

	"candela/lib/backtest/performance"
	"candela/lib/backtest/simulate"
)

// Honesty says how far a result can be trusted. Every report carries it.
type Honesty struct {
	LookAhead  LookAhead
	StartShift StartShift
	Ambiguous  Ambiguous
	Costs      Costs
	Shuffle    performance.Shuffled
	Flags      []string // words of the flags below, worst first
}

// The flags that a report may raise.
const (
	FlagRepaints  = "repaints"          // a trade of the past changed when bars were added
	FlagStart     = "depends_on_start"  // entries well after a later start are others
	FlagAmbiguous = "ambiguous_bars"    // the assumed path inside bars decides the result
	FlagFew       = "few_trades"        // under 30 trades
	FlagNoCosts   = "zero_costs"        // neither commission nor slippage
	FlagInverted  = "costs_invert"      // the result is better at higher costs
	FlagMargin    = "refused_margin"    // entries that equity did not cover
	FlagSmall     = "refused_too_small" // entries of less than the least quantity
	FlagMidBar    = "unrealistic_fills" // computed in the middle of a bar, with a high, low and close that are not known then
	FlagRefused   = "orders_not_sent"   // the paper account had no cash for a purchase, or nothing to sell
	FlagIgnores   = "ignores_"          // before the name of a setting of a script that is not simulated
)

// LookAhead compares runs over prefixes of the bars with the run over all of them.
type LookAhead struct {
	Cuts    int
	Changed int      // cuts before which a trade was different
	First   []Change // at most three

	// Future reports that a script asks for values before they are known: here it runs
	// without them. Last reports that it trades otherwise on a chart, where it knows where
	// the bars end.
	Future, Last bool
}

// redraws reports whether past trades depend on later bars.
func (l *LookAhead) redraws() bool { return l.Changed > 0 || l.Future || l.Last }

// Change is a trade that differs when later bars are known.
type Change struct {
	Cut         int // bars that the prefix had
	Then, Later *simulate.Trade
}

// StartShift compares runs whose history and trading begin later.
type StartShift struct {
	Runs    int
	Changed int     // entries that differ in any of them, from 500 bars after the later start on
	Spread  float64 // largest change of the net result, percent of the capital
}

// Ambiguous counts trades that ended in a bar which held two prices for it, and the net
// result if the worse or the better one had come first.
type Ambiguous struct {
	Trades, Of       int
	Net, Worst, Best float64
}

// Costs is the net result at multiples of the costs, and the cost a side in basis points
// at which nothing is left.
type Costs struct {
	BreakEven float64
	Net       [4]float64           // at 0, 1, 2 and 3 times the costs
	Trades    [4]int               // closed
	Asked     [4]simulate.Requests // what became of the entries
}

// Inverted reports whether the result is better at higher costs, and the first multiple after which it is.
// Sizes and the room for margin depend on the equity, so the trades may be others.
func (c *Costs) Inverted() (times int, is bool) {
	for i := range len(c.Net) - 1 {
		if c.Net[i+1] > c.Net[i]+1e-9*math.Abs(c.Net[i]) {
			return i, true
		}
	}
	return 0, false
}

const (
	evenCuts  = 10
	eventCuts = 10
	fewTrades = 30
)

// Judgement says how a result is judged.
type Judgement struct {
	Seed uint64 // of what is random
	// Step is called after each of JudgedIn parts; may be nil.
	Step func(done int)
}

// JudgedIn is the number of parts in which a result is judged.
const JudgedIn = 5

// Judge runs the program again in the ways that show how far a result can be trusted.
func Judge(ctx context.Context, p Program, r *Run, how Judgement) (Honesty, error) {
	var h Honesty
	for i, part := range [JudgedIn]func() error{
		func() (err error) { h.LookAhead, err = lookAhead(ctx, p, r); return },
		func() (err error) { h.StartShift, err = startShift(ctx, p, r); return },
		func() (err error) { h.Ambiguous, err = ambiguous(ctx, p, r); return },
		func() (err error) { h.Costs, err = costs(ctx, p, r); return },
		func() error {
			if len(r.Trades) > 0 {
				h.Shuffle = performance.Shuffle(r.Profits(), how.Seed)
			}
			return nil
		},
	} {
		if err := part(); err != nil {
			return h, err
		}
		if how.Step != nil {
			how.Step(i + 1)
		}
	}
	h.Flags = flags(&h, r)
	if s, ok := p.(*Script); ok {
		if s.onFills() {
			h.Flags = append(h.Flags, FlagMidBar)
		}
		for _, name := range s.ignored() {
			h.Flags = append(h.Flags, FlagIgnores+name)
		}
	}
	return h, nil
}

func flags(h *Honesty, r *Run) []string {
	var out []string
	_, inverted := h.Costs.Inverted()
	for _, f := range []struct {
		name string
		is   bool
	}{
		{FlagRepaints, h.LookAhead.redraws()},
		{FlagStart, h.StartShift.Changed > 0},
		{FlagAmbiguous, h.Ambiguous.Worst < 0 && h.Ambiguous.Net > 0 || 10*h.Ambiguous.Trades > h.Ambiguous.Of},
		{FlagNoCosts, r.Config.Commission == 0 && r.Config.Slippage == 0 && r.Config.SlipPercent == 0},
		{FlagInverted, inverted},
		{FlagMargin, r.Asked.Margin.Count > 0},
		{FlagSmall, r.Asked.Small.Count > 0},
		{FlagFew, len(r.Trades) < fewTrades},
		{FlagRefused, r.Totals.Refused > 0},
	} {
		if f.is {
			out = append(out, f.name)
		}
	}
	return out
}

// lookAhead runs over prefixes: half of them spread evenly, half right after an entry.
func lookAhead(ctx context.Context, p Program, r *Run) (LookAhead, error) {
	out := LookAhead{}
	if s, ok := p.(*Script); ok {
		out.Future = s.asksFuture()
		if chart := s.onChart(r.Bars.Len()); chart != nil {
			run, err := over(ctx, chart, r.Config, r.Bars, r.From)
			if err != nil {
				return out, err
			}
			out.Last = differ(r, run, r.Bars.Len()) != nil
		}
	}
	for _, cut := range cuts(r) {
		head := r.Bars.Slice(0, cut)
		short, err := over(ctx, p, r.Config, &head, r.From)
		if err != nil {
			return out, err
		}
		out.Cuts++
		if c := differ(r, short, cut); c != nil {
			out.Changed++
			if len(out.First) < 3 {
				out.First = append(out.First, *c)
			}
		}
	}
	return out, nil
}

// cuts returns the lengths of the prefixes, ascending and without repeats.
func cuts(r *Run) []int {
	n := r.Bars.Len()
	var at []int
	for i := range evenCuts {
		at = append(at, r.From+(n-r.From)*(i+1)/(evenCuts+1))
	}
	for i := range min(eventCuts, len(r.Trades)) {
		at = append(at, r.Trades[i*len(r.Trades)/min(eventCuts, len(r.Trades))].EntryBar+1)
	}
	slices.Sort(at)
	at = slices.Compact(at)
	return slices.DeleteFunc(at, func(c int) bool { return c < r.From+2 || c >= n })
}

// differ returns the first trade that began before the cut and is not the same in both
// runs.
func differ(all, short *Run, cut int) *Change {
	then, later := known(short, cut), known(all, cut)
	for i := range max(len(then), len(later)) {
		switch {
		case i >= len(then):
			return &Change{Cut: cut, Later: &later[i]}
		case i >= len(later):
			return &Change{Cut: cut, Then: &then[i]}
		case then[i] != later[i]:
			return &Change{Cut: cut, Then: &then[i], Later: &later[i]}
		}
	}
	return nil
}

// known returns the trades of a run as they stood after the first bars: those closed by
// then, and those open without their exit.
func known(r *Run, bars int) []simulate.Trade {
	var out []simulate.Trade
	for _, t := range r.Trades {
		if t.EntryBar >= bars {
			continue
		}
		if t.ExitBar >= bars {
			t = entryOf(t.EntryID, t.EntryBar, t.EntryTime, t.EntryPrice, t.Side)
		}
		out = append(out, t)
	}
	for _, l := range r.Open {
		if l.Bar < bars {
			out = append(out, entryOf(l.ID, l.Bar, l.Time, l.Price, l.Side))
		}
	}
	slices.SortStableFunc(out, func(x, y simulate.Trade) int {
		if x.EntryBar != y.EntryBar {
			return x.EntryBar - y.EntryBar
		}
		return y.ExitBar - x.ExitBar
	})
	return slices.CompactFunc(out, func(x, y simulate.Trade) bool { return x.ExitBar == 0 && x == y })
}

func entryOf(id string, bar int, at int64, price float64, side simulate.Side) simulate.Trade {
	return simulate.Trade{EntryID: id, EntryBar: bar, EntryTime: at, EntryPrice: price, Side: side}
}

// settled is the number of bars after a later start from which entries must be the same. What a position
// does that one run already held and the other did not has passed by then, for nearly all strategies.
const settled = 500

// leastCompared is the fewest bars whose entries say something.
const leastCompared = 100

// startShift runs with histories and trading that begin later, as a call with a later start does, and
// compares the entries that come well after it.
func startShift(ctx context.Context, p Program, r *Run) (StartShift, error) {
	var out StartShift
	for _, s := range []int{1, 7, 50, 200} {
		from := r.From + s + settled
		if from+leastCompared > r.Bars.Len() {
			break
		}
		tail := r.Bars.Slice(s, r.Bars.Len())
		run, err := over(ctx, p, r.Config, &tail, r.From)
		if err != nil {
			return out, err
		}
		out.Runs++
		out.Changed = max(out.Changed, changed(entries(r, 0, from), entries(run, s, from)))
		if r.Config.Capital > 0 { // otherwise there is nothing that it is a part of
			out.Spread = max(out.Spread, math.Abs(run.Net-r.Net)/r.Config.Capital*100)
		}
	}
	return out, nil
}

type fill struct {
	bar   int
	price float64
	side  simulate.Side
}

// entries returns the entries from a bar on; shift is the bar at which the run began.
func entries(r *Run, shift, from int) map[fill]bool {
	out := map[fill]bool{}
	for _, t := range r.Trades {
		if t.EntryBar+shift >= from {
			out[fill{t.EntryBar + shift, t.EntryPrice, t.Side}] = true
		}
	}
	return out
}

// changed counts the entries that only one of two runs has.
func changed(x, y map[fill]bool) int {
	n := 0
	for f := range x {
		if !y[f] {
			n++
		}
	}
	for f := range y {
		if !x[f] {
			n++
		}
	}
	return n
}

// ambiguous runs with stops first and with targets first.
func ambiguous(ctx context.Context, p Program, r *Run) (Ambiguous, error) {
	out := Ambiguous{Of: len(r.Trades), Net: r.Net, Worst: r.Net, Best: r.Net}
	for _, t := range r.Trades {
		if t.Ambiguous {
			out.Trades++
		}
	}
	if out.Trades == 0 {
		return out, nil
	}
	for _, path := range []simulate.Path{simulate.Adverse, simulate.Favourable} {
		cfg := r.Config
		cfg.Path = path
		run, err := over(ctx, p, cfg, r.Bars, r.From)
		if err != nil {
			return out, err
		}
		out.Worst, out.Best = min(out.Worst, run.Net), max(out.Best, run.Net)
	}
	return out, nil
}

// costs runs at multiples of the costs.
func costs(ctx context.Context, p Program, r *Run) (Costs, error) {
	var out Costs
	for times := range out.Net {
		if times == 1 {
			out.Net[1], out.Trades[1], out.Asked[1] = r.Net, len(r.Trades), r.Asked
			continue
		}
		cfg := r.Config
		cfg.Commission *= float64(times)
		cfg.Slippage *= times
		cfg.SlipPercent *= float64(times)
		run, err := over(ctx, p, cfg, r.Bars, r.From)
		if err != nil {
			return out, err
		}
		out.Net[times], out.Trades[times], out.Asked[times] = run.Net, len(run.Trades), run.Asked
	}
	var turnover float64
	for _, t := range r.Trades {
		turnover += t.Quantity * (t.EntryPrice + t.ExitPrice) * r.Config.PointValue
	}
	if turnover > 0 {
		out.BreakEven = out.Net[0] / turnover * 10000
	}
	return out, nil
}
