package sample

import (
	"math"
	"testing"
)

func TestNoise_HasTheMomentsItClaims(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		draw                func(*noise) float64
		mean, variance, low float64
	}{
		"uniform":     {(*noise).uniform, 0.5, 1.0 / 12, 0},
		"normal":      {(*noise).normal, 0, 1, -3.5},
		"exponential": {(*noise).exponential, 1, 1, 0},
		"skewed":      {func(n *noise) float64 { return n.skewed(0.4) }, 1 + 0.2*0.2, 0.16, 0.05},
	} {
		n := stream(1, 2, 3)
		const draws = 200_000
		var sum, squares float64
		for range draws {
			x := tc.draw(&n)
			if x < tc.low {
				t.Fatalf("%s: drew %v, below %v", name, x, tc.low)
			}
			sum += x
			squares += x * x
		}
		mean := sum / draws
		variance := squares/draws - mean*mean
		if math.Abs(mean-tc.mean) > 0.01 || math.Abs(variance-tc.variance) > 0.03*max(1, tc.variance) {
			t.Errorf("%s: mean %.4f and variance %.4f, want %.4f and %.4f", name, mean, variance, tc.mean, tc.variance)
		}
	}
}

// The maximum of a Brownian path of variance 1 from 0 to 0 has mean
// sqrt(pi/8), and is never below its ends.
func TestNoise_ExtremeIsThatOfABridge(t *testing.T) {
	t.Parallel()
	n := stream(4, 5, 6)
	const draws = 100_000
	sum := 0.0
	for range draws {
		x := n.extreme(0, 0, 1)
		if x < 0 || n.extreme(1, 3, 0.5) < 3 {
			t.Fatal("a maximum lies below an end")
		}
		sum += x
	}
	if got, want := sum/draws, math.Sqrt(math.Pi/8); math.Abs(got-want) > 0.01 {
		t.Errorf("mean %.4f, want %.4f", got, want)
	}
}
