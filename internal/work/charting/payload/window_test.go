package payload_test

import (
	"testing"

	"candela/internal/work/charting/payload"
	"candela/lib/ta"
)

// TestCut_OwnsTheValuesAhead holds that the values after the last bar, as of an Ichimoku cloud, do not change
// when the memory that they were computed in is used for another indicator.
func TestCut_OwnsTheValuesAhead(t *testing.T) {
	t.Parallel()
	memory := []float64{1, 2, 3, 4}
	cut := payload.Cut(&ta.Result{
		Lines: []ta.Line{{Values: memory[:2], Ahead: memory[2:]}},
		Fills: []ta.Fill{{Y1: memory[:2], Y2: memory[:2], Ahead1: memory[2:], Ahead2: memory[3:]}},
	}, 2, 1)
	clear(memory)
	if a, b, c := cut.Lines[0].Ahead, cut.Fills[0].Ahead1, cut.Fills[0].Ahead2; a[0] != 3 || b[1] != 4 || c[0] != 4 || cut.Lines[0].Values[0] != 2 {
		t.Errorf("%v, %v, %v", a, b, c)
	}
}
