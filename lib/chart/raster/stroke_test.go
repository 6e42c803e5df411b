package raster

import (
	"math"
	"math/rand/v2"
	"testing"
)

// coverageOf draws in white on black in true colour, where a pixel is its
// coverage level times 17.
func coverageOf(t *testing.T, w, h int, draw func(*Frame)) func(x, y int) int {
	t.Helper()
	f, err := NewStock().TrueColorFrame(w, h, Hex(0))
	if err != nil {
		t.Fatal(err)
	}
	draw(f)
	return func(x, y int) int { return int(f.pix[f.at(x, y)]) / 17 }
}

// distanceTo is the distance from a point to a polyline.
func distanceTo(xs, ys []float64, x, y float64) float64 {
	best := math.Inf(1)
	for i := 1; i < len(xs); i++ {
		dx, dy := xs[i]-xs[i-1], ys[i]-ys[i-1]
		u := 0.0
		if l := dx*dx + dy*dy; l > 0 {
			u = min(max(((x-xs[i-1])*dx+(y-ys[i-1])*dy)/l, 0), 1)
		}
		best = min(best, math.Hypot(x-xs[i-1]-u*dx, y-ys[i-1]-u*dy))
	}
	return best
}

// sampled counts the points of a fine grid within a pixel for which in holds,
// as a coverage level with its fraction.
func sampled(x, y int, in func(x, y float64) bool) float64 {
	const n = 16
	count := 0
	for i := range n {
		for j := range n {
			if in(float64(x)+(float64(i)+0.5)/n, float64(y)+(float64(j)+0.5)/n) {
				count++
			}
		}
	}
	return full * float64(count) / (n * n)
}

func sampledLine(xs, ys []float64, width float64, x, y int) float64 {
	if distanceTo(xs, ys, float64(x)+0.5, float64(y)+0.5) > width/2+0.71 {
		return 0 // no corner of the pixel is near enough
	}
	return sampled(x, y, func(px, py float64) bool { return distanceTo(xs, ys, px, py) <= width/2 })
}

func TestPolyline_MatchesSampledCoverage(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 40 {
		width := 1 + 2*random.Float64()
		wild := random.Float64() * 12
		spacing := 0.7 + random.Float64()*8
		var xs, ys []float64
		for x := 3 + random.Float64(); x < 37; x += spacing {
			xs = append(xs, x)
			ys = append(ys, 20+wild*(random.Float64()-0.5))
		}
		got := coverageOf(t, 40, 40, func(f *Frame) { f.Polyline(xs, ys, width, Hex(0xFFFFFF), Dash{}) })
		for y := range 40 {
			for x := range 40 {
				want := sampledLine(xs, ys, width, x, y)
				// Four sub-columns leave up to an eighth of a pixel at an upright edge.
				if d := math.Abs(float64(got(x, y)) - want); d > 2 {
					t.Fatalf("pixel (%d, %d) has level %d, want %.1f\nwidth %v\nxs %v\nys %v", x, y, got(x, y), want, width, xs, ys)
				}
			}
		}
	}
}

func TestPolyline_GentleLinesAreExactToALevel(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	for range 30 {
		var xs, ys []float64
		y := 10.0
		for x := 2.5; x < 58; x += 6 {
			xs, ys = append(xs, x), append(ys, y)
			y += (random.Float64() - 0.5) * 5
		}
		got := coverageOf(t, 60, 24, func(f *Frame) { f.Polyline(xs, ys, 1.6, Hex(0xFFFFFF), Dash{}) })
		for y := range 24 {
			for x := 4; x < 55; x++ { // the round ends are a steep edge
				want := sampledLine(xs, ys, 1.6, x, y)
				if d := math.Abs(float64(got(x, y)) - want); d > 1 {
					t.Fatalf("pixel (%d, %d) has level %d, want %.1f\nys %v", x, y, got(x, y), want, ys)
				}
			}
		}
	}
}

func TestPolyline_LevelLineCoversByHeight(t *testing.T) {
	t.Parallel()
	got := coverageOf(t, 40, 10, func(f *Frame) {
		f.Polyline([]float64{5, 12, 19, 35}, []float64{5, 5, 5, 5}, 1.6, Hex(0xFFFFFF), Dash{})
	})
	for x := 6; x < 34; x++ {
		for y, want := range []int{0, 0, 0, 0, 12, 12, 0, 0, 0, 0} {
			if got(x, y) != want {
				t.Fatalf("pixel (%d, %d) has level %d, want %d", x, y, got(x, y), want)
			}
		}
	}
}

