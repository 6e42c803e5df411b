// Package marketdata is where tools and the engine get bars: it chooses the
// provider for a symbol, keeps closed bars, which never change, reads only what is
// new, and asks a venue once however many callers wait. It tells where bars came
// from and how old they are. When a venue fails it gives what it has, marked
// stale, or an error; it never gives sample bars for a real symbol.
package marketdata

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"candela/internal/kit/fault"
	"candela/internal/market"
	"candela/internal/market/provider"
	"candela/internal/market/provider/aggregate"
)

const (
	// maxBarsPerRequest bounds one request: the most bars a chart shows and the longest
	// warm-up, with room.
	maxBarsPerRequest = 20_000

	defaultMaxBars   = 1_000_000
	defaultMaxPoints = 1_000_000
	defaultFresh     = 1500 * time.Millisecond
	defaultTimeout   = 30 * time.Second
)

// errStopping is what calls get after Close.
var errStopping = &fault.Error{Kind: fault.Unavailable, Code: "stopping", Message: "market data: the service is stopping"}

// Config says where bars come from. Zero values mean the defaults.
type Config struct {
	Providers []provider.Provider // the caller closes them, after Close
	Series    []provider.SeriesSource
	Routes    Routes
	Log       *slog.Logger
	Now       func() time.Time

	// MaxBars bounds the bars kept over all symbols: 1,000,000 when 0. A bar takes
	// 56 bytes, with room to grow up to 1.25 times that.
	MaxBars int
	// MaxAge is how long an answer stands for the next question: 1.5 s when 0. It is
	// the age the running bar may have.
	MaxAge time.Duration
	// Timeout bounds reading from a venue for one question, all pages: 30 s when 0.
	Timeout time.Duration
}

// Request asks for the newest bars of a symbol. No symbol asks for sample data.
type Request struct {
	Symbol   market.Symbol
	Interval market.Interval
	Bars     int // to show; at least 1
	Warmup   int // wanted before them
	Series   []market.SeriesName
}

func (r Request) total() int { return r.Bars + r.Warmup }

// BarSet is the answer. The bars are at most those asked for, ascending and
// read-only; fewer means that the venue has no more.
type BarSet struct {
	Symbol     market.Symbol // as it was asked for
	Instrument market.Symbol // the same as its venue writes it, with the venue
	Provider   string
	Bars       market.Bars
	Calendar   market.Calendar
	Forming    bool      // the last bar has not closed
	AsOf       time.Time // when the newest bar was read
	// Stale says that the venue did not answer: these are the bars of AsOf, and
	// there may be fewer than asked for before the bars to show.
	Stale bool
	// BuiltFrom is the interval these bars were made of, zero for the venue's own;
	// Holes are the bars of it that are missing.
	BuiltFrom market.Interval
	Holes     []market.Gap
	Synthetic bool
	Live      bool // from the rolling window of the engine, not read for this request
	// Series holds one value per bar, as of its close. A name that is missing
	// could not be had.
	Series map[market.SeriesName][]float64
}

// Service answers requests for bars. It is safe for concurrent use.
type Service struct {
	cfg    Config
	router router
	bars   lru[seriesKey, *cachedSeries]
	points lru[pointsKey, *cachedPoints]
	reads  singleflight[seriesKey, readResult]
	joins  singleflight[pointsKey, *cachedPoints]

	mu      sync.Mutex // guards the start of a goroutine against Close
	ctx     context.Context
	stop    context.CancelFunc
	running sync.WaitGroup
}

// New returns a service over the providers. Intervals that one lacks are built
// from those it has. Close must be called when it is no longer needed.
func New(cfg Config) (*Service, error) {
	if cfg.Now == nil || cfg.Log == nil {
		return nil, errors.New("marketdata: a clock and a log are needed")
	}
	set := func(dst *time.Duration, value time.Duration) {
		if *dst == 0 {
			*dst = value
		}
	}
	set(&cfg.MaxAge, defaultFresh)
	set(&cfg.Timeout, defaultTimeout)
	if cfg.MaxBars == 0 {
		cfg.MaxBars = defaultMaxBars
	}
	s := &Service{cfg: cfg}
	for _, p := range cfg.Providers {
		s.router.providers = append(s.router.providers, aggregate.Over(p, cfg.Now))
	}
	s.router.routes = cfg.Routes
	s.bars.limit, s.points.limit = cfg.MaxBars, defaultMaxPoints
	s.reads.spawn, s.joins.spawn = s.spawn, s.spawn
	s.ctx, s.stop = context.WithCancel(context.Background())
	return s, nil
}

