package marketdata

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"candela/internal/data/provider"
	"candela/lib/market"
)

// pointsFresh is how long an external series is fresh: most change by the hour or day. A source that failed
// rests as long, so that not every request waits for it.
const pointsFresh = time.Minute

type pointsKey struct {
	source, name, symbol string
	interval             market.Interval
	end                  int64
}

// cachedPoints is an external series. It is immutable.
type cachedPoints struct {
	points  []provider.Point
	from    int64 // start of the requested range
	readAt  time.Time
	failed  error  // why there are none
	version string // of the files, see provider.Versioned
}

// seriesPatience bounds how long a request waits for its external series: a chart without
// one is better than a late chart.
const seriesPatience = 3 * time.Second

// series reads the external series of a request and aligns them to its bars. A series that
// cannot be read in time is missing in the result and logged.
func (s *Service) series(ctx context.Context, set *BarSet, r Request) map[market.SeriesName][]float64 {
	ctx, cancel := context.WithTimeout(ctx, seriesPatience)
	defer cancel()
	joined := make(map[market.SeriesName][]float64, len(r.Series))
	for _, name := range r.Series {
		source := s.sourceOf(name, set)
		if source == nil {
			continue
		}
		points, err := s.pointsOf(ctx, source, name, set, r)
		if err != nil {
			s.cfg.Log.WarnContext(ctx, "series read failed", "source", source.Name(), "series", string(name), "symbol", r.Symbol.String(), "error", err)
			continue
		}
		joined[name] = AlignToBars(points, &set.Bars, r.Interval, set.Calendar, set.AsOf)
	}
	return joined
}

// wholeMarket reports whether a series has no symbol.
func wholeMarket(name market.SeriesName) bool { return name == market.FearGreed }

// sourceOf returns the source of a series: the venue of the bars, or any source if the
// series is of the whole market. Sample bars have no series: real values next to them
// would mislead.
func (s *Service) sourceOf(name market.SeriesName, set *BarSet) provider.SeriesSource {
	if set.Synthetic {
		return nil
	}
	for _, source := range s.cfg.Series {
		if slices.Contains(source.SeriesNames(), string(name)) && (wholeMarket(name) || source.Name() == set.Provider) {
			return source
		}
	}
	return nil
}

// pointsOf returns the points of a series for the bars of a set.
func (s *Service) pointsOf(ctx context.Context, source provider.SeriesSource, name market.SeriesName, set *BarSet, r Request) ([]provider.Point, error) {
	key := pointsKey{source.Name(), string(name), set.Instrument.Name, r.Interval, r.End}
	query := provider.SeriesQuery{Name: string(name), Symbol: r.Symbol, Interval: r.Interval, From: set.Bars.T[0], To: cmp.Or(r.End, s.cfg.Now().Unix())}
	if wholeMarket(name) {
		key.symbol, query.Symbol = "", market.Symbol{}
	}
	version := ""
	if files, ok := source.(provider.Versioned); ok {
		version = files.Version(set.Instrument)
	}
	for {
		have, _ := s.points.Get(key)
		if have != nil && have.version == version && (have.from <= query.From || have.failed != nil) && s.cfg.Now().Sub(have.readAt) < pointsFresh {
			return have.points, have.failed
		}
		got, joined, err := s.joins.do(ctx, key, func(ctx context.Context) (*cachedPoints, error) {
			ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
			defer cancel()
			points, err := source.Series(ctx, query)
			if err != nil {
				return nil, err
			}
			h := &cachedPoints{points: points, from: query.From, readAt: s.cfg.Now(), version: version}
			s.points.Put(key, h, overhead+len(points))
			return h, nil
		})
		if err != nil {
			if !errors.Is(err, context.Canceled) { // by the client
				s.points.Put(key, &cachedPoints{readAt: s.cfg.Now(), failed: err, version: version}, overhead)
			}
			return nil, err
		}
		if !joined || got.from <= query.From {
			return got.points, nil
		}
	}
}

// AlignToBars returns for each bar the last value known at its close, NaN before the first
// one. The last bar may be forming: it has the last value known at asOf. Points must
// ascend.
func AlignToBars(points []provider.Point, bars *market.Bars, i market.Interval, c market.Calendar, asOf time.Time) []float64 {
	values := make([]float64, bars.Len())
	next, last := 0, math.NaN()
	for k, t := range bars.T {
		end := c.CloseOf(i, t)
		if k == len(values)-1 && !asOf.IsZero() {
			end = min(end, asOf.Unix())
		}
		for next < len(points) && points[next].T <= end {
			last = points[next].V
			next++
		}
		values[k] = last
	}
	return values
}