func TestPolyline_BreaksAtNaN(t *testing.T) {
	t.Parallel()
	nan := math.NaN()
	got := coverageOf(t, 60, 10, func(f *Frame) {
		f.Polyline([]float64{5, 15, 25, 35, 45, 55}, []float64{5, 5, nan, 5, nan, 5}, 2, Hex(0xFFFFFF), Dash{})
	})
	for x, want := range map[int]bool{10: true, 20: false, 30: false, 35: true, 40: false, 54: true} {
		if drawn := got(x, 4) > 0; drawn != want {
			t.Errorf("column %d drawn: %v, want %v", x, drawn, want)
		}
	}
}

func TestSegment_DashesStartAtTheFirstPoint(t *testing.T) {
	t.Parallel()
	for name, ends := range map[string][2]float64{"to the right": {10, 47}, "to the left": {47, 10}} {
		got := coverageOf(t, 60, 10, func(f *Frame) {
			f.Segment(ends[0], 5, ends[1], 5, 2, Hex(0xFFFFFF), Dash{6, 4})
		})
		step, x := 1, int(ends[0])
		if ends[1] < ends[0] {
			step, x = -1, int(ends[0])-1
		}
		for i := range 37 {
			want := 0
			if i%10 < 6 {
				want = full
			}
			if got(x, 4) != want {
				t.Errorf("%s: pixel %d has level %d, want %d", name, i, got(x, 4), want)
			}
			x += step
		}
	}
}

func TestArea_IsOneBlendPerPixel(t *testing.T) {
	t.Parallel()
	xs, top, bottom := make([]float64, 20), make([]float64, 20), make([]float64, 20)
	for i := range xs {
		xs[i], top[i], bottom[i] = 2+float64(i)*1.7, 3.5, 12.25
	}
	f, err := NewStock().Frame(40, 16, Hex(0x131722))
	if err != nil {
		t.Fatal(err)
	}
	c := Hex(0x4C8DFF).Alpha(0.07)
	f.Area(xs, top, bottom, c)
	want := c.Over(Hex(0x131722)).rgb()
	for x := 2; x < 34; x++ {
		for y := 4; y < 12; y++ {
			if got := f.pal.rgb[f.pix[f.at(x, y)]]; got != want {
				t.Fatalf("pixel (%d, %d) is %06x, want %06x: a seam", x, y, got, want)
			}
		}
	}
}

func TestShapes_MatchSampledCoverage(t *testing.T) {
	t.Parallel()
	white := Hex(0xFFFFFF)
	for name, c := range map[string]struct {
		draw func(*Frame)
		in   func(x, y float64) bool
	}{
		"circle": {
			func(f *Frame) { f.Circle(10.3, 9.6, 4.5, white) },
			func(x, y float64) bool { return math.Hypot(x-10.3, y-9.6) <= 4.5 },
		},
		"triangle": {
			func(f *Frame) { f.Triangle(4.5, 14, 15.5, 14, 10, 6.5, white) },
			func(x, y float64) bool { return y <= 14 && math.Abs(x-10) <= 5.5*(y-6.5)/7.5 },
		},
		"pill": {
			func(f *Frame) { f.RoundRect(2, 3, 18, 15, 2.5, white) },
			func(x, y float64) bool {
				dx, dy := max(4.5-x, x-15.5, 0), max(5.5-y, y-12.5, 0)
				return math.Hypot(dx, dy) <= 2.5
			},
		},
	} {
		got := coverageOf(t, 20, 20, c.draw)
		for y := range 20 {
			for x := range 20 {
				if want := sampled(x, y, c.in); math.Abs(float64(got(x, y))-want) > 1 {
					t.Errorf("%s: pixel (%d, %d) has level %d, want %.1f", name, x, y, got(x, y), want)
				}
			}
		}
	}
}

// TestPolyline_UprightEnds draws upright lines at every sixteenth of a pixel, so that samples
// fall exactly on their sides, where neither end limits the cut.
func TestPolyline_UprightEnds(t *testing.T) {
	t.Parallel()
	for part := range 16 {
		x := 20 + float64(part)/16
		f, err := NewStock().Render(40, 60, Hex(0x131722), func(f *Frame) {
			f.Polyline([]float64{x, x}, []float64{20, 40}, 1, Hex(0xffffff), Dash{})
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, y := range []int{0, 10, 18, 41, 50, 59} {
			for column := range 40 {
				if f.pix[f.at(column, y)] != 0 {
					t.Errorf("a line at x %v from row 20 to 40 reaches row %d in column %d", x, y, column)
				}
			}
		}
		f.Release()
	}
}

// TestRoundRect_FarAway draws pills that lie far above and below the frame.
func TestRoundRect_FarAway(t *testing.T) {
	t.Parallel()
	for _, y := range []float64{1e300, -1e300, 1e8, -1e8} {
		f, err := NewStock().Render(40, 40, Hex(0x131722), func(f *Frame) { f.RoundRect(5, y, 35, y+10, 2, Hex(0xffffff)) })
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range f.pix {
			if v != 0 {
				t.Fatalf("a pill at y %v draws byte %d", y, i)
			}
		}
		f.Release()
	}
}
