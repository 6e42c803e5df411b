package feed_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"candela/internal/data/provider"
	"candela/lib/fault"
	"candela/lib/market"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// window is a stretch of time.
type window struct{ from, to time.Time }

func within(windows []window, at time.Time) bool {
	return slices.ContainsFunc(windows, func(w window) bool { return !at.Before(w.from) && at.Before(w.to) })
}

// faults is how often things go wrong on a stream, each as a chance per closed
// bar.
type faults struct{ repeat, swap, late, lose float64 }

// venue is a fake that lives in virtual time. What really happened is a function of
// symbol and time alone, so every event can be held against it.
type venue struct {
	caps     provider.Caps
	calendar market.Calendar
	every    time.Duration // between events of a stream
	faults   faults
	seed     uint64
	life     time.Duration // of a stream, 0 for ever; its end is announced a minute before if polite
	polite   bool
	lag      time.Duration // between the notice of its end and what a stream sends next

	down   []window // nothing answers
	storms []window // REST answers 429
	deaf   []window // streams are connected and say nothing

	mu       sync.Mutex
	open     int // streams now
	mostOpen int
	reads    map[int64]int // by minute
	streams  int
	unknown  string // a symbol that the venue does not have
}

func newVenue(seed uint64) *venue {
	return &venue{
		caps:  provider.Caps{Intervals: market.Intervals(), PageSize: 500, Live: true, Dynamic: true},
		every: 10 * time.Second, seed: seed, reads: map[int64]int{},
	}
}

func (v *venue) Name() string                { return "venue" }
func (v *venue) Capabilities() provider.Caps { return v.caps }

// seen returns how many streams there were, at most at a time, and are.
func (v *venue) seen() (all, most, open int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.streams, v.mostOpen, v.open
}

// asked returns the reads by minute.
func (v *venue) asked() map[int64]int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return maps.Clone(v.reads)
}

// chance is the chance of one thing: the same whatever else was drawn before, so that
// nothing depends on the order in which goroutines run.
func (v *venue) chance(of ...any) float64 {
	sum := fnv.New64a()
	_, _ = fmt.Fprint(sum, of...)
	return rand.New(rand.NewPCG(v.seed, sum.Sum64())).Float64()
}

func (v *venue) Instrument(_ context.Context, s market.Symbol) (provider.Instrument, error) {
	if v.unknown != "" && s.Name == v.unknown {
		return provider.Instrument{}, provider.UnknownSymbol("venue", s)
	}
	if within(v.down, time.Now()) {
		return provider.Instrument{}, fault.Unreachable(errors.New("down"), 0, "venue is down")
	}
	return provider.Instrument{Symbol: s, Calendar: v.calendar}, nil
}

// truth is the bar of a symbol that opens at t.
func truth(s market.Symbol, i market.Interval, t int64) market.Bar {
	h := uint64(14695981039346656037)
	for _, c := range []byte(s.Name + i.String()) {
		h = (h ^ uint64(c)) * 1099511628211
	}
	h ^= uint64(t) * 0x9E3779B97F4A7C15
	h ^= h >> 29
	o, c := 100+float64(h%1000), 100+float64(h/1000%1000)
	return market.Bar{T: t, O: o, H: max(o, c) + 5, L: min(o, c) - 5, C: c, V: float64(1 + h%77), TakerBuy: float64(h % 2)}
}

// now is the bar that runs: its close is not the final one.
func forming(s market.Symbol, i market.Interval, t int64) market.Bar {
	b := truth(s, i, t)
	b.C, b.V, b.TakerBuy = b.O, b.V/2, 0
	return b
}

func (v *venue) Bars(ctx context.Context, q provider.BarQuery) (provider.BarPage, error) {
	q, err := v.caps.Normalize("venue", q)
	if err != nil {
		return provider.BarPage{}, err
	}
	if v.unknown != "" && q.Symbol.Name == v.unknown {
		return provider.BarPage{}, provider.UnknownSymbol("venue", q.Symbol)
	}
	now := time.Now()
	v.mu.Lock()
	v.reads[now.Unix()/60]++
	v.mu.Unlock()
	switch {
	case within(v.down, now):
		return provider.BarPage{}, fault.Unreachable(errors.New("down"), 0, "venue is down")
	case within(v.storms, now):
		return provider.BarPage{}, fault.Unreachable(nil, time.Duration(5+20*v.chance("storm", q, now))*time.Second, "venue: HTTP 429")
	}
	select {
	case <-time.After(time.Duration(50+v.chance("answer", q, now)*400) * time.Millisecond):
	case <-ctx.Done():
		return provider.BarPage{}, ctx.Err()
	}
	all := market.MakeBars(q.Limit, true)
	page := provider.BarPage{}
	if q.From == 0 {
		return page, errors.New("the fake is asked forward only")
	}
	// REST is up to three seconds behind.
	seen := time.Now().Add(-time.Duration(v.chance("behind", q, now) * float64(3*time.Second))).Unix()
	for span := v.calendar.Next(q.Interval, q.From-1); span.Open <= seen; span = v.calendar.Next(q.Interval, span.Open) {
		if all.Len() == q.Limit {
			page.More, page.Next = true, span.Open
			break
		}
		if span.Close > seen {
			all.Append(forming(q.Symbol, q.Interval, span.Open))
			page.Running = true
			break
		}
		all.Append(truth(q.Symbol, q.Interval, span.Open))
	}
	page.Bars = all
	return page, nil
}

