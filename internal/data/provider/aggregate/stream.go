package aggregate

import (
	"context"
	"slices"
	"sync"

	"candela/internal/data/provider"
	"candela/lib/fault"
	"candela/lib/market"
)

// Stream sends the venue's events, and bars of the intervals it lacks as they
// build up. A built bar is sent when every part of it was seen to close; one
// that began before the stream did, or lost a part, is sent as prices alone,
// and its caller reads it with Bars when it has ended.
func (p *Provider) Stream(ctx context.Context, subs []provider.Sub, changes <-chan provider.Change, emit provider.Emit) error {
	streamer, ok := p.Provider.(provider.Streamer)
	if !ok {
		return &fault.Error{Kind: fault.Unsupported, Code: "not_live", Message: p.Name() + " does not stream"}
	}
	r := &relay{p: p, emit: emit, lock: make(chan struct{}, 1), fans: map[provider.Sub][]*builder{}, plain: map[provider.Sub]bool{}}
	change, err := r.change(ctx, provider.Change{Add: subs})
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	venueChanges := make(chan provider.Change)
	var running sync.WaitGroup
	var failed error // of a change
	running.Go(func() {
		if failed = r.follow(ctx, changes, venueChanges); failed != nil {
			stop()
		}
	})
	err = streamer.Stream(ctx, change.Add, venueChanges, r.pass)
	stop()
	running.Wait()
	if failed != nil {
		return failed
	}
	return err
}

// relay turns events of the venue's stream into those of the subscriptions. lock is
// held while an event is emitted: after a drop was taken none of it may come. It is a
// channel because that may take long and ctx must end it.
type relay struct {
	p     *Provider
	emit  provider.Emit
	lock  chan struct{}
	fans  map[provider.Sub][]*builder // by the venue's subscription
	plain map[provider.Sub]bool       // subscriptions that are the venue's own
}

// acquire takes the lock. The caller releases it unless an error is returned.
func (r *relay) acquire(ctx context.Context) error {
	select {
	case r.lock <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (r *relay) release() { <-r.lock }

// follow applies changes and passes the venue's part of each to its stream, until ctx
// ends or a change fails.
func (r *relay) follow(ctx context.Context, changes <-chan provider.Change, venue chan<- provider.Change) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case c := <-changes:
			change, err := r.change(ctx, c)
			switch {
			case ctx.Err() != nil:
				return nil //nolint:nilerr // the caller ended the stream
			case err != nil:
				return err
			case len(change.Add)+len(change.Drop) == 0:
				continue
			}
			select {
			case venue <- change:
			case <-ctx.Done():
				return nil
			}
		}
	}
}

// change applies a change and returns the venue's part of it.
func (r *relay) change(ctx context.Context, c provider.Change) (provider.Change, error) {
	if err := r.acquire(ctx); err != nil {
		return provider.Change{}, err
	}
	defer r.release()
	out := provider.Change{Drop: r.drop(c.Drop)}
	var err error
	out.Add, err = r.add(ctx, c.Add)
	return out, err
}

// add adds subscriptions and returns those that the venue must add.
func (r *relay) add(ctx context.Context, subs []provider.Sub) ([]provider.Sub, error) {
	var venue []provider.Sub
	for _, sub := range subs {
		from, ok := r.p.source(sub.Interval)
		if !ok {
			return nil, provider.UnsupportedInterval(r.p.Name(), sub.Interval, r.p.caps)
		}
		under := provider.Sub{Symbol: sub.Symbol, Interval: from}
		if !r.plain[under] && len(r.fans[under]) == 0 {
			venue = append(venue, under)
		}
		if from == sub.Interval {
			r.plain[under] = true
			continue
		}
		if slices.ContainsFunc(r.fans[under], func(b *builder) bool { return b.sub == sub }) {
			continue
		}
		cal, err := r.p.calendar(ctx, sub.Symbol)
		if err != nil {
			return nil, err
		}
		r.fans[under] = append(r.fans[under], &builder{sub: sub, from: from, cal: cal})
	}
	return venue, nil
}

