package chart

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestColumns_FitAndStayApart(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, MaxBars).Draw(t, "n")
		scale := rapid.IntRange(1, MaxScale).Draw(t, "scale")
		width := rapid.IntRange(66, 4096).Draw(t, "width") * scale
		ahead := rapid.IntRange(0, 60).Draw(t, "ahead")
		c := newColumns(n, ahead, width, scale)
		if c.Step < 1 || c.N*c.Per < n || (c.N-1)*c.Per >= n {
			t.Fatalf("%+v", c)
		}
		if (c.Body-c.Wick)%2 != 0 {
			t.Fatalf("a wick of %d is not in the middle of a body of %d", c.Wick, c.Body)
		}
		if c.Step >= 4 && float64(c.Body) > math.Floor(c.Step)-1 {
			t.Fatalf("no gap: body %d, step %v", c.Body, c.Step)
		}
		if c.Step >= bodyFrom && c.Body < 3 {
			t.Fatalf("no body: %d of step %v", c.Body, c.Step)
		}
		if c.Step >= 8 && (float64(c.Body) < c.Step*0.6 || float64(c.Body) > c.Step*0.9) {
			t.Fatalf("body %d of step %v", c.Body, c.Step)
		}
		// The margin at the right is the same number of columns at every zoom.
		free := (float64(width)-c.Left)/c.Step - float64(c.N+(ahead+c.Per-1)/c.Per)
		if c.Step*float64(leftBars+rightBars+c.N) <= float64(width) && math.Abs(free-rightBars) > 1/c.Step+1e-9 {
			t.Fatalf("%v columns are free at the right: %+v", free, c)
		}
		left := c.wickLeft(0) - (c.Body-c.Wick)/2
		right := c.wickLeft(c.N-1) + (c.Body+c.Wick)/2
		if left < 0 || right > width {
			t.Fatalf("columns reach from %d to %d of %d: %+v", left, right, width, c)
		}
		for i := 1; i < n; i += 7 {
			if c.x(i) < c.x(i-1) {
				t.Fatalf("bar %d is left of the one before it", i)
			}
		}
	})
}

func TestColumns_KeepTheFiguresOfTheDesign(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		n, width  int
		step      float64
		body, per int
	}{
		"200 bars at 1361 px":             {200, 1361, 1361.0 / 204, 5, 1},
		"200 bars where whole pixels fit": {200, 1230, 6, 5, 1},
		"one bar is not a wall":           {1, 1361, 64, 49, 1},
		"400 bars have bodies":            {400, 1310, 1310.0 / 404, 3, 1},
		"600 bars at 1790 px have bodies": {600, 1790, 1790.0 / 604, 3, 1},
		"2000 bars share columns":         {2000, 1361, 1361.0 / 1004, 1, 2},
	} {
		c := newColumns(tc.n, 0, tc.width, 1)
		if c.Step != tc.step || c.Body != tc.body || c.Per != tc.per {
			t.Errorf("%s: %+v", name, c)
		}
	}
}
