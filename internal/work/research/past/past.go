// Package past reads what questions about the past are answered from: the closed bars of a span with those that
// indicators need before them, longer and shorter bars, and the funding rates of perpetual futures.
package past

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"candela/internal/data/marketdata"
	"candela/internal/work/charting"
	"candela/lib/fault"
	"candela/lib/market"
)

// Bounds of a question about the past.
const (
	LeastBars  = 100
	MostBars   = 15_000
	UsualBars  = 5_000
	MostWarmup = 5_000 // bars before those that count
)

// Bars are those of a question: those that count, after those for the indicators.
type Bars struct {
	marketdata.BarSet
	From int // index of the first bar that counts

	Longer map[market.Interval]*market.Bars // that conditions need
}

// Span says which closed bars a question is about.
type Span struct {
	Bars int                // the newest; with a start, all from there on
	Time charting.TimeRange // zero for the newest bars
}

// Request is the symbol and the end of the bars of a question.
func (s *Span) Request(symbol market.Symbol, i market.Interval) marketdata.Request {
	return marketdata.Request{Symbol: symbol, Interval: i, End: s.Time.End}
}

// Read reads the closed bars and as many before them as the indicators need.
func (s *Span) Read(ctx context.Context, source charting.BarSource, symbol market.Symbol, i market.Interval, warmup int) (Bars, error) {
	if s.Time.Start != 0 && s.Time.End != 0 && s.Time.Start >= s.Time.End {
		return Bars{}, fault.Field("from", market.Stamp(s.Time.Start), "a time before to, "+market.Stamp(s.Time.End-1))
	}
	bars := s.Bars
	if s.Time.Start > 0 {
		bars = MostBars + 1 // one more shows that there are too many
	}
	warmup = min(warmup, MostWarmup, marketdata.MaxRequestBars-bars-1)
	set, err := source.Bars(ctx, marketdata.Request{Symbol: symbol, Interval: i, Bars: bars + 1, Warmup: warmup, Facts: true, Closed: true, Start: s.Time.Start, End: s.Time.End})
	if err != nil {
		return Bars{}, err
	}
	n := set.Bars.Len()
	if set.Forming {
		n--
	}
	set.Bars = set.Bars.Slice(0, n)
	from := max(0, n-bars)
	if s.Time.Start > 0 {
		if from = set.Bars.Search(s.Time.Start); n-from > MostBars {
			return Bars{}, fault.Field("from", market.Stamp(s.Time.Start), fmt.Sprintf("a later time: at most %d bars lie between from and to", MostBars), market.Stamp(set.Bars.T[n-MostBars]))
		}
		if n-from < LeastBars {
			return Bars{}, fault.New(fault.Unsupported, "too_few_bars", "%s has %d closed bars of %s between from and to; at least %d are needed", symbol, n-from, i, LeastBars).About("from", market.Stamp(s.Time.Start), "an earlier time, or a shorter interval")
		}
	}
	if n < LeastBars {
		return Bars{}, fault.New(fault.Unsupported, "too_few_bars", "%s has %d closed bars of %s; at least %d are needed, so choose a shorter interval", symbol, n, i, LeastBars)
	}
	return Bars{BarSet: set, From: from}, nil
}

// Begin leaves out bars before those that are asked for, so that at most so many come before them: a script
// counts and computes from the first bar that it sees.
func (p *Bars) Begin(warmup int) {
	if cut := p.From - min(warmup, MostWarmup); cut > 0 {
		p.Bars, p.From = p.Bars.Slice(cut, p.Bars.Len()), p.From-cut
	}
}

// Data says which bars an answer is about, and what is wrong with them.
type Data struct {
	Bars      int    `json:"bars"`
	From      string `json:"from"`
	To        string `json:"to"`
	Warmup    int    `json:"warmup_bars"` // before from, for indicators
	Venue     string `json:"venue"`
	Holes     int    `json:"holes"`
	CutBar    string `json:"cut_bar,omitempty"` // in which to lies; it is left out
	BuiltFrom string `json:"built_from,omitempty"`
	Magnified string `json:"magnified,omitempty"` // how many bars have shorter ones
	Sample    bool   `json:"sample,omitempty"`
	Stale     bool   `json:"stale,omitempty"`
}

// Data describes the bars that count.
func (p *Bars) Data(i market.Interval) Data {
	shown := p.Bars.Slice(p.From, p.Bars.Len())
	d := Data{
		Bars: shown.Len(), Warmup: p.From, From: market.Stamp(shown.T[0]), To: market.Stamp(shown.T[shown.Len()-1]), Venue: p.Instrument.Venue,
		Holes: charting.Holes(&p.BarSet, &shown, i), Sample: p.Synthetic, Stale: p.Stale,
	}
	if p.Cut != 0 {
		d.CutBar = market.Stamp(p.Cut)
	}
	if p.BuiltFrom.Valid() {
		d.BuiltFrom = p.BuiltFrom.String()
	}
	return d
}

// TickOf returns the step of the prices of bars: the least power of ten that all of the
// newest closes are multiples of.
func TickOf(bars *market.Bars) float64 {
	digits := 0
	for _, c := range bars.C[max(0, bars.Len()-500):] {
		_, fraction, _ := strings.Cut(strconv.FormatFloat(c, 'f', -1, 64), ".")
		digits = max(digits, min(8, len(fraction)))
	}
	return math.Pow(10, float64(-digits))
}
