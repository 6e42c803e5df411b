package past

import (
	"context"
	"sync"

	"candela/internal/alerting/evaluate"
	"candela/internal/data/marketdata"
	"candela/internal/work/charting"
	"candela/lib/market"
)

// LongerNeed says which longer bars conditions need, each with the number on which a value depends.
type LongerNeed map[market.Interval]int

// readLonger reads the closed longer bars that conditions need at the bars of a set from one on. A last bar
// whose longer bar the venue does not have yet is left out: the condition is not known there.
func readLonger(ctx context.Context, source charting.BarSource, asked marketdata.Request, set *marketdata.BarSet, from int, need LongerNeed) (map[market.Interval]*market.Bars, error) {
	if n := set.Bars.Len(); len(need) == 0 || n <= from {
		return nil, nil
	}
	all := make(map[market.Interval]*market.Bars, len(need))
	for on, depth := range need {
		end := set.Calendar.CloseOf(asked.Interval, set.Bars.T[set.Bars.Len()-1])
		asked := marketdata.Request{
			Symbol: asked.Symbol, Interval: on, Bars: set.Calendar.Count(on, market.Span{Open: set.Bars.T[from], Close: end}) + 2,
			Warmup: min(depth, MostWarmup), Background: asked.Background, Closed: true, End: asked.End,
		}
		got, err := source.Bars(ctx, asked)
		if err != nil {
			return nil, err
		}
		n := got.Bars.Len()
		if got.Forming {
			n--
		}
		bars := got.Bars.Slice(0, n)
		all[on] = &bars
	}
	cutUnknown(set, asked.Interval, all, from)
	return all, nil
}

// cutUnknown leaves out the last bar while the venue lacks a longer one that closed with it.
func cutUnknown(set *marketdata.BarSet, own market.Interval, longer map[market.Interval]*market.Bars, from int) {
	last := set.Bars.Len() - 1
	if last <= from {
		return
	}
	for on, bars := range longer {
		l := evaluate.Longer{Interval: on, Own: own, Calendar: set.Calendar, Bars: bars}
		if l.Lacks(set.Bars.At(last), set.Bars.At(last-1)) && !l.Lacks(set.Bars.At(last-1), market.Bar{}) {
			set.Bars = set.Bars.Slice(0, last)
			return
		}
	}
}

// ReadLonger reads the longer bars of a question about the past.
func (p *Bars) ReadLonger(ctx context.Context, source charting.BarSource, asked marketdata.Request, need LongerNeed) (err error) {
	p.Longer, err = readLonger(ctx, source, asked, &p.BarSet, p.From, need)
	return err
}

// With returns what both need.
func (n LongerNeed) With(o map[market.Interval]int) LongerNeed {
	if len(o) == 0 {
		return n
	}
	all := LongerNeed{}
	for _, one := range []map[market.Interval]int{n, o} {
		for on, depth := range one {
			all[on] = max(all[on], depth)
		}
	}
	return all
}

// LongerReads reads longer bars beside those of a scan. It is safe for concurrent use.
type LongerReads struct {
	Source charting.BarSource
	Need   LongerNeed
	Within int // bars of a symbol, the newest among them, at which they are needed

	mu   sync.Mutex
	read map[market.Symbol]map[market.Interval]*market.Bars
}

// Bars reads the closed bars of a symbol, and the longer ones.
func (l *LongerReads) Bars(ctx context.Context, asked marketdata.Request) (marketdata.BarSet, error) {
	set, err := l.Source.Bars(ctx, asked)
	if err != nil || len(l.Need) == 0 {
		return set, err
	}
	if set.Forming {
		set.Bars, set.Forming = set.Bars.Slice(0, set.Bars.Len()-1), false
	}
	longer, err := readLonger(ctx, l.Source, asked, &set, max(0, set.Bars.Len()-1-l.Within), l.Need)
	if err != nil {
		return set, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.read == nil {
		l.read = make(map[market.Symbol]map[market.Interval]*market.Bars)
	}
	l.read[asked.Symbol] = longer
	return set, nil
}

// Take returns the longer bars of a symbol once.
func (l *LongerReads) Take(s market.Symbol) map[market.Interval]*market.Bars {
	l.mu.Lock()
	defer l.mu.Unlock()
	longer := l.read[s]
	delete(l.read, s)
	return longer
}
