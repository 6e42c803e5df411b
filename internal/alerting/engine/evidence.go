package engine

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/alerting/evaluate"
	"candela/internal/kit/principal"
	"candela/internal/trading/order"
	"candela/lib/fault"
	"candela/lib/market"
	"candela/lib/ta"
)

const (
	heldBars  = 100                    // at which a claim is judged, to say at how many it was true
	newestFor = time.Second            // how long a claim waits for a bar that has just closed
	newestAsk = 100 * time.Millisecond // between two looks for it
)

// Judge says which claims about instruments are true at their newest closed bars, with the values of charts. s is the
// instrument of claims that name none. It ends with ctx; what is not known then is unknown.
func (e *Engine) Judge(ctx context.Context, owner principal.Owner, s market.Symbol, claims []order.Claim) []order.Evidence {
	all := make([]order.Evidence, len(claims))
	var work sync.WaitGroup
	for i, c := range claims {
		work.Go(func() { all[i] = e.judgeClaim(ctx, owner, s, c) })
	}
	work.Wait()
	for _, one := range all {
		e.verdicts.count(one)
	}
	return all
}

// verdicts counts what was found of claims. It is safe for concurrent use.
type verdicts struct{ yes, no, unknown atomic.Uint64 }

func (v *verdicts) count(e order.Evidence) {
	switch {
	case !e.Known:
		v.unknown.Add(1)
	case e.True:
		v.yes.Add(1)
	default:
		v.no.Add(1)
	}
}

// counts returns how many claims were found true, false and unknown since the start.
func (v *verdicts) counts() map[string]uint64 {
	return map[string]uint64{"true": v.yes.Load(), "false": v.no.Load(), "unknown": v.unknown.Load()}
}

// judgeClaim judges one claim.
func (e *Engine) judgeClaim(ctx context.Context, owner principal.Owner, s market.Symbol, c order.Claim) order.Evidence {
	want := alert.Alert{Owner: owner, Symbol: s, Interval: c.Interval}
	if !c.Symbol.IsZero() {
		want.Symbol = c.Symbol
	}
	if err := want.Condition.UnmarshalJSON(c.Condition); err != nil {
		return unjudged(c, "The condition cannot be read: "+err.Error())
	}
	if err := want.Normalize(e.cfg.Library); err != nil {
		return unjudged(c, fault.Of(err).Message)
	}
	instrument, err := e.canonical(ctx, want.Symbol)
	if err != nil {
		return unread(c, err)
	}
	p, err := e.resolveListing(ctx, instrument)
	if err != nil {
		return unread(c, err)
	}
	if p.caps.Synthetic && p.symbol.Venue != s.Venue {
		return unjudged(c, "The prices of "+p.symbol.Venue+" are made up: they are no reason for an order at another venue.")
	}
	if want.Instrument = p.symbol; want.Interval == 0 {
		return e.judgePrice(ctx, p, c, &want.Condition)
	}
	return e.judgeBars(ctx, p, c, &want)
}

// unjudged is the evidence of a claim that cannot be judged, however often it is asked.
func unjudged(c order.Claim, missing string) order.Evidence {
	return order.Evidence{Claim: c, Missing: missing}
}

// unread is the evidence of a claim whose market could not be read.
func unread(c order.Claim, err error) order.Evidence {
	if kind := fault.KindOf(err); kind == fault.Invalid || kind == fault.NotFound {
		return unjudged(c, fault.Of(err).Message)
	}
	return c.Unanswered("The market could not be read in time.")
}

// judgePrice compares the last price with a threshold.
func (e *Engine) judgePrice(ctx context.Context, p *listing, c order.Claim, want *alert.Condition) order.Evidence {
	q, err := e.Quote(ctx, p.symbol)
	if err != nil {
		return unread(c, err)
	}
	holds := q.Last.GreaterThanOrEqual(want.Threshold)
	if want.Type == alert.PriceBelow {
		holds = q.Last.LessThanOrEqual(want.Threshold)
	}
	return order.Evidence{Claim: c, Known: true, True: holds, Value: q.Last.String(), Against: want.Threshold.String(), Bar: q.At.UTC(), MarketClosed: q.MarketClosed}
}

// judgeBars judges a condition on the newest closed bars.
func (e *Engine) judgeBars(ctx context.Context, p *listing, c order.Claim, want *alert.Alert) order.Evidence {
	j := &barJudge{claim: c, want: want, listing: p, probe: alert.NewProbe(e.cfg.Library, want), count: heldBars}
	depth := make(map[market.Interval]int)
	for g := range j.probe.Groups() {
		ev := evaluate.New(g.Selection, p.env(cmp.Or(g.Longer, want.Interval)))
		depth[g.Longer] = max(depth[g.Longer], ev.Depth())
		if !ev.Streams() {
			j.whole, j.count = true, min(j.count, c.Newest())
		}
		j.indicators = append(j.indicators, g)
	}
	if !c.At.IsZero() && want.Condition.Happens() {
		if j.at, j.count = c.At, heldBars; j.whole {
			j.count = previewWhole
		}
	}
	j.bars = e.newestBars(ctx, p, want.Interval, max(1, depth[0])+j.count)
	if j.bars == nil || !e.previewLonger(ctx, p, j.bars, want.Condition.Longer(), depth, j.count) {
		return c.Unanswered("The bars could not be read in time.")
	}
	for _, bars := range append([]*loadedBars{j.bars}, j.bars.longer...) {
		if last := bars.closed.Len() - 1; last < 0 || bars.closed.T[last] != e.newestOpen(p, bars.interval) {
			return c.Unanswered("The newest closed bar on " + bars.interval.String() + " has not arrived.")
		}
	}
	e.previewAll(ctx, want.Owner, j.bars, j.indicators, j.bars.closeUnix(max(0, j.bars.closed.Len()-1-j.count)))
	return j.judge()
}

