package marketdata

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"candela/internal/data/provider"
	"candela/lib/fault"
	"candela/lib/market"
)

const (
	// keepBars is the number of closed bars to which a series is cut after it has grown
	// by growth more.
	keepBars = MaxRequestBars
	growth   = MaxRequestBars / 4

	// overhead is the cost of a series without bars, so that their number is bounded.
	overhead = 64

	// pastFresh is how long a series in the past is fresh: venues seldom revise it.
	pastFresh = 10 * time.Minute
	// idleFresh is how long cached bars are fresh while the market is closed.
	idleFresh = time.Minute
	// maxPause bounds the time before a failed read is repeated.
	maxPause = time.Minute
)

type seriesKey struct {
	provider, symbol string
	interval         market.Interval
	end              int64 // of a series in the past; 0 for the newest bars
}

// cachedSeries holds the bars of a series. It is immutable; a read creates a new one, which
// may share the memory of the bars: one read at a time appends, beyond the length of every
// older cachedSeries.
type cachedSeries struct {
	closed       market.Bars
	forming      market.Bar // the bar after closed; valid if hasForming
	hasForming   bool
	withForming  *withForming
	reachesStart bool // the venue has no older bars
	readAt       time.Time

	known     bool // the three fields below are valid
	calendar  market.Calendar
	name      string // the symbol as the provider spells it
	synthetic bool

	version   string // of the provider's files
	interval  market.Interval
	end       int64
	builtFrom market.Interval
	holes     []market.Gap // ascending

	failed error     // of the last read
	retry  time.Time // time of the next attempt after a failure
}

// readResult is the result of one read.
type readResult struct {
	held *cachedSeries
	want int
}

// isFresh reports whether the cached bars serve a request without a read. If closed bars alone
// are wanted, they do until another one closes.
func (h *cachedSeries) isFresh(want int, now time.Time, fresh time.Duration, closed bool) bool {
	switch {
	case h == nil:
		return false
	case h.failed != nil:
		return now.Before(h.retry)
	case h.count() < want && !h.reachesStart:
		return false
	}
	if closed && h.hasForming && now.Unix() < h.calendar.CloseOf(h.interval, h.forming.T) || h.end != 0 && !h.hasForming {
		return now.Sub(h.readAt) < pastFresh
	}
	if !h.hasForming && !h.calendar.RoundTheClock() {
		// Outside the session there is nothing new before the next one opens.
		if _, open := h.calendar.Bucket(h.interval, now.Unix()); !open {
			next := time.Unix(h.calendar.Next(h.interval, now.Unix()).Open, 0)
			fresh = max(fresh, min(idleFresh, next.Sub(h.readAt)))
		}
	}
	return now.Sub(h.readAt) < fresh
}

func (h *cachedSeries) count() int {
	if h.hasForming {
		return h.closed.Len() + 1
	}
	return h.closed.Len()
}

// canServeStale reports whether cached bars may answer after a failed read. "Symbol not
// found" is final, and fewer bars than requested would truncate the chart.
func (h *cachedSeries) canServeStale(r Request, err error) bool {
	if kind := fault.KindOf(err); kind == fault.NotFound || kind == fault.Invalid {
		return false
	}
	n := h.closed.Len()
	if r.End != 0 {
		n = h.closedBy(&h.closed, r.End)
	}
	return n >= r.Bars || h.reachesStart && n > 0
}

// closedBy returns how many of the bars had closed at a time.
func (h *cachedSeries) closedBy(bars *market.Bars, at int64) int {
	n := bars.Search(at)
	for n > 0 && h.calendar.CloseOf(h.interval, bars.T[n-1]) > at {
		n--
	}
	return n
}

// newest returns the last want bars with the forming one. After a failure, a forming bar
// that has ended is left out: its close was not read.
func (h *cachedSeries) newest(want int, now time.Time) (bars market.Bars, running bool) {
	if !h.hasForming {
		return h.closed.Tail(want), false
	}
	if span, ok := h.calendar.Bucket(h.interval, h.forming.T); h.failed != nil && (!ok || now.Unix() >= span.Close) {
		return h.closed.Tail(want), false
	}
	return h.withForming.tail(h, want), true
}

