package tool_test

import (
	"strings"
	"testing"

	"candela/internal/work/charting"
	"candela/lib/market"
	"candela/lib/pine"
	"candela/lib/ta"
)

// charted computes a script on a chart of the venue.
func charted(t *testing.T, v *venue, source string) (*market.Bars, *ta.Result) {
	t.Helper()
	d, err := pine.Compile("mine", "//@version=6\nindicator(\"mine\")\n"+source+"\n", nil)
	if err != nil {
		t.Fatal(err)
	}
	s := &ta.Selection{Def: d, Instance: d.New(ta.Values{})}
	got, err := charting.Compute(t.Context(), v, charting.Request{
		Symbol: market.Symbol{Name: "COIN"}, Interval: market.Hour1, Bars: 50, Indicators: []charting.NamedIndicator{{Name: "mine", Selection: s}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return got.Bars, got.Indicators[0].Result
}

// TestScripts_RequestOtherSymbols holds that a script gets the closes of the other symbol
// at each bar, and the bars inside of its own.
func TestScripts_RequestOtherSymbols(t *testing.T) {
	t.Parallel()
	v := &venue{}
	bars, r := charted(t, v, "plot(request.security(\"TEST:OTHER\", \"60\", close))\nplot(request.security_lower_tf(syminfo.tickerid, \"15\", close).size())")
	if r.Drawn.Problem != nil {
		t.Fatal(r.Drawn.Problem)
	}
	if len(v.asked) != 3 || v.asked[1].Symbol.Name != "OTHER" || v.asked[2].Interval != market.Minute15 || v.asked[2].Bars > 15_000 {
		t.Fatalf("asked for %+v", v.asked)
	}
	ask := v.asked[0]
	ask.Symbol.Name = "OTHER"
	other, err := (&venue{}).Bars(t.Context(), ask)
	if err != nil {
		t.Fatal(err)
	}
	shown := bars.Len() - 1 // the last one forms
	for i := range shown {
		k := other.Bars.Search(bars.T[i])
		if got := r.Lines[0].Values[i]; got != other.Bars.C[k] {
			t.Fatalf("bar %d: %v, want %v", i, got, other.Bars.C[k])
		}
		if inside := r.Lines[1].Values[i]; inside != 4 {
			t.Fatalf("bar %d has %v bars inside", i, inside)
		}
	}
}

// TestScripts_UnknownSymbolsAreErrorsOfTheScript leaves the chart and other indicators as
// they are.
func TestScripts_UnknownSymbolsAreErrorsOfTheScript(t *testing.T) {
	t.Parallel()
	_, r := charted(t, &venue{}, `plot(request.security("TVC:DXY", "60", close))`)
	if r.Drawn.Problem == nil || !strings.Contains(r.Drawn.Problem.Message, "TVC:DXY") || r.Drawn.Problem.Line != 3 {
		t.Errorf("got %+v", r.Drawn.Problem)
	}
}