// newestOpen returns when the newest bar opened that has closed by now.
func (e *Engine) newestOpen(p *listing, i market.Interval) int64 {
	now := p.clock.Unix(e.cfg.Now())
	span := p.calendar.Prev(i, now+1)
	if span.Close > now {
		span = p.calendar.Prev(i, span.Open)
	}
	return span.Open
}

// newestBars is recentBars that waits a moment for the bar that has just closed.
func (e *Engine) newestBars(ctx context.Context, p *listing, i market.Interval, total int) *loadedBars {
	ends := time.Now().Add(newestFor)
	for {
		got := e.recentBars(ctx, p, i, total)
		if got != nil && got.closed.Len() > 0 && got.closed.T[got.closed.Len()-1] == e.newestOpen(p, i) || time.Now().After(ends) {
			return got
		}
		select {
		case <-ctx.Done():
			return got
		case <-time.After(newestAsk):
		}
	}
}

// barJudge judges one claim over loaded bars.
type barJudge struct {
	claim      order.Claim
	want       *alert.Alert
	listing    *listing
	probe      *alert.Probe
	indicators []alert.Group
	bars       *loadedBars
	count      int       // of the bars that are judged
	whole      bool      // an indicator computes all bars for each of them
	at         time.Time // close of the only bar that counts; zero for the newest ones
}

// judge finds the newest bar at which the claim is true.
func (j *barJudge) judge() order.Evidence {
	for _, ev := range j.bars.evaluators {
		if err := ev.Failed(); err != nil {
			return unjudged(j.claim, "A script failed: "+fault.Clean(err.Error(), fault.MaxForeign))
		}
	}
	if len(j.bars.frames) == 0 || j.bars.firstEvaluated+len(j.bars.frames) < j.bars.closed.Len() {
		return j.claim.Unanswered("The scripts of this owner use all the time that they may.")
	}
	out := order.Evidence{Claim: j.claim}
	newest := len(j.bars.frames) - 1
	decided := false
	for i := newest; i >= 0; i-- {
		found := j.judgeAt(i)
		if found.Truth != alert.Unknown && !j.whole {
			out.Of++
		}
		if found.Truth == alert.True && !j.whole {
			out.Held++
		}
		if decided || !j.counts(i, newest) {
			continue
		}
		if first := out.Bar.IsZero(); first || found.Truth == alert.True || found.Truth == alert.Unknown && out.Known {
			j.take(&out, found, i, newest)
		}
		decided = out.True
	}
	out.Anchored = j.bars.anchored()
	if out.Bar.IsZero() {
		return unjudged(j.claim, "The bar at which it was true is too old to be judged again.")
	}
	return out
}

// counts reports whether the claim is about a bar.
func (j *barJudge) counts(i, newest int) bool {
	if !j.at.IsZero() {
		return j.bars.frames[i].closed.Equal(j.at)
	}
	return newest-i < j.claim.Newest()
}

// judgeAt judges the condition at a bar.
func (j *barJudge) judgeAt(i int) alert.Finding {
	f := j.bars.show(j.probe, i)
	scene := alert.Scene{Bar: f.bar, Prev: f.prev, Closed: f.closed, Seen: j.bars.firstEvaluated + i + 1, Env: j.listing.env(j.want.Interval)}
	for _, bars := range j.bars.longer {
		if scene.Longer == nil {
			scene.Longer = make(map[market.Interval]int, len(j.bars.longer))
		}
		scene.Longer[bars.interval] = bars.closed.Len()
	}
	return j.probe.Judge(&scene)
}

// take sets the evidence to what was found at a bar.
func (j *barJudge) take(out *order.Evidence, found alert.Finding, i, newest int) {
	out.Known, out.True = found.Truth != alert.Unknown, found.Truth == alert.True
	out.Value, out.Against = shortest(found.Value), shortest(found.Against)
	out.Bar, out.BarsAgo = j.bars.frames[i].closed.UTC(), newest-i
	out.Missing, out.Parts = "", nil
	if !out.Known {
		out.Missing = j.missing(found.Lacks)
	}
	texts := j.want.Condition.Texts()
	for k, part := range found.Parts {
		out.Parts = append(out.Parts, order.Part{
			Text: texts[k], Known: part.Truth != alert.Unknown, True: part.Truth == alert.True, Value: shortest(part.Value), Against: shortest(part.Against),
		})
	}
}

// missing says what an indicator needs.
func (j *barJudge) missing(lacks *ta.Selection) string {
	on := j.want.Symbol.String() + " on " + j.want.Interval.String()
	if lacks == nil {
		return "A price of " + on + " is missing."
	}
	name := lacks.Label()
	if d := lacks.Def; d.Version != "" { // whose label is in the words of its author
		name = "the script " + d.Name
	}
	first, _ := lacks.Warmup(j.listing.env(j.want.Interval))
	if has := j.bars.closed.Len(); has <= first {
		return fmt.Sprintf("%s of %s needs %d closed bars and the venue has %d. Use a shorter average or interval.", name, on, first+1, has)
	}
	return name + " of " + on + " has no value at this bar."
}

// shortest writes a value as the shortest decimal that reads back as the same, "" for none.
func shortest(x float64) string {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return ""
	}
	return strconv.FormatFloat(x, 'f', -1, 64)
}
