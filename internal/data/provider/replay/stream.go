package replay

import (
	"context"
	"slices"
	"time"

	"candela/internal/data/provider"
	"candela/internal/kit/retry"
	"candela/lib/fault"
	"candela/lib/market"
)

// Stream sends each bar's open when it opens and the bar when it closes, by the
// replay's clock. When the source has no more bars the stream goes on without.
func (p *Provider) Stream(ctx context.Context, subs []provider.Sub, _ <-chan provider.Change, emit provider.Emit) error {
	reels, err := p.reels(ctx, subs)
	if err != nil {
		return err
	}
	if err := emit(ctx, provider.Event{Kind: provider.Alive, At: p.at()}); err != nil {
		return err
	}
	for {
		wait := alive
		first := slices.MinFunc(reels, func(a, b *playback) int { return int(a.next() - b.next()) })
		if !first.over {
			wait = min(wait, p.clock.Wall(first.next()).Sub(p.now()))
		}
		if err := retry.Sleep(ctx, max(0, wait)); err != nil {
			return err
		}
		now := p.clock.Unix(p.now())
		if first.over || first.next() > now {
			if err := p.stand(ctx, reels, emit); err != nil {
				return err
			}
			continue
		}
		if err := emit(ctx, first.nextEvent()); err != nil {
			return err
		}
		if err := first.fill(ctx, p); err != nil {
			return err
		}
	}
}

// stand reports that nothing has happened: the stream is there, and the price of each
// bar that runs is still its open.
func (p *Provider) stand(ctx context.Context, reels []*playback, emit provider.Emit) error {
	if err := emit(ctx, provider.Event{Kind: provider.Alive, At: p.at()}); err != nil {
		return err
	}
	for _, r := range reels {
		if r.over || !r.opened {
			continue
		}
		e := r.forming()
		e.At = p.at()
		if err := emit(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

// at is the replay's time now.
func (p *Provider) at() time.Time { return time.Unix(p.clock.Unix(p.now()), 0).UTC() }

// playback is one subscription: the bars that come next. One goroutine only.
type playback struct {
	sub    provider.Sub
	cal    market.Calendar
	bars   market.Bars
	i      int
	opened bool  // the open of bar i was sent
	from   int64 // where the bars after these begin
	over   bool  // there are no more
}

func (p *Provider) reels(ctx context.Context, subs []provider.Sub) ([]*playback, error) {
	if len(subs) == 0 {
		return nil, fault.Missing("subscriptions", "at least one symbol and interval")
	}
	now := p.clock.Unix(p.now())
	reels := make([]*playback, 0, len(subs))
	for _, sub := range subs {
		if !p.Capabilities().Has(sub.Interval) {
			return nil, provider.UnsupportedInterval(name, sub.Interval, p.Capabilities())
		}
		instrument, err := p.Instrument(ctx, sub.Symbol)
		if err != nil {
			return nil, err
		}
		r := &playback{sub: sub, cal: instrument.Calendar, from: over(instrument.Calendar, sub.Interval, now)}
		if err := r.fill(ctx, p); err != nil {
			return nil, err
		}
		reels = append(reels, r)
	}
	return reels, nil
}

// fill reads the next bars when all earlier ones were sent.
func (r *playback) fill(ctx context.Context, p *Provider) error {
	if r.i < r.bars.Len() || r.over {
		return nil
	}
	symbol, _ := p.played(r.sub.Symbol)
	page, err := p.source.Bars(ctx, provider.BarQuery{Symbol: symbol, Interval: r.sub.Interval, From: r.from, Limit: chunk})
	if err != nil {
		return err
	}
	n := page.Bars.Len()
	if page.Running {
		n-- // a file's last bar may lack its end
	}
	r.bars, r.i, r.opened = page.Bars.Slice(0, n), 0, false
	if r.over = n == 0; !r.over {
		r.from = r.bars.T[n-1] + 1
	}
	return nil
}

// span returns the time of the current bar.
func (r *playback) span() market.Span { return r.cal.Next(r.sub.Interval, r.bars.T[r.i]-1) }

// next returns when the next event is due, by the replay's clock. A reel that is
// over comes after all others.
func (r *playback) next() int64 {
	switch {
	case r.over:
		return 1 << 40
	case r.opened:
		return r.span().Close
	default:
		return r.bars.T[r.i]
	}
}

// nextEvent returns what happens next: a bar opens, or closes.
func (r *playback) nextEvent() provider.Event {
	if !r.opened {
		r.opened = true
		return r.forming()
	}
	bar := r.bars.At(r.i)
	e := provider.Event{Sub: r.sub, Kind: provider.Closed, Bar: bar, Price: bar.C, At: time.Unix(r.span().Close, 0).UTC()}
	r.i++
	r.opened = false
	return e
}

// forming returns the current bar as it opens.
func (r *playback) forming() provider.Event {
	bar := r.bars.At(r.i)
	return provider.Event{
		Sub: r.sub, Kind: provider.Forming, Price: bar.O, At: time.Unix(bar.T, 0).UTC(),
		Bar: market.Bar{T: bar.T, O: bar.O, H: bar.O, L: bar.O, C: bar.O, TakerBuy: bar.TakerBuy * 0},
	}
}
