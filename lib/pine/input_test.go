package pine_test

import (
	"encoding/json"
	"testing"

	"candela/lib/pine"
)

// TestReadInputs_LevelsAreThoseOfTheScript holds that inputs named like the levels of the catalogue are whole numbers
// where the script says so, and may be in any order.
func TestReadInputs_LevelsAreThoseOfTheScript(t *testing.T) {
	t.Parallel()
	p, found := pine.Check("//@version=6\nstrategy(\"x\")\nrsi_overbought = input.int(72)\nrsi_oversold = input.int(28)\nplot(rsi_overbought - rsi_oversold)", nil)
	if p == nil {
		t.Fatal(found)
	}
	for given, want := range map[string][2]float64{"{}": {72, 28}, `{"rsi_oversold":80}`: {72, 80}} {
		var params map[string]json.RawMessage
		if err := json.Unmarshal([]byte(given), &params); err != nil {
			t.Fatal(err)
		}
		got, err := p.ReadInputs(params)
		if err != nil || len(got) != 2 || got[0].Num != want[0] || got[1].Num != want[1] {
			t.Errorf("%s: %v %v", given, got, err)
		}
	}
}
