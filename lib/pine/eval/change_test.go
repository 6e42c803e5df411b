package eval_test

import "testing"

// TestTimeframeChange_IsThatOfTheChartWithoutOne calls it without an argument: each bar is one of its own.
func TestTimeframeChange_IsThatOfTheChartWithoutOne(t *testing.T) {
	t.Parallel()
	got := column(t, "//@version=6\nindicator(\"t\")\nplot(timeframe.change() ? 1 : 0)\n", ramp(4))
	for i, v := range got {
		if want := float64(min(i, 1)); v != want {
			t.Errorf("bar %d: %v, want %v", i, v, want)
		}
	}
}
