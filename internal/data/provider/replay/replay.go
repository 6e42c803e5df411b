// Package replay plays the bars of another provider, a folder of files as a rule,
// as if they happened now: from a moment in the past on, at a chosen speed. It
// serves demonstrations, tests, and trying alerts against what has been. The bars
// are the source's own. Of a forming bar only its open is sent, because a file
// does not say how the price got from there to the close.
package replay

import (
	"context"
	"io"
	"strconv"
	"time"

	"candela/internal/data/provider"
	"candela/lib/fault"
	"candela/lib/market"
)

const (
	name = "replay"

	// maxSpeed plays a day of minutes in half a second.
	maxSpeed = 200_000
	chunk    = 500 // bars read from the source at a time
	// alive is how often a stream without bars shows that it is there, and that its
	// prices stand: an order takes none that is older than ten seconds.
	alive = 3 * time.Second
)

// Config says what is played and how.
type Config struct {
	Source provider.Provider // its bars must be closed; Close of the replay closes it
	Start  time.Time         // where the clock begins
	Speed  float64           // 1 is as it happened, 60 an hour a minute
	Now    func() time.Time  // the clock on the wall
}

// Provider plays bars. It is safe for concurrent use.
type Provider struct {
	source provider.Provider
	now    func() time.Time
	clock  provider.Clock
}

var (
	_ provider.Streamer     = (*Provider)(nil)
	_ provider.Clocked      = (*Provider)(nil)
	_ provider.SeriesSource = (*Provider)(nil)
)

// New starts a replay. The speed must be above 0 and at most 200,000.
func New(c Config) (*Provider, error) {
	if !(c.Speed > 0 && c.Speed <= maxSpeed) {
		return nil, fault.Field("replay speed", strconv.FormatFloat(c.Speed, 'g', -1, 64), "a number above 0, at most "+strconv.Itoa(maxSpeed))
	}
	return &Provider{
		source: c.Source, now: c.Now,
		clock: provider.Clock{Start: c.Start.Unix(), Began: c.Now(), Speed: c.Speed},
	}, nil
}

// Close closes the source when it can be closed.
func (p *Provider) Close() error {
	if c, ok := p.source.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// Name returns "replay".
func (p *Provider) Name() string { return name }

// Clock returns the time of the replay.
func (p *Provider) Clock() provider.Clock { return p.clock }

// Capabilities are the source's, live.
func (p *Provider) Capabilities() provider.Caps {
	caps := p.source.Capabilities()
	caps.Live, caps.Dynamic, caps.MaxSubs, caps.OneStream, caps.Files = true, false, 0, false, false
	return caps
}

// Instrument is the source's.
func (p *Provider) Instrument(ctx context.Context, s market.Symbol) (provider.Instrument, error) {
	played, err := p.played(s)
	if err != nil {
		return provider.Instrument{}, err
	}
	instrument, err := p.source.Instrument(ctx, played)
	if f := fault.Of(err); f != nil && f.Kind == fault.NotFound {
		err = provider.UnknownSymbol(name, s, f.Suggestions...)
	}
	instrument.Symbol.Venue = name
	return instrument, err
}

// Canonical is the source's, at this venue.
func (p *Provider) Canonical(ctx context.Context, s market.Symbol) (market.Symbol, error) {
	played, err := p.played(s)
	if err == nil {
		played, err = provider.Canonical(ctx, p.source, played)
	}
	if f := fault.Of(err); f != nil && f.Kind == fault.NotFound {
		err = provider.UnknownSymbol(name, s, f.Suggestions...)
	}
	if err != nil {
		return s, err
	}
	return market.Symbol{Venue: name, Name: played.Name}, nil
}

// Loaded is the source's list.
func (p *Provider) Loaded() []provider.Listing { return provider.Loaded(p.source) }

// played returns a symbol as the source knows it.
func (p *Provider) played(s market.Symbol) (market.Symbol, error) {
	if s.Venue != "" && s.Venue != name {
		return s, provider.UnknownSymbol(name, s)
	}
	return market.Symbol{Name: s.Name}, nil
}

// Bars returns a page of the bars that have closed by the replay's clock.
func (p *Provider) Bars(ctx context.Context, q provider.BarQuery) (provider.BarPage, error) {
	q, err := p.Capabilities().Normalize(name, q)
	if err != nil {
		return provider.BarPage{}, err
	}
	instrument, err := p.Instrument(ctx, q.Symbol)
	if err != nil {
		return provider.BarPage{}, err
	}
	q.Symbol, _ = p.played(q.Symbol)
	end := over(instrument.Calendar, q.Interval, p.clock.Unix(p.now()))
	if q.To == 0 || q.To > end {
		q.To = end
	}
	if q.From != 0 && q.From >= q.To {
		return provider.BarPage{Synthetic: p.Capabilities().Synthetic}, nil
	}
	return p.source.Bars(ctx, q)
}

// Ended reports whether the source has no bars of a symbol after those that have closed by the replay's clock.
func (p *Provider) Ended(ctx context.Context, s market.Symbol, i market.Interval) (bool, error) {
	instrument, err := p.Instrument(ctx, s)
	if err != nil {
		return false, err
	}
	s, _ = p.played(s)
	page, err := p.source.Bars(ctx, provider.BarQuery{Symbol: s, Interval: i, From: over(instrument.Calendar, i, p.clock.Unix(p.now())), Limit: 1})
	return err == nil && (page.Bars.Len() == 0 || page.Running), err
}

// SeriesNames are the source's.
func (p *Provider) SeriesNames() []string {
	if s, ok := p.source.(provider.SeriesSource); ok {
		return s.SeriesNames()
	}
	return nil
}

// Series returns the points of the source that are known by the replay's clock.
func (p *Provider) Series(ctx context.Context, q provider.SeriesQuery) ([]provider.Point, error) {
	source, ok := p.source.(provider.SeriesSource)
	if !ok {
		return nil, fault.Field("series", q.Name, "no series: the source has none")
	}
	var err error
	if q.Symbol, err = p.played(q.Symbol); err != nil {
		return nil, err
	}
	q.To = min(q.To, p.clock.Unix(p.now()))
	return source.Series(ctx, q)
}

// over returns the open of the first bar that has not closed at t.
func over(c market.Calendar, i market.Interval, t int64) int64 {
	if span, ok := c.Bucket(i, t); ok {
		return span.Open
	}
	return c.Next(i, t).Open
}
