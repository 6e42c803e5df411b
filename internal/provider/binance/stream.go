package binance

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"candela/internal/fault"
	"candela/internal/market"
	"candela/internal/provider"
	"candela/internal/upstream"
)

const (
	maxSubs = 1024 // streams of one connection
	perCall = 200  // streams named in one message of ours
	// The venue takes five messages a second, pongs among them.
	spacing = 300 * time.Millisecond
	// A connection with bars of a minute brings some in this time, however little
	// is traded.
	quiet = 3 * time.Minute
	// confirmWithin is how long the venue may take to confirm subscriptions.
	confirmWithin = 30 * time.Second
)

// live is one connection.
type live struct {
	provider *Provider
	socket   *upstream.Socket
	out      chan<- provider.Event

	mu       sync.Mutex
	subs     map[string]provider.Sub // by name of the stream
	sequence provider.Sequence
	lastID   int64
	waiting  map[int64]bool // messages of ours that are not confirmed
	inForce  chan struct{}  // closed when the first subscriptions are confirmed
	ready    bool
}

// Stream tells the klines of the subscriptions. See provider.Streamer.
func (p *Provider) Stream(ctx context.Context, subs []provider.Sub, out chan<- provider.Event) error {
	return p.StreamChanging(ctx, subs, nil, out)
}

// StreamChanging is Stream with subscriptions that change. The venue takes the
// name of any symbol and is silent about one that it does not have.
func (p *Provider) StreamChanging(ctx context.Context, subs []provider.Sub, changes <-chan provider.Change, out chan<- provider.Event) error {
	if len(subs) == 0 {
		return fault.Missing("subscriptions", "at least one symbol and interval")
	}
	l := &live{
		provider: p, out: out, subs: make(map[string]provider.Sub, len(subs)),
		waiting: make(map[int64]bool), inForce: make(chan struct{}),
	}
	names, err := l.add(subs)
	if err != nil {
		return err
	}
	l.socket, err = p.hosts.Dial(ctx, upstream.SocketConfig{
		Venue: name, URL: strings.TrimSuffix(p.config.StreamURL, "/") + "/stream", Spacing: spacing, Quiet: quiet, OnPing: l.alive,
	})
	if err != nil {
		return explain(err, subs[0].Symbol, "streams")
	}
	defer l.socket.Close()
	return l.socket.Serve(ctx, l.handle, func(ctx context.Context) error { return l.write(ctx, names, changes) })
}

// add notes subscriptions and returns the names of those that are new.
func (l *live) add(subs []provider.Sub) ([]string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	caps := l.provider.Capabilities()
	var names []string
	for _, sub := range subs {
		spelled, err := spell(sub.Symbol)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(caps.Intervals, sub.Interval) {
			return nil, provider.UnsupportedInterval(name, sub.Interval, caps.Intervals)
		}
		stream := strings.ToLower(spelled) + "@kline_" + sub.Interval.String()
		if _, have := l.subs[stream]; !have {
			l.subs[stream] = sub
			names = append(names, stream)
		}
	}
	if len(l.subs) > maxSubs {
		return nil, fault.Field("subscriptions", strconv.Itoa(len(l.subs)), fmt.Sprintf("at most %d in one stream", maxSubs))
	}
	return names, nil
}

// drop forgets subscriptions and returns the names of those there were.
func (l *live) drop(subs []provider.Sub) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var names []string
	for stream, have := range l.subs {
		if slices.Contains(subs, have) {
			delete(l.subs, stream)
			l.sequence.Forget(have)
			names = append(names, stream)
		}
	}
	slices.Sort(names)
	return names
}

