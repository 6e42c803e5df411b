package engine_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"time"

	"candela/internal/data/provider"
	"candela/lib/fault"
	"candela/lib/market"
)

// tickEvery is how often the price of the fake venue changes.
const tickEvery = 5

// venue is a market in virtual time. Its price is a function of symbol and time
// alone, so that what an engine did can be held against what happened.
type venue struct {
	wave func(s market.Symbol, t int64) float64 // the price at t, a multiple of tickEvery
	caps provider.Caps

	mu      sync.Mutex
	down    bool                              // nothing answers and streams are cut
	dry     bool                              // no bars are read, though they are streamed
	gone    string                            // a symbol that is no longer known
	slow    time.Duration                     // how long bars take to be read
	behind  map[market.Interval]time.Duration // how much later than others it has bars of an interval
	cut     context.CancelFunc
	streams context.Context
	reads   int
	read    time.Time            // when bars were read last
	subs    map[provider.Sub]int // streamed now
	made    map[provider.Sub]market.Bars
	mark    float64 // sent beside each forming bar, 0 for none
}

func newVenue(wave func(s market.Symbol, t int64) float64) *venue {
	v := &venue{
		wave: wave,
		caps: provider.Caps{Intervals: []market.Interval{market.Minute1, market.Minute5, market.Hour1}, PageSize: 1000, Live: true, Dynamic: true},
		subs: make(map[provider.Sub]int), made: make(map[provider.Sub]market.Bars),
	}
	v.streams, v.cut = context.WithCancel(context.Background())
	return v
}

// waves is a price that goes up and down at several speeds.
func waves(s market.Symbol, t int64) float64 {
	phase := float64(len(s.Name)) + float64(s.Name[0])
	x := float64(t)
	h := uint64(t)*0x9E3779B97F4A7C15 ^ uint64(s.Name[0])<<40
	h ^= h >> 31
	noise := float64(h%1000)/1000 - 0.5
	price := 1000 + 40*math.Sin(x/9000+phase) + 20*math.Sin(x/1100+phase) + 8*math.Sin(x/170) + 4*noise
	return math.Round(price*100) / 100
}

// setDown cuts the venue off, or lets it answer again.
func (v *venue) setDown(down bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.down = down
	v.cut()
	if !down {
		v.streams, v.cut = context.WithCancel(context.Background())
	}
}

func (v *venue) Name() string                { return "venue" }
func (v *venue) Capabilities() provider.Caps { return v.caps }

func (v *venue) Instrument(_ context.Context, s market.Symbol) (provider.Instrument, error) {
	if err := v.answer(); err != nil {
		return provider.Instrument{}, err
	}
	if s.Name == "NONE" || s.Name == v.gone {
		return provider.Instrument{}, provider.UnknownSymbol("venue", s, "BTC")
	}
	return provider.Instrument{Symbol: s}, nil
}

func (v *venue) answer() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.reads++
	if v.down {
		return fault.Unreachable(errors.New("down"), 0, "venue is down")
	}
	return nil
}

// asked returns how often something was asked for.
func (v *venue) asked() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.reads
}

// lastRead returns when bars were read last.
func (v *venue) lastRead() time.Time {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.read
}

func (v *venue) isDry() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.dry
}

func (v *venue) setDry(dry bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.dry = dry
}

// setSlow sets how long bars take to be read.
func (v *venue) setSlow(d time.Duration) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.slow = d
}

// bar is the bar that opens at t as it was at a time before its end, or whole.
func (v *venue) bar(s market.Symbol, i market.Interval, t, until int64) market.Bar {
	first := v.wave(s, t)
	b := market.Bar{T: t, O: first, H: first, L: first, C: first, V: 1, TakerBuy: 0.5}
	for at := t + tickEvery; at < min(t+i.Seconds(), until+1); at += tickEvery {
		p := v.wave(s, at)
		b.H, b.L, b.C = max(b.H, p), min(b.L, p), p
		b.V++
	}
	return b
}

// closed is a whole bar, made once.
func (v *venue) closed(s market.Symbol, i market.Interval, t int64) market.Bar {
	return v.bar(s, i, t, math.MaxInt64-1)
}

