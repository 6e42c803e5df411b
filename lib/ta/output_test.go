package ta

import (
	"testing"

	"candela/lib/market"
)

// TestOutputs_AreWhatTheChartShows compares each output of a stream with the line or
// histogram of its label.
func TestOutputs_AreWhatTheChartShows(t *testing.T) {
	t.Parallel()
	for name, s := range defaults(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := input(walk(600, 1), market.Hour1)
			stream := s.Stream(in.Env)
			if stream == nil {
				return
			}
			shown := make(map[string][]float64)
			r := s.Compute(in)
			for _, h := range r.Hist {
				shown[h.Label] = h.Values
			}
			for _, l := range r.Lines {
				shown[l.Label] = l.Values
			}
			outputs := s.Outputs()
			for i := range in.Bars.Len() {
				row := stream.Step(in.Bars.At(i))
				for _, o := range outputs {
					if !same(row.Values[o.Column], shown[o.Label][i]) {
						t.Fatalf("%s at bar %d is %v, the chart shows %v", o.Label, i, row.Values[o.Column], shown[o.Label][i])
					}
				}
			}
		})
	}
}
