package ta

import (
	"math"
	"testing"

	"candela/lib/market"
)

// exactRows is a profile on paper: bars in ticks, weights in whole parts of the
// volume, edges of rows in n-ths of a tick.
type exactRows struct {
	low, height int64 // of the range, in ticks
	weight      []int64
}

// parts divides every range that coarse makes: 1 to 7 ticks.
const parts = 420

func newExactRows(bars []tickBar, n int64) exactRows {
	low, high := bars[0].l, bars[0].h
	for _, b := range bars {
		low, high = min(low, b.l), max(high, b.h)
	}
	return exactRows{low: low, height: high - low, weight: make([]int64, n)}
}

// at is the row that holds a price.
func (e *exactRows) at(price int64) int64 {
	n := int64(len(e.weight))
	return min((price-e.low)*n/e.height, n-1)
}

func (e *exactRows) addVolume(bars []tickBar) {
	n := int64(len(e.weight))
	for _, b := range bars {
		if b.h == b.l {
			e.weight[e.at(b.c)] += b.v * parts * n
			continue
		}
		for r := range n {
			bottom, top := e.low*n+e.height*r, e.low*n+e.height*(r+1)
			if overlap := min(b.h*n, top) - max(b.l*n, bottom); overlap > 0 {
				e.weight[r] += b.v * (parts / (b.h - b.l)) * overlap
			}
		}
	}
}

// area is the value area by the published rule, and whether rows shared the most.
func (e *exactRows) area(step int) (a valueArea, tied bool) {
	n, sum, most := len(e.weight), int64(0), int64(0)
	for _, w := range e.weight {
		sum += w
		most = max(most, w)
	}
	poc := -1
	for r, w := range e.weight {
		if w != most {
			continue
		}
		tied = poc >= 0
		if poc < 0 || max(2*r-n+1, n-1-2*r) < max(2*poc-n+1, n-1-2*poc) {
			poc = r
		}
	}
	a = valueArea{poc: poc, first: poc, last: poc}
	for inside := most; 10*inside < 7*sum; {
		above, below := int64(0), int64(0)
		up, down := min(step, n-1-a.last), min(step, a.first)
		for k := 1; k <= up; k++ {
			above += e.weight[a.last+k]
		}
		for k := 1; k <= down; k++ {
			below += e.weight[a.first-k]
		}
		if down == 0 || up > 0 && above > below {
			a.last, inside = a.last+up, inside+above
		} else {
			a.first, inside = a.first-down, inside+below
		}
	}
	return a, tied
}

// price is the edge or, with a half, the centre of a row.
func (e *exactRows) price(row, perUnit float64) float64 {
	return (float64(e.low) + float64(e.height)*row/float64(len(e.weight))) / perUnit
}

func TestProfile_TiesIgnoreRounding(t *testing.T) {
	t.Parallel()
	const perSession = 12
	ties := 0
	for seed := range uint64(8) {
		ticks := coarse(perSession*150, seed)
		for i := range ticks {
			ticks[i].v = 10 // as much in each bar, so that rows tie
		}
		for _, perUnit := range []float64{10, 100, 1000} {
			b := priced(ticks, perUnit)
			for _, n := range []int{5, 12, 24} {
				for from := 0; from < len(ticks); from += perSession {
					session := ticks[from : from+perSession]
					e := newExactRows(session, int64(n))
					e.addVolume(session)
					want, tied := e.area(1)
					if tied {
						ties++
					}
					p, got, ok := sessionProfile(b, from, from+perSession, n)
					if !ok || got != want {
						t.Fatalf("seed %d, %v ticks a unit, %d rows, session at %d: %+v, want %+v of %v", seed, perUnit, n, from, got, want, e.weight)
					}
					if level := e.price(float64(want.poc)+0.5, perUnit); !near(p.poc(got), level) {
						t.Fatalf("POC at %v, want %v", p.poc(got), level)
					}
				}
			}
		}
	}
	if ties == 0 {
		t.Error("no rows tied, so the test shows nothing")
	}
}

func TestTPO_EdgesIgnoreRounding(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		ticks := coarse(200, seed)
		for _, perUnit := range []float64{10, 100, 1000} {
			for _, n := range []int{8, 20, 32} {
				e := newExactRows(ticks, int64(n))
				for _, b := range ticks {
					for r := e.at(b.l); r <= e.at(b.h); r++ {
						e.weight[r]++
					}
				}
				want, _ := e.area(2)
				b := priced(ticks, perUnit)
				p, ok := newProfile(b, 0, b.Len(), n)
				if !ok {
					t.Fatal("no profile")
				}
				p.addBrackets(input(b, market.Hour1), 0, b.Len())
				for r, w := range e.weight {
					if p.total[r] != float64(w) {
						t.Fatalf("seed %d, %v ticks a unit: row %d of %d was touched %v times, want %d", seed, perUnit, r, n, p.total[r], w)
					}
				}
				if got, ok := p.area(2); !ok || got != want {
					t.Fatalf("seed %d, %v ticks a unit, %d rows: %+v, want %+v", seed, perUnit, n, got, want)
				}
			}
		}
	}
}

// TestProfile_TheLowerOfTwoRowsAsNearTheMiddle holds the last part of the rule, with
// weights that differ in the last bit.
func TestProfile_TheLowerOfTwoRowsAsNearTheMiddle(t *testing.T) {
	t.Parallel()
	up := math.Nextafter(7, 8)
	for _, c := range []struct {
		name  string
		total []float64
		want  int
	}{
		{"the upper is heavier by a bit", []float64{1, 7, 1, up, 1}, 1},
		{"the lower is heavier by a bit", []float64{1, up, 1, 7, 1}, 1},
		{"the outer is heavier by a bit", []float64{up, 1, 7, 1, 1}, 2},
		{"the outer is heavier", []float64{7.001, 1, 7, 1, 1}, 0},
		{"an even number of rows", []float64{1, 7, up, 1}, 1},
		{"all alike", []float64{7, 7, up, 7, 7, 7}, 2},
	} {
		p := profile{low: 0, row: 1, total: c.total}
		if a, ok := p.area(1); !ok || a.poc != c.want {
			t.Errorf("%s: POC in row %d, want %d", c.name, a.poc, c.want)
		}
	}
}
