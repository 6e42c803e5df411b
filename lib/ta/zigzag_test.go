package ta

import (
	"math"
	"slices"
	"testing"

	"candela/lib/market"
)

// plainEnd is an end of a leg and the bar that confirmed it.
type plainEnd struct {
	x, confirmed int
	price        float64
	high         bool
}

// plainLegs finds the ends of legs by searching from each for the next. far returns how
// far the price must come back from a price at a bar.
func plainLegs(b *market.Bars, far func(i int, from float64) float64) []plainEnd {
	ends := plainStart(b, far)
	if len(ends) == 0 {
		return nil
	}
	for {
		last := ends[len(ends)-1]
		price, back, sign := b.L, b.H, -1.0 // a falling leg follows a high
		if !last.high {
			price, back, sign = b.H, b.L, 1
		}
		next := plainEnd{x: -1, high: !last.high}
		for i := last.confirmed + 1; i < b.Len() && next.x < 0; i++ {
			e := last.confirmed // the furthest price of the leg before bar i
			for k := last.x + 1; k < i; k++ {
				if sign*price[k] > sign*price[e] {
					e = k
				}
			}
			if sign*price[i] <= sign*price[e] && sign*(price[e]-back[i]) >= far(e, price[e]) {
				next.x, next.confirmed, next.price = e, i, price[e]
			}
		}
		if next.x < 0 {
			return ends
		}
		ends = append(ends, next)
	}
}

// plainStart is the end that the first leg begins with.
func plainStart(b *market.Bars, far func(i int, from float64) float64) []plainEnd {
	for i := range b.Len() {
		top, bottom := 0, 0
		for k := range i + 1 {
			if b.H[k] > b.H[top] {
				top = k
			}
			if b.L[k] < b.L[bottom] {
				bottom = k
			}
		}
		height := b.H[top] - b.L[bottom]
		switch {
		case top == i && bottom < i && height >= far(i, b.L[bottom]):
			return []plainEnd{{bottom, i, b.L[bottom], false}}
		case bottom == i && top < i && height >= far(i, b.H[top]):
			return []plainEnd{{top, i, b.H[top], true}}
		}
	}
	return nil
}

// legCases are both units with their plain distance.
func legCases(t *testing.T, b *market.Bars) map[string]func(i int, from float64) float64 {
	t.Helper()
	atr := lineOf(t, computedOn(t, `atr {"period":10}`, b), "ATR")
	return map[string]func(int, float64) float64{
		`{"deviation":4,"unit":"percent"}`: func(_ int, from float64) float64 { return 0.04 * from },
		`{"deviation":3,"unit":"atr"}`: func(i int, _ float64) float64 {
			if math.IsNaN(atr[i]) {
				return math.Inf(1)
			}
			return 3 * atr[i]
		},
	}
}

func TestZigZag_SecondDerivation(t *testing.T) {
	t.Parallel()
	b := walk(700, 51)
	for params, far := range legCases(t, b) {
		r := computedOn(t, "zigzag "+params, b)
		ends := plainLegs(b, far)
		known := func(i int) int {
			for k, e := range slices.Backward(ends) {
				if e.confirmed <= i {
					return k
				}
			}
			return -1
		}
		sameLine(t, params, lineOf(t, r, "Pivot"), func(i int) float64 {
			if k := known(i); k >= 0 {
				return ends[k].price
			}
			return math.NaN()
		})
		sameLine(t, params, lineOf(t, r, "Extreme"), func(i int) float64 {
			k := known(i)
			switch {
			case k < 0:
				return math.NaN()
			case ends[k].high:
				return -highestOf(negated(b.L[ends[k].x+1 : i+1]))
			}
			return highestOf(b.H[ends[k].x+1 : i+1])
		})
		turned := func(high bool) func(int) bool {
			return func(i int) bool {
				k := known(i)
				return k > 0 && ends[k].confirmed == i && ends[k].high == high
			}
		}
		expect(t, r, "flip_up", b.Len(), turned(false))
		expect(t, r, "flip_down", b.Len(), turned(true))
		if len(r.DivLines) != len(ends) { // one between each two, and the running one
			t.Fatalf("%d legs for %d ends", len(r.DivLines), len(ends))
		}
		for k, d := range r.DivLines[:len(ends)-1] {
			if d.X1 != ends[k].x || d.X2 != ends[k+1].x || d.Y1 != ends[k].price || d.Y2 != ends[k+1].price || d.Dashed || d.Bull != ends[k+1].high {
				t.Errorf("leg %+v between %+v and %+v", d, ends[k], ends[k+1])
			}
		}
		if last := r.DivLines[len(ends)-1]; !last.Dashed || last.X1 != ends[len(ends)-1].x {
			t.Errorf("the running leg is %+v", last)
		}
	}
}

