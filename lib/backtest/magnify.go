package backtest

import (
	"candela/lib/backtest/simulate"
	"candela/lib/market"
)

// Magnifier holds shorter bars of the symbol that a program trades. Where they cover a bar,
// orders fill along their paths in place of that of the bar.
type Magnifier struct {
	Bars     *market.Bars
	Interval market.Interval // of the bars that are covered
	Calendar market.Calendar
}

// Magnified is a program that may have shorter bars.
type Magnified interface {
	Program
	// Shorter returns the shorter bars, nil if there are none.
	Shorter() *Magnifier
}

// Covers counts the bars that shorter ones cover.
func (m *Magnifier) Covers(bars *market.Bars) int {
	l, n := lens{Magnifier: m}, 0
	for i := range bars.Len() {
		if len(l.at(bars.At(i))) > 0 {
			n++
		}
	}
	return n
}

// lens finds the shorter bars inside bars, which are asked for in ascending order.
type lens struct {
	*Magnifier
	next   int // index of the first shorter bar that was not passed
	inside []simulate.Bar
}

// lensOf returns a lens for a program, nil if it has no shorter bars.
func lensOf(p Program, bars *market.Bars) *lens {
	if m, ok := p.(Magnified); ok && m.Shorter() != nil && bars.Len() > 0 {
		return &lens{Magnifier: m.Shorter(), next: m.Shorter().Bars.Search(bars.T[0])}
	}
	return nil
}

// at returns the shorter bars inside a bar, none if they do not reach its extremes.
func (l *lens) at(b market.Bar) []simulate.Bar {
	s, end := l.Bars, l.Calendar.CloseOf(l.Interval, b.T)
	for l.next < s.Len() && s.T[l.next] < b.T {
		l.next++
	}
	l.inside = l.inside[:0]
	high, low := b.L, b.H
	for k := l.next; k < s.Len() && s.T[k] < end; k++ {
		high, low = max(high, s.H[k]), min(low, s.L[k])
		l.inside = append(l.inside, simulate.Bar{Time: b.T * 1000, Open: s.O[k], High: s.H[k], Low: s.L[k], Close: s.C[k]})
	}
	if high < b.H || low > b.L {
		return nil
	}
	return l.inside
}

// travel moves an account along a bar, or along the shorter bars inside it.
func (l *lens) travel(account *simulate.Account, b market.Bar) {
	whole := simulate.Bar{Time: b.T * 1000, Open: b.O, High: b.H, Low: b.L, Close: b.C, Volume: b.V}
	if l != nil {
		if inside := l.at(b); len(inside) > 0 {
			account.Magnified(whole, inside)
			return
		}
	}
	account.Bar(whole)
}