// write subscribes, and then follows the changes and the age of the connection.
func (l *live) write(ctx context.Context, names []string, changes <-chan provider.Change) error {
	if err := l.request(ctx, "SUBSCRIBE", names); err != nil {
		return err
	}
	late := time.NewTimer(confirmWithin)
	defer late.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-late.C:
		return fault.Unreachable(nil, 0, "binance: the subscriptions were not confirmed within %v", confirmWithin)
	case <-l.inForce:
	}
	age := time.NewTimer(l.provider.config.MaxAge)
	defer age.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-age.C:
			if err := l.send(ctx, provider.Event{Kind: provider.Ending, At: l.provider.config.Now()}); err != nil {
				return err
			}
		case change := <-changes:
			if err := l.change(ctx, change); err != nil {
				return err
			}
		}
	}
}

func (l *live) change(ctx context.Context, c provider.Change) error {
	if err := l.request(ctx, "UNSUBSCRIBE", l.drop(c.Drop)); err != nil {
		return err
	}
	names, err := l.add(c.Add)
	if err != nil {
		return err
	}
	return l.request(ctx, "SUBSCRIBE", names)
}

// request sends a method for the streams, in as many messages as it takes.
func (l *live) request(ctx context.Context, method string, names []string) error {
	// All are noted before the first is sent: an answer must not find that nothing
	// is awaited while more is to come.
	l.mu.Lock()
	first := l.lastID + 1
	for range (len(names) + perCall - 1) / perCall {
		l.lastID++
		l.waiting[l.lastID] = true
	}
	l.mu.Unlock()
	for id := first; len(names) > 0; id++ {
		n := min(len(names), perCall)
		text := `{"method":"` + method + `","params":["` + strings.Join(names[:n], `","`) + `"],"id":` + strconv.FormatInt(id, 10) + `}`
		if err := l.socket.Send(ctx, []byte(text)); err != nil {
			return err
		}
		names = names[n:]
	}
	return nil
}

// handle takes a message of the venue's.
func (l *live) handle(ctx context.Context, data []byte) error {
	m, err := parseMessage(data)
	if err != nil {
		return upstream.BadAnswer(name, "stream "+m.stream, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case m.isAnswer:
		return l.confirm(ctx, m.id)
	case m.event == "serverShutdown":
		return l.send(ctx, provider.Event{Kind: provider.Ending, At: m.at})
	case m.event != "kline" || !l.ready:
		return nil // a bar that comes before all are in force will be read afterwards
	}
	sub, ok := l.subs[m.stream]
	if !ok {
		return nil // dropped a moment ago
	}
	if span, ok := (market.Calendar{}).Bucket(sub.Interval, m.kline.bar.T); !ok || span.Open != m.kline.bar.T || m.kline.interval != sub.Interval.String() {
		return upstream.BadAnswer(name, "stream "+m.stream, fmt.Errorf("a bar of %s that opens at %d", m.kline.interval, m.kline.bar.T))
	}
	e := provider.Event{Sub: sub, Kind: provider.Forming, Bar: m.kline.bar, Price: m.kline.bar.C, At: m.at}
	if m.kline.closed {
		e.Kind = provider.Closed
	}
	if !l.sequence.Admit(&e) {
		return nil
	}
	return l.send(ctx, e)
}

// confirm takes note of an answer. When the first subscriptions are in force it
// says so.
func (l *live) confirm(ctx context.Context, id int64) error {
	delete(l.waiting, id)
	if l.ready || len(l.waiting) > 0 {
		return nil
	}
	l.ready = true
	close(l.inForce)
	return l.send(ctx, provider.Event{Kind: provider.Alive, At: l.provider.config.Now()})
}

// send blocks while nobody listens. Handling holds the lock meanwhile, so that
// after a drop was taken no event of it comes.
func (l *live) send(ctx context.Context, e provider.Event) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case l.out <- e:
		return nil
	}
}

// alive tells that the venue pinged. It runs within a read and does not wait: the
// next ping comes in twenty seconds.
func (l *live) alive() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.ready {
		return
	}
	select {
	case l.out <- provider.Event{Kind: provider.Alive, At: l.provider.config.Now()}:
	default:
	}
}