// withForming holds a copy of the newest bars with the forming one appended: the memory
// after the closed bars belongs to the next closed one. It is built once per read.
type withForming struct {
	mu   sync.Mutex
	bars market.Bars
}

func (j *withForming) tail(h *cachedSeries, want int) market.Bars {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.bars.Len() < min(want, h.count()) {
		last := h.closed.Tail(want - 1)
		bars := market.MakeBars(last.Len()+1, last.TakerBuy != nil)
		for i := range last.Len() {
			bars.Append(last.At(i))
		}
		bars.Append(h.forming)
		j.bars = bars
	}
	return j.bars.Tail(want)
}

// read updates a series. A failure is cached and not returned, so that the next requests
// do not query the venue at once.
func (s *Service) read(ctx context.Context, p provider.Provider, key seriesKey, r Request, version string) (readResult, error) {
	old, _ := s.bars.Get(key)
	if old == nil {
		old = &cachedSeries{interval: r.Interval, end: r.End}
	}
	next := *old
	if old.version != version { // nothing of the old files goes on
		next = cachedSeries{interval: r.Interval, end: r.End}
	}
	next.failed, next.withForming, next.version = nil, new(withForming), version
	err := s.update(ctx, p, &next, r)
	if err != nil {
		if errors.Is(ctx.Err(), context.Canceled) {
			return readResult{}, errStopping // or no caller waits any more
		}
		s.cfg.Log.WarnContext(ctx, "bar read failed", "provider", key.provider, "symbol", key.symbol, "interval", key.interval.String(), "error", err)
		next = *old
		next.version = version
		next.failed, next.retry = err, s.cfg.Now().Add(s.pause(err))
	}
	cost := overhead + cap(next.closed.T)
	if next.hasForming {
		cost += min(r.total(), next.closed.Len()) // of withForming
	}
	s.bars.Put(key, &next, cost)
	return readResult{&next, r.total()}, nil
}

// pause returns the time until a failed read is repeated: what the venue asked for, within
// bounds.
func (s *Service) pause(err error) time.Duration {
	if f := fault.Of(err); f != nil {
		return max(s.cfg.MaxAge, min(f.RetryAfter, maxPause))
	}
	return s.cfg.MaxAge
}

// update reads the new bars and then the missing older ones.
func (s *Service) update(ctx context.Context, p provider.Provider, h *cachedSeries, r Request) error {
	if err := h.loadInstrument(ctx, p, r.Symbol); err != nil {
		return err
	}
	query := provider.BarQuery{Symbol: r.Symbol, Interval: r.Interval, To: r.End}
	appended := false
	if r.End == 0 {
		var err error
		if appended, err = s.appendNew(ctx, p, h, query, r.total()); err != nil {
			return err
		}
	}
	if !appended {
		had := h.count()
		h.closed, h.hasForming, h.reachesStart, h.holes = market.Bars{}, false, false, nil
		page, err := readPages(ctx, p, query, r.total())
		if err != nil {
			return err
		}
		if had > 0 && page.Bars.Len() == 0 {
			return fault.Unreachable(nil, 0, "%s says there are no bars of %s, of which it had %d", p.Name(), r.Symbol, had)
		}
		h.reachesStart = !page.More
		h.append(page)
	}
	h.readAt = s.cfg.Now()
	if missing := r.total() - h.count(); missing > 0 && !h.reachesStart && h.closed.Len() > 0 {
		query.To = h.closed.T[0]
		page, err := readPages(ctx, p, query, missing)
		if err != nil {
			return err
		}
		h.reachesStart = !page.More
		h.prepend(page)
	}
	h.trim()
	return nil
}

