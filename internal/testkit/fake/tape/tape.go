// Package tape makes up the trading of an exchange for the fake venues: one
// seeded path of prices per symbol, cut into the sessions of a calendar. The same
// question at the same time has the same answer, and bars of every interval agree
// with each other.
package tape

import (
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"sync"
	"time"

	"candela/internal/data/provider"
	"candela/internal/data/provider/sample"
	"candela/lib/market"
)

// Tape is the trading of one symbol. It is safe for concurrent use; its fields
// do not change.
type Tape struct {
	Symbol   string
	Calendar market.Calendar
	First    int64   // bars open from here on
	Scale    float64 // of prices; 1 gives tens to hundreds
	Digits   int     // decimals of a price
	Seed     uint64
	Shut     func(time.Time) bool // not traded though the calendar says so; nil means never

	mu   sync.Mutex
	days map[int64]market.Bars // by open, of days that are over: one bar, or none

	past     sync.Mutex
	sessions map[session]market.Bars // of sessions that are over
}

// session names the bars of one session.
type session struct {
	interval market.Interval
	open     int64
}

// maxSessions is how many are kept, by far more than a test asks for twice.
const maxSessions = 4096

// Holiday reports New Year, the fourth of July and Christmas.
func Holiday(at time.Time) bool {
	_, month, day := at.Date()
	return month == time.January && day == 1 || month == time.July && day == 4 || month == time.December && day == 25
}

// Bars returns the bars of an interval that open in [from, to), as they are at
// now. The last one is running when its time is not over.
func (t *Tape) Bars(i market.Interval, from, to, now int64) market.Bars {
	oldest := t.First
	if i >= market.Day1 {
		oldest = t.Calendar.Midnight(i, oldest) // the week of the first trade is short
	}
	first := t.Calendar.Next(i, max(from, oldest)-1)
	to = min(to, now)
	if first.Open >= to {
		return market.Bars{}
	}
	last := t.Calendar.Prev(i, to)
	fine, base := market.Bars{}, market.Day1
	if i < market.Day1 {
		base = finer(i)
		fine = t.traded(base, market.Span{Open: first.Open, Close: last.Close}, now)
	} else {
		for day := t.Calendar.Next(base, max(first.Open, t.First)-1); day.Open < min(last.Close, now); day = t.Calendar.Next(base, day.Open) {
			one := t.day(day, now)
			for k := range one.T {
				fine.Append(one.At(k))
			}
		}
	}
	return t.build(&fine, base, i)
}

// Price returns the last price at now, 0 before the first trade.
func (t *Tape) Price(now int64) float64 {
	for at := t.Calendar.Prev(market.Minute1, now); at.Open >= t.First; at = t.Calendar.Prev(market.Minute1, at.Open) {
		if t.Trades(at.Open) {
			if bars := t.Bars(market.Minute1, at.Open, now, now); bars.Len() > 0 {
				return bars.C[bars.Len()-1]
			}
		}
	}
	return 0
}

// Trades reports whether the symbol trades at a time.
func (t *Tape) Trades(at int64) bool {
	_, ok := t.Calendar.Bucket(market.Minute1, at)
	return ok && (t.Shut == nil || !t.Shut(time.Unix(at, 0).In(t.Calendar.Zone())))
}

// day returns the bar of one day, or no bar.
func (t *Tape) day(day market.Span, now int64) market.Bars {
	t.mu.Lock()
	defer t.mu.Unlock()
	if one, ok := t.days[day.Open]; ok {
		return one
	}
	fine := t.traded(market.Minute30, day, now)
	one := t.build(&fine, market.Minute30, market.Day1)
	if t.days == nil {
		t.days = make(map[int64]market.Bars)
	}
	if day.Close <= now {
		t.days[day.Open] = one
	}
	return one
}

func (t *Tape) build(fine *market.Bars, from, to market.Interval) market.Bars {
	built, err := market.Aggregate(fine, from, to, t.Calendar)
	if err != nil {
		panic("tape: " + err.Error())
	}
	return built.Bars
}

// finer returns the interval of the path that bars are cut from. Sessions open
// at half hours.
func finer(i market.Interval) market.Interval {
	for _, base := range []market.Interval{market.Minute30, market.Minute15, market.Minute5} {
		if base.Divides(i) {
			return base
		}
	}
	return market.Minute1
}

// traded returns the bars of the path that are traded and open in the span.
func (t *Tape) traded(i market.Interval, in market.Span, now int64) market.Bars {
	var out market.Bars
	for at := in.Open; at < min(in.Close, now); {
		// A session at a time: the path is made up for nothing in between.
		day, ok := t.Calendar.Bucket(market.Day1, at)
		if !ok {
			at = t.Calendar.Next(market.Day1, at).Open
			continue
		}
		part := market.Span{Open: at, Close: min(day.Close, in.Close, now)}
		if day.Close <= now {
			whole := t.over(i, day)
			for k := whole.Search(part.Open); k < whole.Search(part.Close); k++ {
				out.Append(whole.At(k))
			}
		} else {
			t.read(&out, i, part, now)
		}
		at = day.Close
	}
	return out
}

// over returns the bars of a session that is over, which do not change any more.
func (t *Tape) over(i market.Interval, day market.Span) market.Bars {
	t.past.Lock()
	defer t.past.Unlock()
	name := session{i, day.Open}
	if bars, ok := t.sessions[name]; ok {
		return bars
	}
	var bars market.Bars
	t.read(&bars, i, day, day.Close)
	if t.sessions == nil || len(t.sessions) >= maxSessions {
		t.sessions = make(map[session]market.Bars)
	}
	t.sessions[name] = bars
	return bars
}

// read appends the path's bars of a span within a session.
func (t *Tape) read(out *market.Bars, i market.Interval, in market.Span, now int64) {
	source := sample.New(sample.Config{Seed: t.Seed, Now: func() time.Time { return time.Unix(now, 0) }})
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(t.Symbol))
	path := market.Symbol{Name: fmt.Sprintf("SAMPLE-%d", sum.Sum32()%999_999+1)}
	q := provider.BarQuery{Symbol: path, Interval: i, From: in.Open, To: in.Close}
	page, err := source.Bars(context.Background(), q)
	if err != nil || page.More {
		panic(fmt.Sprintf("tape: a session of more than a page: %v", err))
	}
	scale := math.Pow10(t.Digits)
	round := func(x float64) float64 { return math.Round(x*t.Scale*scale) / scale }
	for k := range page.Bars.T {
		b := page.Bars.At(k)
		if t.Trades(b.T) {
			out.Append(market.Bar{T: b.T, O: round(b.O), H: round(b.H), L: round(b.L), C: round(b.C), V: b.V, TakerBuy: math.NaN()})
		}
	}
}
