// Package marketdata serves bars to charts and the engine. It routes a symbol to a
// provider, caches closed bars and merges concurrent requests. When a venue fails it
// returns cached bars marked stale, or an error; it never returns sample bars for a real
// symbol.
package marketdata

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strconv"
	"sync"
	"time"

	"candela/internal/data/listing"
	"candela/internal/data/provider"
	"candela/internal/data/provider/aggregate"
	"candela/internal/data/upstream"
	"candela/internal/kit/lru"
	"candela/lib/fault"
	"candela/lib/market"
)

const (
	// MaxRequestBars bounds the bars of a request with its warm-up. It exceeds the most bars of a chart with the longest warm-up.
	MaxRequestBars = 20_000
	maxPoints      = 1_000_000 // of all cached external series
)

// errStopping is returned after Close.
var errStopping = &fault.Error{Kind: fault.Unavailable, Code: "stopping", Message: "market data: the service is stopping"}

// Config holds the dependencies of a Service. Zero values mean the defaults.
type Config struct {
	Providers []provider.Provider // the caller closes them, after Close
	Series    []provider.SeriesSource
	Routes    Routes
	Log       *slog.Logger
	Now       func() time.Time

	// MaxBars bounds the cached bars of all symbols: 1,000,000 when 0. A bar takes 56
	// bytes, and up to 1.25 times that with room to grow.
	MaxBars int
	// MaxAge is how long cached bars are fresh, and so the greatest age of the forming
	// bar: 1.5 s when 0.
	MaxAge time.Duration
	// Timeout bounds the reads of one request, all pages: 30 s when 0.
	Timeout time.Duration
}

// Request requests the newest bars of a symbol, or the newest before a time, or sample
// data without a symbol.
type Request struct {
	Symbol   market.Symbol
	Interval market.Interval
	Bars     int // to show; at least 1
	Warmup   int // before them, so that recursive values are stable
	// Unix seconds; 0 means none. Bars that had not closed at End are left out, so that nothing
	// after it is known. Start only bounds how many bars are read: the caller cuts those that open before it.
	Start, End int64
	Series     []market.SeriesName
	// Background is set for reads that can wait: they leave half of the venue's limit to
	// others, and wait for their turn as long as the caller does.
	Background bool
	// Closed is set if closed bars alone matter: a running bar may then be some minutes old.
	Closed bool
	Facts  bool // what the venue says about the instrument is wanted, too
}

func (r Request) total() int { return r.Bars + r.Warmup }

// within returns the request without an end that lies ahead, and with no more bars than
// can open from its start on.
func (r Request) within(now int64) Request {
	if r.End > now {
		r.End = 0
	}
	if r.Start != 0 {
		r.Bars = int(max(1, min(int64(r.Bars), r.Interval.Most(max(0, cmp.Or(r.End, now)-r.Start)))))
	}
	return r
}

// endStep is the distance, in bars, of the ends for which series are read and cached, so
// that requests with slightly different ends share one.
const endStep = 64

// stepped returns the request whose series answers r: its end is a multiple of endStep
// bars, or none if that lies ahead.
func (r Request) stepped(now int64) Request {
	step := endStep * r.Interval.Seconds()
	more := endStep + 2 // bars that open between the two ends; months differ in length
	if !r.Interval.Even() && r.Interval.Months() == 0 {
		more = int(r.Interval.Most(step))
	}
	switch {
	case r.End == 0:
		return r
	case r.total()+more > MaxRequestBars:
		r.Warmup += min(1, MaxRequestBars-r.total()) // the bar that has not closed is left out
		return r
	}
	r.End = (r.End + step - 1) / step * step
	if r.End > now {
		r.End = 0
	}
	r.Warmup += more
	return r
}

// elsewhere continues the sentence that there are no bars.
func (r Request) elsewhere() string {
	if r.End != 0 {
		return " before " + time.Unix(r.End, 0).UTC().Format(time.RFC3339) + "; try a later end, or another interval"
	}
	return "; try another interval"
}

// BarSet is the result of a Request. The bars are ascending and read-only; fewer than
// requested means that the venue has no more.
type BarSet struct {
	Symbol     market.Symbol // as requested
	Instrument market.Symbol // as the venue spells it, with the venue
	Provider   string
	Bars       market.Bars
	Calendar   market.Calendar
	Forming    bool      // the last bar has not closed
	Cut        int64     // open time of the bar in which the end of the request lies, which is left out; 0 for none
	AsOf       time.Time // when the newest bar was read
	// Stale means that the venue does not respond: the bars are those of AsOf, perhaps
	// with fewer warm-up bars than requested.
	Stale bool
	// BuiltFrom is the interval from which the bars were built, zero for the venue's own;
	// Holes are its missing bars.
	BuiltFrom market.Interval
	Holes     []market.Gap
	Synthetic bool
	Live      bool // from the rolling window of the engine, not read for this request
	// Series holds one value per bar, as of its close. A series that could not be read is
	// missing.
	Series map[market.SeriesName][]float64
	// Facts has what the venue says about the instrument if the request wants it; otherwise
	// only the symbol.
	Facts market.Facts

	closed market.Bars // see Closed; empty if they are a part of Bars
}