func TestAutoFib_SecondDerivation(t *testing.T) {
	t.Parallel()
	b := walk(700, 52)
	ratios, names := fibRatios()
	for params, far := range legCases(t, b) {
		s, err := Resolve(request(t, "auto_fib "+params))
		if err != nil {
			t.Fatal(err)
		}
		ends := plainLegs(b, far)
		level := func(k float64) func(int) float64 {
			return func(i int) float64 {
				for e := len(ends) - 1; e > 0; e-- {
					if ends[e].confirmed <= i {
						return ends[e].price*(1-k) + ends[e-1].price*k
					}
				}
				return math.NaN()
			}
		}
		columns := rowsOf(s, input(b, market.Hour1))
		r := s.Compute(input(b, market.Hour1))
		shown := ends[len(ends)-1].confirmed
		for i, k := range ratios {
			sameLine(t, names[i], columns[i], level(k))
			sameLine(t, names[i], lineOf(t, r, names[i])[shown:], func(j int) float64 { return level(k)(shown + j) })
			if x := lineOf(t, r, names[i])[shown-1]; x == x {
				t.Errorf("%s is drawn before its leg was confirmed", names[i])
			}
		}
		if d := r.DivLines; len(d) != 1 || d[0].X1 != ends[len(ends)-2].x || d[0].X2 != ends[len(ends)-1].x {
			t.Errorf("the leg is drawn as %+v", d)
		}
	}
}

func TestFractals_SecondDerivation(t *testing.T) {
	t.Parallel()
	b := walk(structureBars, 53)
	for i := range b.Len() { // coarse ticks, so that equal bars occur
		b.H[i], b.L[i] = math.Ceil(b.H[i]), math.Floor(b.L[i])
	}
	r := computedOn(t, "fractals", b)
	// frontier j: j bars before it at most equal, then two beyond.
	rule := func(x []float64, sign float64) func(int) bool {
		return func(i int) bool {
			c := i - 2
			if c < 2 || !(sign*x[c+1] < sign*x[c]) || !(sign*x[c+2] < sign*x[c]) {
				return false
			}
			for j := range 5 {
				ok := c-j-2 >= 0
				for k := 1; ok && k <= j; k++ {
					ok = sign*x[c-k] <= sign*x[c]
				}
				if ok && sign*x[c-j-1] < sign*x[c] && sign*x[c-j-2] < sign*x[c] {
					return true
				}
			}
			return false
		}
	}
	expect(t, r, "fractal_up", b.Len(), rule(b.H, 1))
	expect(t, r, "fractal_down", b.Len(), rule(b.L, -1))
	held := func(x []float64, sign float64) func(int) float64 {
		return func(i int) float64 {
			for ; i > 0; i-- {
				if rule(x, sign)(i) {
					return x[i-2]
				}
			}
			return math.NaN()
		}
	}
	sameLine(t, "up", lineOf(t, r, "Fractal Up"), held(b.H, 1))
	sameLine(t, "down", lineOf(t, r, "Fractal Down"), held(b.L, -1))
}
