package tape

import (
	"context"
	"fmt"
	"time"

	"candela/internal/data/marketdata"
	"candela/internal/work/charting"
	"candela/lib/market"
	"candela/lib/ta"
)

// Signal is a signal of an indicator over minutes that an alert waits for.
type Signal struct {
	Symbol, Indicator, Label string
}

// history is how many minutes are read: more than any indicator looks at. ahead is
// how far beyond the minute asked for they are read, since the next one is too.
const (
	history = 5000
	ahead   = 10 * time.Minute
)

// window is closed minutes of a symbol, up to a time.
type window struct {
	bars market.Bars
	end  int64 // when the last of them closed
}

// chart is an indicator over the minutes of a symbol, of which the last closed at a
// time.
type chart struct {
	symbol, indicator string
	closed            int64
}

// shown is a source whose last bar is one that has just closed.
type shown struct{ bars market.Bars }

// Bars returns the newest bars.
func (s shown) Bars(_ context.Context, r marketdata.Request) (marketdata.BarSet, error) {
	return marketdata.BarSet{Symbol: r.Symbol, Bars: s.bars.Tail(r.Bars + r.Warmup)}, nil
}

// closedAt returns the minutes of a symbol of which the last closed at a time. The
// caller has locked charting.
func (t *Tape) closedAt(symbol string, closed int64) market.Bars {
	w := t.windows[symbol]
	if w.end < closed {
		at := time.Unix(closed, 0).Add(ahead)
		bars := t.Minutes(symbol, at, history)
		for n := bars.Len(); n > 0 && bars.T[n-1]+60 > at.Unix(); n-- {
			bars = bars.Slice(0, n-1) // it runs
		}
		w = window{bars, bars.T[bars.Len()-1] + 60}
		t.windows[symbol] = w
	}
	return w.bars.Slice(0, w.bars.Search(closed))
}

// Signals returns what a chart shows that is asked for when a minute has just closed:
// the values of the signals that this minute confirms, by label. It is computed by the
// code of charts, over the venue's own bars. A name that is in no catalogue panics.
func (t *Tape) Signals(symbol, name string, closed int64) map[string]float64 {
	t.charting.Lock()
	defer t.charting.Unlock()
	key := chart{symbol, name, closed}
	if values, ok := t.charts[key]; ok {
		return values
	}
	selection, err := ta.ResolveAlert(name)
	if err != nil {
		panic(err)
	}
	q := charting.Request{
		Symbol: market.Symbol{Name: symbol}, Interval: market.Minute1, Bars: 200,
		Indicators: []charting.NamedIndicator{{Name: name, Selection: selection}},
	}
	drawn, err := charting.Compute(context.Background(), shown{t.closedAt(symbol, closed)}, q)
	if err != nil {
		panic(fmt.Sprintf("%s of %s: %v", name, symbol, err))
	}
	values := map[string]float64{}
	for _, s := range drawn.Indicators[0].Result.Signals {
		if _, ok := values[s.Label]; !ok && s.Confirmed == drawn.Bars.Len()-1 {
			values[s.Label] = s.Y
		}
	}
	t.charts[key] = values
	return values
}

// First returns what must have fired an alert that was made at a time, when everything
// up to the end is known: the first minute that closed after it was made and confirms
// the signal, when that closed, and the signal's value.
func (t *Tape) First(s Signal, made, end time.Time) (closed time.Time, value float64, found bool) {
	for at := made.Unix() - made.Unix()%60 + 60; at <= end.Unix(); at += 60 {
		if value, found = t.Signals(s.Symbol, s.Indicator, at)[s.Label]; found {
			return time.Unix(at, 0), value, true
		}
	}
	return time.Time{}, 0, false
}