// outgoing is an event that a stream holds back.
type outgoing struct {
	at time.Time
	e  provider.Event
}

// stream is one connection.
type stream struct {
	v     *venue
	began time.Time
	subs  []provider.Sub
	sent  map[provider.Sub]int64 // open of the newest bar sent
	late  []outgoing
	emit  provider.Emit
	ctx   context.Context
}

func (v *venue) Stream(ctx context.Context, subs []provider.Sub, changes <-chan provider.Change, emit provider.Emit) error {
	began := time.Now()
	v.mu.Lock()
	v.open++
	v.streams++
	v.mostOpen = max(v.mostOpen, v.open)
	v.mu.Unlock()
	defer func() {
		v.mu.Lock()
		v.open--
		v.mu.Unlock()
	}()
	for _, sub := range subs {
		if v.unknown != "" && sub.Symbol.Name == v.unknown {
			return provider.UnknownSymbol("venue", sub.Symbol)
		}
	}
	s := &stream{v: v, began: began, subs: slices.Clone(subs), sent: map[provider.Sub]int64{}, emit: emit, ctx: ctx}
	ticker := time.NewTicker(v.every)
	defer ticker.Stop()
	warned := false
	if !within(v.down, began) && !within(v.deaf, began) {
		if err := s.send(provider.Event{Kind: provider.Alive, At: began}); err != nil {
			return err
		}
	}
	for {
		now := time.Now()
		if within(v.down, now) {
			return fault.Unreachable(errors.New("reset"), 0, "venue: the stream was lost")
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case c := <-changes:
			s.subs = slices.DeleteFunc(s.subs, func(sub provider.Sub) bool { return slices.Contains(c.Drop, sub) })
			s.subs = append(s.subs, c.Add...)
			continue
		case <-ticker.C:
		}
		now = time.Now()
		if v.life > 0 && now.Sub(began) >= v.life {
			return fault.Unreachable(errors.New("24 hours"), 0, "venue: the stream was ended")
		}
		if within(v.deaf, now) {
			continue
		}
		if v.polite && !warned && v.life > 0 && now.Sub(began) >= v.life-time.Minute {
			warned = true
			if err := s.send(provider.Event{Kind: provider.Ending, At: now}); err != nil {
				return err
			}
			time.Sleep(v.lag)
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		if err := s.sendNew(now); err != nil {
			return err
		}
	}
}

func (s *stream) send(e provider.Event) error {
	return s.emit(s.ctx, e)
}

// sendNew sends the new events, with the faults.
func (s *stream) sendNew(now time.Time) error {
	for _, sub := range s.subs {
		span, trading := s.v.calendar.Bucket(sub.Interval, now.Unix())
		open := span.Open
		if !trading {
			open = s.v.calendar.Next(sub.Interval, now.Unix()).Open
		}
		last := s.v.calendar.Prev(sub.Interval, open).Open
		if sentAt, seen := s.sent[sub]; seen && sentAt < last {
			if err := s.close(sub, truth(sub.Symbol, sub.Interval, last), now); err != nil {
				return err
			}
		}
		s.sent[sub] = last
		if !trading {
			continue
		}
		bar := forming(sub.Symbol, sub.Interval, open)
		if err := s.send(provider.Event{Sub: sub, Kind: provider.Forming, Bar: bar, Price: bar.C, At: now}); err != nil {
			return err
		}
	}
	for len(s.late) > 0 && !now.Before(s.late[0].at) {
		e := s.late[0].e
		s.late = s.late[1:]
		if err := s.send(e); err != nil {
			return err
		}
	}
	return nil
}

// close sends a closed bar, usually once.
func (s *stream) close(sub provider.Sub, bar market.Bar, now time.Time) error {
	e := provider.Event{Sub: sub, Kind: provider.Closed, Bar: bar, Price: bar.C, At: now}
	hold := func(d time.Duration) {
		s.late = append(s.late, outgoing{now.Add(d), e})
		slices.SortStableFunc(s.late, func(a, b outgoing) int { return a.at.Compare(b.at) })
	}
	f := s.v.faults
	switch r := s.v.chance("close", sub, bar.T, s.began); {
	case r < f.lose:
		return nil
	case r < f.lose+f.late:
		hold(time.Duration(20+70*s.v.chance("late", sub, bar.T, s.began)) * time.Second)
		return nil
	case r < f.lose+f.late+f.swap:
		hold(0) // behind the bar that forms next
		return nil
	case r < f.lose+f.late+f.swap+f.repeat:
		hold(s.v.every)
	}
	return s.send(e)
}
