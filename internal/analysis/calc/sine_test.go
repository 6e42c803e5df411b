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