// loadInstrument reads the instrument once. A venue without sessions has nothing to
// report about bars.
func (h *cachedSeries) loadInstrument(ctx context.Context, p provider.Provider, s market.Symbol) error {
	caps := p.Capabilities()
	if !h.known && (caps.Sessions || caps.Synthetic) {
		instrument, err := p.Instrument(ctx, s)
		if err != nil {
			return err
		}
		h.calendar, h.name = instrument.Calendar, instrument.Symbol.Name
	}
	h.known, h.synthetic = true, caps.Synthetic
	return nil
}

// appendNew reads from the last cached bars on. It reports false if all bars must be read
// again: nothing is cached, too many bars are missing, or the venue has revised the past,
// as after a stock split.
func (s *Service) appendNew(ctx context.Context, p provider.Provider, h *cachedSeries, query provider.BarQuery, want int) (bool, error) {
	n := h.closed.Len()
	if n == 0 {
		return false, nil
	}
	overlap := max(0, n-2)
	last := h.closed.T[n-1]
	if missed := h.calendar.Count(h.interval, market.Span{Open: last, Close: s.cfg.Now().Unix()}); missed > want {
		return false, nil
	}
	query.From = h.closed.T[overlap]
	page, err := readPages(ctx, p, query, math.MaxInt)
	if err != nil {
		return false, err
	}
	for i := overlap; i < n; i++ {
		k := i - overlap
		if k >= page.Bars.Len() || page.Running && k == page.Bars.Len()-1 || !page.Bars.At(k).Equal(h.closed.At(i)) {
			return false, nil
		}
	}
	page.Bars = page.Bars.Slice(n-overlap, page.Bars.Len())
	h.append(page)
	return true, nil
}

// readPages reads and validates bars.
func readPages(ctx context.Context, p provider.Provider, q provider.BarQuery, want int) (provider.BarPage, error) {
	page, err := provider.Read(ctx, p, q, want)
	if err != nil {
		return page, err
	}
	if err := page.Bars.Check(); err != nil {
		return page, fault.Unreachable(err, 0, "%s answers for %s with bars that cannot be right", p.Name(), q.Symbol)
	}
	if page.Synthetic != p.Capabilities().Synthetic {
		return page, &fault.Error{Code: "made_up_bars", Message: fmt.Sprintf("%s gave made-up bars for %s", p.Name(), q.Symbol)}
	}
	return page, nil
}

// append appends a page.
func (h *cachedSeries) append(page provider.BarPage) {
	n := page.Bars.Len()
	h.hasForming = page.Running && n > 0
	if h.hasForming {
		n--
		h.forming = page.Bars.At(n)
	}
	if h.closed.Len() == 0 {
		h.closed = page.Bars.Slice(0, n)
	} else {
		for i := range n {
			h.closed.Append(page.Bars.At(i))
		}
	}
	h.builtFrom = page.Built
	h.addHoles(page.Holes)
}

// prepend inserts a page before the bars, in new memory.
func (h *cachedSeries) prepend(page provider.BarPage) {
	all := market.MakeBars(page.Bars.Len()+h.closed.Len(), h.closed.TakerBuy != nil)
	for _, part := range []market.Bars{page.Bars, h.closed} {
		for i := range part.Len() {
			all.Append(part.At(i))
		}
	}
	h.closed = all
	h.addHoles(page.Holes)
}

func (h *cachedSeries) addHoles(holes []market.Gap) {
	if len(holes) == 0 {
		return
	}
	all := slices.Concat(h.holes, holes)
	slices.SortFunc(all, func(a, b market.Gap) int { return int(a.From - b.From) })
	h.holes = slices.CompactFunc(all, func(a, b market.Gap) bool { return a.From == b.From })
}

// trim drops the oldest bars of a series that has grown too long.
func (h *cachedSeries) trim() {
	if h.closed.Len() <= keepBars+growth {
		return
	}
	old := h.closed
	h.closed = market.Bars{}
	h.prepend(provider.BarPage{Bars: old.Tail(keepBars)})
	h.reachesStart = false
	first := h.closed.T[0]
	h.holes = slices.DeleteFunc(slices.Clone(h.holes), func(g market.Gap) bool { return g.To <= first })
}