// drop removes subscriptions and returns those that the venue must drop.
func (r *relay) drop(subs []provider.Sub) []provider.Sub {
	var venue []provider.Sub
	for _, sub := range subs {
		from, _ := r.p.source(sub.Interval)
		under := provider.Sub{Symbol: sub.Symbol, Interval: from}
		was := r.plain[under] || len(r.fans[under]) > 0
		if from == sub.Interval {
			delete(r.plain, under)
		} else {
			r.fans[under] = slices.DeleteFunc(r.fans[under], func(b *builder) bool { return b.sub == sub })
		}
		if len(r.fans[under]) == 0 {
			delete(r.fans, under)
			if was && !r.plain[under] {
				venue = append(venue, under)
			}
		}
	}
	return venue
}

// pass emits the events that one of the venue's stands for.
func (r *relay) pass(ctx context.Context, e provider.Event) error {
	if err := r.acquire(ctx); err != nil {
		return err
	}
	defer r.release()
	if e.Sub == (provider.Sub{}) || r.plain[e.Sub] {
		if err := r.emit(ctx, e); err != nil {
			return err
		}
	}
	for _, b := range r.fans[e.Sub] {
		built, ok := b.take(e)
		if !ok {
			continue
		}
		if err := r.emit(ctx, built); err != nil {
			return err
		}
	}
	return nil
}

// builder makes one subscription's bars out of shorter ones.
type builder struct {
	sub   provider.Sub
	from  market.Interval
	cal   market.Calendar
	span  market.Span // of the bar that builds up
	parts market.Bars // closed, in a row, from the beginning of the bar
	want  int64       // open of the part that comes next
	ahead []market.Bar
}

// take returns what an event of the shorter bars means for the longer one. Where
// that bar cannot be sent, the price can.
func (b *builder) take(e provider.Event) (provider.Event, bool) {
	event := provider.Event{Sub: b.sub, Kind: provider.Traded, Price: e.Price, At: e.At}
	if e.Kind == provider.Marked {
		event.Kind = provider.Marked
		return event, true
	}
	if e.Kind != provider.Forming && e.Kind != provider.Closed {
		return event, e.Kind == provider.Traded
	}
	span, ok := b.cal.Bucket(b.sub.Interval, e.Bar.T)
	if !ok {
		return event, true
	}
	// A forming part may overtake the close of the one before it, so only a closed
	// one ends what builds up.
	if b.span == (market.Span{}) || e.Kind == provider.Closed && span.Open > b.span.Open {
		b.reset(span)
	}
	switch {
	case e.Bar.T < b.want:
		return event, false // an older state of a bar that was sent
	case span != b.span:
		return event, true
	case e.Bar.T > b.want:
		if e.Kind == provider.Closed {
			b.ahead = append(b.ahead, e.Bar)
		}
		return event, true
	}
	if e.Kind == provider.Forming {
		event.Bar, ok = b.with(e.Bar)
		if ok {
			event.Kind, event.Price = provider.Forming, event.Bar.C
		}
		return event, true
	}
	b.parts.Append(e.Bar)
	b.follow(e.Bar.T)
	return b.closed(event), true
}

// closed returns the bar as it is after a part of it has closed.
func (b *builder) closed(event provider.Event) provider.Event {
	bar, ok := b.with()
	if !ok {
		return event
	}
	event.Bar, event.Kind, event.Price = bar, provider.Forming, bar.C
	if b.want >= b.span.Close {
		event.Kind = provider.Closed
		b.reset(b.cal.Next(b.sub.Interval, b.span.Open))
	}
	return event
}

func (b *builder) reset(span market.Span) {
	b.span, b.want, b.parts, b.ahead = span, span.Open, market.Bars{}, nil
}

// follow moves on behind a closed part, over those that came before it.
func (b *builder) follow(t int64) {
	for {
		b.want = b.cal.Next(b.from, t).Open
		i := slices.IndexFunc(b.ahead, func(bar market.Bar) bool { return bar.T == b.want })
		if i < 0 {
			return
		}
		b.parts.Append(b.ahead[i])
		t = b.want
	}
}

// with adds the closed parts up, and more parts behind them.
func (b *builder) with(more ...market.Bar) (market.Bar, bool) {
	sum := b.parts.Slice(0, b.parts.Len())
	for _, bar := range more {
		sum.Append(bar)
	}
	built, err := market.Aggregate(&sum, b.from, b.sub.Interval, b.cal)
	if err != nil || built.Bars.Len() != 1 {
		return market.Bar{}, false
	}
	return built.Bars.At(0), true
}