// Share says that the closed bars of a set whose last bar forms are these, in memory that is shared with other sets.
func (s *BarSet) Share(closed market.Bars) { s.closed = closed }

// Closed returns the closed bars of the set. Where they can, the sets of one series share their memory: bars that
// begin at the same place are then the same.
func (s *BarSet) Closed() market.Bars {
	n := s.Bars.Len()
	switch {
	case !s.Forming:
	case s.closed.Len() == n-1:
		return s.closed
	default:
		n--
	}
	return s.Bars.Slice(0, n)
}

// Service serves bars. It is safe for concurrent use.
type Service struct {
	cfg     Config
	router  router
	known   *listing.Directory
	bars    lru.Cache[seriesKey, *cachedSeries]
	points  lru.Cache[pointsKey, *cachedPoints]
	reads   singleflight[seriesKey, readResult]
	patient sync.Map // of *upstream.Background by seriesKey: the reads that can wait
	joins   singleflight[pointsKey, *cachedPoints]

	mu      sync.Mutex // guards the start of a goroutine against Close
	ctx     context.Context
	stop    context.CancelFunc
	running sync.WaitGroup
}

// New returns a service over the providers. Intervals that a provider lacks are built from
// shorter ones. The caller must call Close.
func New(cfg Config) (*Service, error) {
	if cfg.Now == nil || cfg.Log == nil {
		return nil, errors.New("marketdata: Now and Log are required")
	}
	cfg.MaxAge = cmp.Or(cfg.MaxAge, 1500*time.Millisecond)
	cfg.Timeout = cmp.Or(cfg.Timeout, 30*time.Second)
	cfg.MaxBars = cmp.Or(cfg.MaxBars, 1_000_000)
	s := &Service{cfg: cfg}
	for _, p := range cfg.Providers {
		s.router.providers = append(s.router.providers, aggregate.Over(p, cfg.Now))
	}
	s.router.routes = cfg.Routes
	s.known = s.router.directory()
	s.bars.Limit, s.points.Limit = cfg.MaxBars, maxPoints
	s.reads.spawn, s.joins.spawn = s.spawn, s.spawn
	s.ctx, s.stop = context.WithCancel(context.Background())
	return s, nil
}

// Close cancels all reads and waits for them. Later calls fail.
func (s *Service) Close() {
	s.mu.Lock()
	s.stop()
	s.mu.Unlock()
	s.running.Wait()
}

// spawn runs a read in a goroutine that Close waits for.
func (s *Service) spawn(run func(context.Context)) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil {
		return false
	}
	s.running.Go(func() {
		run(s.ctx)
	})
	return true
}

// longestWait bounds a read in the background, which its caller bounds, too.
const longestWait = 10 * time.Minute

// bounded returns the context of one read.
func (s *Service) bounded(ctx context.Context, key seriesKey, background bool) (context.Context, context.CancelFunc) {
	if !background {
		return context.WithTimeout(ctx, s.cfg.Timeout)
	}
	patient := new(upstream.Background)
	s.patient.Store(key, patient)
	ctx, cancel := context.WithTimeout(patient.Context(ctx), longestWait)
	return ctx, func() {
		s.patient.Delete(key)
		cancel()
	}
}

// noBars is the code of a source that has a symbol, but no bars of it for a time.
const noBars = "no_bars"

// Bars returns the newest bars of a symbol. Its errors are for clients: they name the
// provider, the symbol and what to try.
func (s *Service) Bars(ctx context.Context, r Request) (BarSet, error) {
	switch {
	case r.Bars < 1:
		return BarSet{}, fault.Field("bars", strconv.Itoa(r.Bars), "1 or more")
	case r.Warmup < 0 || r.total() > MaxRequestBars:
		return BarSet{}, fault.Field("bars", strconv.Itoa(r.total()), fmt.Sprintf("at most %d with warm-up", MaxRequestBars))
	case !r.Interval.Valid():
		return BarSet{}, fault.Missing("interval", "one of the intervals")
	}
	r = r.within(s.cfg.Now().Unix())
	sources, err := s.router.candidates(ctx, r.Symbol)
	if err != nil {
		return BarSet{}, err
	}
	var set BarSet
	for _, p := range sources {
		set, err = s.fetch(ctx, p, r)
		// One that has the symbol and no bars for that time is the source, as for Route.
		if f := fault.Of(err); f == nil || f.Kind != fault.NotFound || f.Code == noBars {
			break
		}
	}
	if err != nil {
		return BarSet{}, err
	}
	if len(r.Series) > 0 {
		set.Series = s.series(ctx, &set, r)
	}
	return set, nil
}

