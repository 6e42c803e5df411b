package chart

import (
	"math"
	"testing"

	"candela/lib/ta"
)

// TestPaths_HaveABoundedNumberOfPieces draws filled curves of as many points as scripts may have, back and forth over
// the whole picture.
func TestPaths_HaveABoundedNumberOfPieces(t *testing.T) {
	t.Parallel()
	const scripts, points = 4, 10_000
	spec := basic(500)
	spec.Results = nil
	for k := range scripts {
		s := ta.Shape{Kind: ta.Path, Curved: true, Closed: true, Color: toneRed, Fill: faded(toneRed, 50), Width: 1}
		for i := range points {
			s.Points = append(s.Points, ta.Point{X: i * 7 % 400, Y: spec.Bars.C[0] * (1 + 0.01*math.Sin(float64(i*(k+1))))})
		}
		spec.Results = append(spec.Results, Named{"curves", &ta.Result{Label: "Curves", Overlay: true, Drawn: &ta.Drawn{Shapes: []ta.Shape{s}}}})
	}
	var scene Scene
	if err := scene.Layout(spec, monospace); err != nil {
		t.Fatal(err)
	}
	if most := mostPieces/2 + mostCurve + scripts*points + 1000; len(scene.Figures) > most || len(scene.Figures) < scripts*points/2 {
		t.Errorf("the picture has %d figures, want at most %d", len(scene.Figures), most)
	}
}

// TestCrossings_ReturnsNoneBeyondItsBound has a polygon whose sides all go through all columns.
func TestCrossings_ReturnsNoneBeyondItsBound(t *testing.T) {
	t.Parallel()
	var xs, ys []float64
	for i := range 100 {
		xs, ys = append(xs, float64(i%2)*50), append(ys, float64(i))
	}
	cuts := []float64{0, 10, 20, 30, 40, 50}
	if columns, pieces := crossings(xs, ys, cuts, 500); len(columns) != 5 || pieces != 500 || len(columns[4]) != 100 {
		t.Errorf("%d columns with %d pieces", len(columns), pieces)
	}
	if columns, pieces := crossings(xs, ys, cuts, 499); columns != nil || pieces != 0 {
		t.Errorf("%d columns with %d pieces beyond the bound", len(columns), pieces)
	}
}
