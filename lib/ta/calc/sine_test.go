package calc

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestSinCos_SecondDerivation(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 1))
	angles := []float64{0, math.Pi / 4, math.Pi / 2, math.Pi, -math.Pi, 2 * math.Pi, 1e-9}
	for range 20_000 {
		angles = append(angles, (r.Float64()-0.5)*100)
	}
	for _, x := range angles {
		sin, cos := SinCos(x)
		if math.Abs(sin-math.Sin(x)) > 5e-16 || math.Abs(cos-math.Cos(x)) > 5e-16 {
			t.Fatalf("%v: %v %v, want %v %v", x, sin, cos, math.Sin(x), math.Cos(x))
		}
	}
	if sin, cos := SinCos(math.NaN()); sin == sin || cos == cos {
		t.Error("the sine of NaN is a number")
	}
}

// TestHilbert_MeasuresAPlantedCycle feeds waves of a known period and phase.
func TestHilbert_MeasuresAPlantedCycle(t *testing.T) {
	t.Parallel()
	for _, period := range []float64{12, 20, 33} {
		h := NewSlab().Hilbert(37)
		var c Cycle
		for i := range 600 {
			c, _ = h.Step(100 + math.Sin(2*math.Pi*float64(i)/period))
			if i < 300 {
				continue
			}
			if math.Abs(c.Period-period) > 0.12*period {
				t.Fatalf("a cycle of %v bars is measured as %v at bar %d", period, c.Period, i)
			}
			want := math.Mod(360*float64(i)/period, 360)
			away := math.Remainder(c.Phase(0)-want, 360)
			if math.Abs(away) > 25 {
				t.Fatalf("the phase of a cycle of %v bars is %v off at bar %d", period, away, i)
			}
		}
	}
	still := NewSlab().Hilbert(37)
	for i := range 200 {
		// The series before the start are 0, which has left all of them after 30 bars.
		c, _ := still.Step(7)
		if i > 70 && (c.InPhase != 0 || c.Quadrature != 0 || c.Phase(42) != 42) {
			t.Fatalf("a price that stands still has the phasor %v, %v and the phase %v", c.InPhase, c.Quadrature, c.Phase(42))
		}
	}
}
