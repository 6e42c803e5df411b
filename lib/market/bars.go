// Package market defines bars, symbols, intervals and trading sessions. It does no I/O,
// reads no clock and starts no goroutines.
package market

import (
	"fmt"
	"math"
	"slices"
)

// The open times a bar may have: the years 1 to 9999, which RFC 3339 can write.
const (
	minTime = -62135596800
	maxTime = 253402300799
)

// Bar is one period of trading. T is the period's open in unix seconds UTC.
// TakerBuy is the part of V bought by takers, NaN if the venue does not report it.
type Bar struct {
	T                       int64
	O, H, L, C, V, TakerBuy float64
}

// Bars is a run of bars in columns, ascending in T, because indicators read one
// column at a time. TakerBuy is nil if the venue does not report it; every other
// column has the length of T. A Bars handed to another package is read-only.
type Bars struct {
	T             []int64
	O, H, L, C, V []float64
	TakerBuy      []float64
}

// MakeBars returns an empty Bars with room for n bars.
func MakeBars(n int, takerBuy bool) Bars {
	columns := make([]float64, 5*n)
	b := Bars{
		T: make([]int64, 0, n),
		O: columns[0*n : 0*n : 1*n],
		H: columns[1*n : 1*n : 2*n],
		L: columns[2*n : 2*n : 3*n],
		C: columns[3*n : 3*n : 4*n],
		V: columns[4*n : 4*n : 5*n],
	}
	if takerBuy {
		b.TakerBuy = make([]float64, 0, n)
	}
	return b
}

// Len returns the number of bars.
func (b *Bars) Len() int { return len(b.T) }

// At returns bar i.
func (b *Bars) At(i int) Bar {
	bar := Bar{T: b.T[i], O: b.O[i], H: b.H[i], L: b.L[i], C: b.C[i], V: b.V[i], TakerBuy: math.NaN()}
	if b.TakerBuy != nil {
		bar.TakerBuy = b.TakerBuy[i]
	}
	return bar
}

// Append adds a bar at the end. The taker-buy column stays nil until a bar
// has a value, and is NaN for bars without one.
func (b *Bars) Append(bar Bar) {
	if b.TakerBuy == nil && !math.IsNaN(bar.TakerBuy) {
		b.TakerBuy = make([]float64, len(b.T), cap(b.T)+1)
		for i := range b.TakerBuy {
			b.TakerBuy[i] = math.NaN()
		}
	}
	b.T = append(b.T, bar.T)
	b.O = append(b.O, bar.O)
	b.H = append(b.H, bar.H)
	b.L = append(b.L, bar.L)
	b.C = append(b.C, bar.C)
	b.V = append(b.V, bar.V)
	if b.TakerBuy != nil {
		b.TakerBuy = append(b.TakerBuy, bar.TakerBuy)
	}
}

// Slice returns bars [from, to) sharing b's memory.
func (b *Bars) Slice(from, to int) Bars {
	s := Bars{
		T: b.T[from:to:to], O: b.O[from:to:to], H: b.H[from:to:to],
		L: b.L[from:to:to], C: b.C[from:to:to], V: b.V[from:to:to],
	}
	if b.TakerBuy != nil {
		s.TakerBuy = b.TakerBuy[from:to:to]
	}
	return s
}

// Keep drops all but the last n bars and moves these to the front of the memory, which must be
// shared with nobody.
func (b *Bars) Keep(n int) {
	drop := b.Len() - n
	if drop <= 0 {
		return
	}
	b.T = b.T[:copy(b.T, b.T[drop:])]
	for _, column := range []*[]float64{&b.O, &b.H, &b.L, &b.C, &b.V, &b.TakerBuy} {
		if *column != nil {
			*column = (*column)[:copy(*column, (*column)[drop:])]
		}
	}
}

// Tail returns the last n bars, or all of them when there are fewer. It shares
// b's memory.
func (b *Bars) Tail(n int) Bars { return b.Slice(max(0, b.Len()-max(0, n)), b.Len()) }

// Search returns the index of the first bar that opens at or after t, or Len
// when there is none. Open times must ascend.
func (b *Bars) Search(t int64) int {
	i, _ := slices.BinarySearch(b.T, t)
	return i
}

// Equal reports whether two bars are equal. Unknown taker-buy volumes are equal.
func (b Bar) Equal(other Bar) bool {
	unknown := math.IsNaN(b.TakerBuy) && math.IsNaN(other.TakerBuy)
	if unknown {
		b.TakerBuy, other.TakerBuy = 0, 0
	}
	return b == other
}

// Check returns what is wrong with the bar, or nil. Every number must be finite,
// low at or below open and close, high at or above them, volume not negative and
// taker-buy volume within it or unknown. Prices may be zero or negative: spreads
// and some futures trade there. An open time outside the years 1 to 9999 is
// refused because it is not in seconds: milliseconds are the usual slip.
func (b Bar) Check() error {
	for _, f := range [...]struct {
		name  string
		value float64
	}{{"open", b.O}, {"high", b.H}, {"low", b.L}, {"close", b.C}, {"volume", b.V}} {
		if math.IsNaN(f.value) || math.IsInf(f.value, 0) {
			return b.wrong("%s is %v", f.name, f.value)
		}
	}
	switch {
	case b.T < minTime || b.T > maxTime:
		return fmt.Errorf("bar %d: open time is not in unix seconds", b.T)
	case b.L > min(b.O, b.C):
		return b.wrong("low %v is above open %v or close %v", b.L, b.O, b.C)
	case b.H < max(b.O, b.C):
		return b.wrong("high %v is below open %v or close %v", b.H, b.O, b.C)
	case b.V < 0:
		return b.wrong("volume %v is negative", b.V)
	case b.TakerBuy < 0 || b.TakerBuy > b.V:
		return b.wrong("taker-buy volume %v is outside 0 to %v", b.TakerBuy, b.V)
	}
	return nil
}

func (b Bar) wrong(format string, args ...any) error {
	return fmt.Errorf("bar %s: %s", Stamp(b.T), fmt.Sprintf(format, args...))
}

// Check returns the first thing that is wrong with the bars: columns of unequal
// length, a bar that fails its own Check, or open times that do not ascend.
func (b *Bars) Check() error {
	for _, c := range [...]struct {
		name string
		n    int
	}{{"open", len(b.O)}, {"high", len(b.H)}, {"low", len(b.L)}, {"close", len(b.C)}, {"volume", len(b.V)}} {
		if c.n != len(b.T) {
			return fmt.Errorf("%s column has %d values for %d bars", c.name, c.n, len(b.T))
		}
	}
	if b.TakerBuy != nil && len(b.TakerBuy) != len(b.T) {
		return fmt.Errorf("taker-buy column has %d values for %d bars", len(b.TakerBuy), len(b.T))
	}
	for i := range b.T {
		bar := b.At(i)
		if err := bar.Check(); err != nil {
			return err
		}
		if i > 0 && b.T[i] <= b.T[i-1] {
			return disorder(b.T[i-1], b.T[i])
		}
	}
	return nil
}

// ChangePct returns the change from one price to another in percent of the first.
func ChangePct(from, to float64) float64 { return (to - from) / math.Abs(from) * 100 }
