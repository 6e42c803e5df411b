package sample

import (
	"context"
	"time"

	"candela/internal/data/provider"
	"candela/internal/kit/retry"
	"candela/lib/fault"
	"candela/lib/market"
)

// Stream sends each subscription's bar every four seconds as it forms, and each
// bar as it closes. It needs a clock: see Config. After a pause, as when a
// machine sleeps, every bar that closed meanwhile comes first.
func (p *Provider) Stream(ctx context.Context, subs []provider.Sub, _ <-chan provider.Change, emit provider.Emit) error {
	if p.config.Now == nil {
		return &fault.Error{Kind: fault.Unsupported, Code: "not_live", Message: "sample bars stand still: the provider was made without a clock"}
	}
	feeds, err := p.feeds(ctx, subs)
	if err != nil {
		return err
	}
	for {
		if err := retry.Sleep(ctx, p.untilStep()); err != nil {
			return err
		}
		now := p.now()
		now -= now % seconds(levelStep)
		for i := range feeds {
			if err := feeds[i].advance(ctx, now, emit); err != nil {
				return err
			}
		}
	}
}

// untilStep returns how long the step that runs has still to go.
func (p *Provider) untilStep() time.Duration {
	now, step := p.config.Now(), seconds(levelStep)
	return time.Unix(now.Unix()-now.Unix()%step+step, 0).Sub(now)
}

// feed is one subscription. since is the open of the oldest bar not sent as closed.
type feed struct {
	sub      provider.Sub
	path     *path
	since    int64
	sentUpTo int64 // the time up to which everything was sent
}

func (p *Provider) feeds(ctx context.Context, subs []provider.Sub) ([]feed, error) {
	if len(subs) == 0 {
		return nil, fault.Missing("subscriptions", "at least one symbol and interval")
	}
	caps := p.Capabilities()
	feeds := make([]feed, 0, len(subs))
	for _, sub := range subs {
		path, _, err := p.open(ctx, sub.Symbol)
		if err != nil {
			return nil, err
		}
		if !caps.Has(sub.Interval) {
			return nil, provider.UnsupportedInterval(name, sub.Interval, caps)
		}
		span, _ := market.Calendar{}.Bucket(sub.Interval, p.now())
		feeds = append(feeds, feed{sub: sub, path: path, since: span.Open})
	}
	return feeds, nil
}

// advance sends what is new at now: the bars that closed, then the one that forms.
func (f *feed) advance(ctx context.Context, now int64, emit provider.Emit) error {
	if now <= f.sentUpTo {
		return nil // the clock stood still or went back
	}
	f.sentUpTo = now
	span, ok := market.Calendar{}.Bucket(f.sub.Interval, now)
	if !ok {
		return nil
	}
	closed := f.path.bars(f.sub.Interval, f.since, span.Open)
	for i := range closed.T {
		if err := f.send(ctx, provider.Closed, closed.At(i), now, emit); err != nil {
			return err
		}
	}
	f.since = span.Open
	if now == span.Open {
		return nil
	}
	return f.send(ctx, provider.Forming, f.path.bar(span.Open, f.path.partial(span.Open, now)), now, emit)
}

func (f *feed) send(ctx context.Context, kind provider.EventKind, bar market.Bar, now int64, emit provider.Emit) error {
	event := provider.Event{Sub: f.sub, Kind: kind, Bar: bar, Price: bar.C, At: time.Unix(now, 0).UTC()}
	return emit(ctx, event)
}