func (v *venue) Bars(_ context.Context, q provider.BarQuery) (provider.BarPage, error) {
	v.mu.Lock()
	slow := v.slow
	v.mu.Unlock()
	time.Sleep(slow)
	v.mu.Lock()
	v.read = time.Now()
	v.mu.Unlock()
	q, err := v.caps.Normalize("venue", q)
	if err == nil {
		err = v.answer()
	}
	if err == nil && v.isDry() {
		err = fault.Unreachable(errors.New("dry"), 0, "venue has no bars today")
	}
	if err != nil {
		return provider.BarPage{}, err
	}
	const listed = 1_600_000_000 / 3600 * 3600
	now, step := v.clock(q.Interval, time.Now().Unix()), q.Interval.Seconds()
	to := now + 1
	if q.To != 0 {
		to = min(to, q.To)
	}
	last := (to - 1) / step * step // the newest bar that opens before to
	from := max(listed, last-int64(q.Limit-1)*step)
	page := provider.BarPage{More: from > listed, Next: from}
	if q.From != 0 {
		from = max(listed, (q.From+step-1)/step*step)
		end := min(last, from+int64(q.Limit-1)*step)
		page.More, page.Next = end < last, end+step
		last = end
	}
	page.Bars = market.MakeBars(q.Limit, true)
	symbol := market.Symbol{Name: q.Symbol.Name}
	for t := from; t <= last; t += step {
		if t+step > now {
			page.Bars.Append(v.bar(symbol, q.Interval, t, now/tickEvery*tickEvery))
			page.Running = true
		} else {
			page.Bars.Append(v.closed(symbol, q.Interval, t))
		}
	}
	return page, nil
}

// Stream emits the bar of every subscription with each tick.
func (v *venue) Stream(ctx context.Context, subs []provider.Sub, changes <-chan provider.Change, emit provider.Emit) error {
	if err := v.answer(); err != nil {
		return err
	}
	v.mu.Lock()
	lost := v.streams.Done()
	v.mu.Unlock()
	defer func() { v.note(nil, subs) }()
	v.note(subs, nil)
	ticker := time.NewTimer(untilTick())
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-lost:
			return fault.Unreachable(nil, 0, "venue: the stream was cut")
		case c := <-changes:
			v.note(c.Add, c.Drop)
			subs = slices.DeleteFunc(slices.Clone(subs), func(s provider.Sub) bool { return slices.Contains(c.Drop, s) })
			subs = append(subs, c.Add...)
			continue
		case <-ticker.C:
		}
		ticker.Reset(untilTick())
		now := time.Now().Unix()
		for _, sub := range subs {
			for _, e := range v.events(sub, now) {
				if err := emit(ctx, e); err != nil {
					return err
				}
			}
		}
	}
}

func untilTick() time.Duration {
	now := time.Now()
	next := time.Unix((now.Unix()/tickEvery+1)*tickEvery, 0)
	return next.Sub(now)
}

func (v *venue) note(added, dropped []provider.Sub) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, s := range added {
		v.subs[s]++
	}
	for _, s := range dropped {
		if v.subs[s]--; v.subs[s] <= 0 {
			delete(v.subs, s)
		}
	}
}

// clock returns the time up to which the venue has bars of an interval.
func (v *venue) clock(i market.Interval, now int64) int64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	return now - int64(v.behind[i]/time.Second)
}

// setBehind sets how much later than others the venue has bars of an interval.
func (v *venue) setBehind(i market.Interval, by time.Duration) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.behind = map[market.Interval]time.Duration{i: by}
}

// events are what happens at a tick.
func (v *venue) events(sub provider.Sub, now int64) []provider.Event {
	step := sub.Interval.Seconds()
	now = v.clock(sub.Interval, now)
	symbol, at := market.Symbol{Name: sub.Symbol.Name}, time.Unix(now, 0).UTC()
	var events []provider.Event
	if now%step == 0 {
		bar := v.closed(symbol, sub.Interval, now-step)
		events = append(events, provider.Event{Sub: sub, Kind: provider.Closed, Bar: bar, Price: bar.C, At: at})
	}
	bar := v.bar(symbol, sub.Interval, now/step*step, now)
	v.mu.Lock()
	mark := v.mark
	v.mu.Unlock()
	if mark > 0 {
		events = append(events, provider.Event{Sub: sub, Kind: provider.Marked, Price: mark, At: at})
	}
	return append(events, provider.Event{Sub: sub, Kind: provider.Forming, Bar: bar, Price: bar.C, At: at})
}