// Route returns the provider of a symbol, with every interval that can be built. If there
// are several candidates, it queries which of them has the symbol.
func (s *Service) Route(ctx context.Context, symbol market.Symbol) (provider.Provider, error) {
	sources, err := s.router.candidates(ctx, symbol)
	if err != nil {
		return nil, err
	}
	for _, p := range sources[:len(sources)-1] {
		if _, err := p.Instrument(ctx, symbol); fault.KindOf(err) != fault.NotFound {
			return p, err
		}
	}
	return sources[len(sources)-1], nil
}

// HasVenue reports whether there is a provider with the name.
func (s *Service) HasVenue(name string) bool { return s.router.named(name) != nil }

// fetch serves a request from one provider.
func (s *Service) fetch(ctx context.Context, p provider.Provider, r Request) (BarSet, error) {
	instrument, err := provider.Canonical(ctx, p, r.Symbol)
	switch kind := fault.KindOf(err); {
	case err == nil:
	case kind == fault.NotFound || kind == fault.Invalid:
		return BarSet{}, err
	default: // the venue does not respond; cached bars may serve
		instrument = market.Symbol{Venue: p.Name(), Name: r.Symbol.Name}
	}
	read := r.stepped(s.cfg.Now().Unix())
	key := seriesKey{p.Name(), instrument.Name, r.Interval, read.End}
	version := ""
	if files, ok := p.(provider.Versioned); ok {
		version = files.Version(instrument)
	}
	for {
		have, _ := s.bars.Get(key)
		if have.isFresh(read.total(), s.cfg.Now(), s.cfg.MaxAge, r.Closed) && have.version == version {
			return s.answer(ctx, p, have, r, read.total(), instrument)
		}
		if patient, ok := s.patient.Load(key); ok && !r.Background {
			patient.(*upstream.Background).Hurry() //nolint:forcetypeassert,errcheck // the map holds nothing else
		}
		got, joined, err := s.reads.do(ctx, key, func(ctx context.Context) (readResult, error) {
			ctx, cancel := s.bounded(ctx, key, r.Background)
			defer cancel()
			// Another read may have ended since the check above.
			if have, _ := s.bars.Get(key); have.isFresh(read.total(), s.cfg.Now(), s.cfg.MaxAge, r.Closed) && have.version == version {
				return readResult{have, read.total()}, nil
			}
			return s.read(ctx, p, key, read, version)
		})
		switch {
		case err != nil:
			return BarSet{}, err
		case got.want >= read.total() || !joined:
			return s.answer(ctx, p, got.held, r, read.total(), instrument)
		}
		// Another call has read fewer bars; the missing ones are read next.
	}
}

// answer cuts the newest bars of a cached series, as many as were read for the request, to
// the request.
func (s *Service) answer(ctx context.Context, p provider.Provider, h *cachedSeries, r Request, read int, instrument market.Symbol) (BarSet, error) {
	if err := h.failed; err != nil && !h.canServeStale(r, err) {
		return BarSet{}, s.router.explainFailure(ctx, p.Name(), r, err)
	}
	bars, running := h.newest(read, s.cfg.Now())
	var cut int64
	if r.End != 0 {
		n := h.closedBy(&bars, r.End)
		if n < bars.Len() && bars.T[n] < r.End {
			cut = bars.T[n]
		}
		bars, running = bars.Slice(0, n), running && n == bars.Len()
	}
	bars = bars.Tail(r.total())
	if bars.Len() == 0 {
		return BarSet{}, &fault.Error{
			Kind: fault.NotFound, Code: noBars, Field: "symbol", Value: r.Symbol.String(),
			Message: fmt.Sprintf("%s has no %s bars of %s%s", p.Name(), r.Interval, r.Symbol, r.elsewhere()),
		}
	}
	set := BarSet{
		Symbol: r.Symbol, Instrument: instrument, Provider: p.Name(), Bars: bars, Calendar: h.calendar,
		Forming: running, Cut: cut, AsOf: h.readAt, Stale: h.failed != nil, BuiltFrom: h.builtFrom, Synthetic: h.synthetic,
	}
	if running && r.End == 0 {
		set.Share(h.closed.Tail(bars.Len() - 1))
	}
	if h.synthetic {
		set.Symbol = market.Symbol{Name: h.name}
	}
	set.Holes = market.GapsWithin(h.holes, bars.T[0], math.MaxInt64)
	if r.Facts {
		known, err := p.Instrument(ctx, instrument)
		if err != nil {
			return BarSet{}, err
		}
		set.Facts = known.Facts()
	}
	if set.Facts.Symbol = instrument; h.synthetic {
		set.Facts.Symbol = market.Symbol{Venue: p.Name(), Name: h.name}
	}
	return set, nil
}

// CacheSize returns the number of cached bars, with room and overhead, and of series.
func (s *Service) CacheSize() (bars, series int) { return s.bars.Size() }