// Close ends what is being read and waits for it. Calls after it fail.
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
		ctx, cancel := context.WithTimeout(s.ctx, s.cfg.Timeout)
		defer cancel()
		run(ctx)
	})
	return true
}

// Bars returns the newest bars of a symbol. An error is one that a client may
// read: it names the provider, the symbol and what to try.
func (s *Service) Bars(ctx context.Context, r Request) (BarSet, error) {
	switch {
	case r.Bars < 1:
		return BarSet{}, fault.Field("bars", strconv.Itoa(r.Bars), "1 or more")
	case r.Warmup < 0 || r.total() > maxBarsPerRequest:
		return BarSet{}, fault.Field("bars", strconv.Itoa(r.total()), fmt.Sprintf("at most %d with warm-up", maxBarsPerRequest))
	case !r.Interval.Valid():
		return BarSet{}, fault.Missing("interval", "one of the intervals")
	}
	sources, err := s.router.candidates(r.Symbol)
	if err != nil {
		return BarSet{}, err
	}
	var set BarSet
	for _, p := range sources {
		set, err = s.fetch(ctx, p, r)
		if fault.KindOf(err) != fault.NotFound {
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

// Route returns the provider that answers for a symbol, with every interval that
// can be built: the engine follows live bars where charts are read. Where several
// come into question they are asked whether they have the symbol.
func (s *Service) Route(ctx context.Context, symbol market.Symbol) (provider.Provider, error) {
	sources, err := s.router.candidates(symbol)
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

// fetch answers from one provider.
func (s *Service) fetch(ctx context.Context, p provider.Provider, r Request) (BarSet, error) {
	instrument, err := provider.Canonical(ctx, p, r.Symbol)
	switch kind := fault.KindOf(err); {
	case err == nil:
	case kind == fault.NotFound || kind == fault.Invalid:
		return BarSet{}, err
	default: // the venue cannot be asked now; there may be bars to give all the same
		instrument = market.Symbol{Venue: p.Name(), Name: r.Symbol.Name}
	}
	key := seriesKey{p.Name(), instrument.Name, r.Interval}
	for {
		have, _ := s.bars.get(key)
		if have.isFresh(r.total(), s.cfg.Now(), s.cfg.MaxAge) {
			return s.answer(ctx, p, have, r, instrument)
		}
		got, joined, err := s.reads.do(ctx, key, func(ctx context.Context) (readResult, error) {
			// Another read may have ended since the look above.
			if have, _ := s.bars.get(key); have.isFresh(r.total(), s.cfg.Now(), s.cfg.MaxAge) {
				return readResult{have, r.total()}, nil
			}
			return s.read(ctx, p, key, r)
		})
		switch {
		case err != nil:
			return BarSet{}, err
		case got.want >= r.total() || !joined:
			return s.answer(ctx, p, got.held, r, instrument)
		}
		// Another call read fewer bars than these; what is missing is read next.
	}
}

// answer cuts what is held to what was asked for.
func (s *Service) answer(ctx context.Context, p provider.Provider, h *cachedSeries, r Request, instrument market.Symbol) (BarSet, error) {
	if err := h.failed; err != nil && !h.canServeStale(r, err) {
		return BarSet{}, s.router.explainFailure(ctx, p.Name(), r, err)
	}
	bars, running := h.newest(r.total(), s.cfg.Now())
	if bars.Len() == 0 {
		return BarSet{}, noBars(p.Name(), r)
	}
	set := BarSet{
		Symbol: r.Symbol, Instrument: instrument, Provider: p.Name(), Bars: bars, Calendar: h.calendar,
		Forming: running, AsOf: h.readAt, Stale: h.failed != nil, BuiltFrom: h.builtFrom, Synthetic: h.synthetic,
	}
	if h.synthetic {
		set.Symbol = market.Symbol{Name: h.name}
	}
	for _, g := range h.holes {
		if g.To > set.Bars.T[0] {
			set.Holes = append(set.Holes, g)
		}
	}
	return set, nil
}

func noBars(name string, r Request) error {
	return &fault.Error{
		Kind: fault.NotFound, Code: "no_bars", Field: "symbol", Value: r.Symbol.String(),
		Message: fmt.Sprintf("%s has no %s bars of %s; try another interval", name, r.Interval, r.Symbol),
	}
}

// CacheSize returns how many bars are kept, counting room and overhead, and of how
// many series.
func (s *Service) CacheSize() (bars, series int) { return s.bars.size() }
