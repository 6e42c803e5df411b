package pine_test

import (
	"testing"

	"candela/lib/market"
	"candela/lib/ta"
)

// TestLimits_ScriptsOfARequestShareItsSteps runs a script that is within the steps of a chart alone, and beyond its
// share beside many others.
func TestLimits_ScriptsOfARequestShareItsSteps(t *testing.T) {
	t.Parallel()
	s := compiled(t, "//@version=6\nindicator(\"Loop\")\nx = 0.0\nfor i = 1 to 100000\n    x += i\nplot(x)\n", "")
	in := ta.Input{Env: ta.Env{Interval: market.Hour1}, Bars: bars(50)}
	if p := s.Compute(in).Drawn.Problem; p != nil {
		t.Errorf("alone it ended: %+v", p)
	}
	in.Scripts = 100
	p := s.Compute(in).Drawn.Problem
	if p == nil || p.Code != "pine_steps" || p.Line == 0 {
		t.Errorf("beside others it ended with %+v", p)
	}
}
