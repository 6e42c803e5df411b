package ta

import (
	"slices"
	"testing"

	"candela/lib/market"
)

// drawn computes an indicator with its defaults over hourly bars.
func drawn(t *testing.T, name string, b *market.Bars) *Result {
	t.Helper()
	s, err := Resolve(Request{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	return s.Compute(Input{Env: Env{Interval: market.Hour1}, Bars: b})
}

// TestIchimoku_AheadIsWhatTheNextBarsWillShow compares the values drawn ahead with those
// of the bars that follow.
func TestIchimoku_AheadIsWhatTheNextBarsWillShow(t *testing.T) {
	t.Parallel()
	const n, ahead = 200, 25
	later := walk(n+ahead, 5)
	now := later.Slice(0, n)
	got, want := drawn(t, "ichimoku", &now), drawn(t, "ichimoku", later)
	for _, line := range []int{2, 3} {
		if !slices.Equal(got.Lines[line].Ahead, want.Lines[line].Values[n:]) {
			t.Errorf("%s ahead is %v, the bars show %v", got.Lines[line].Label, got.Lines[line].Ahead, want.Lines[line].Values[n:])
		}
	}
	if f := got.Fills[0]; !slices.Equal(f.Ahead1, got.Lines[2].Ahead) || !slices.Equal(f.Ahead2, got.Lines[3].Ahead) {
		t.Error("the cloud ahead differs from its edges")
	}
	few := later.Slice(0, 10)
	if n := len(drawn(t, "ichimoku", &few).Lines[2].Ahead); n != 10 {
		t.Errorf("%d values ahead of 10 bars", n)
	}
}

// TestAnchored_SaysWhereItRestarts: the bars begin with a day of UTC.
func TestAnchored_SaysWhereItRestarts(t *testing.T) {
	t.Parallel()
	b := walk(60, 3)
	for _, name := range []string{"vwap", "vwap_bands", "cvd"} {
		if got := drawn(t, name, b).Restarts; !slices.Equal(got, []int{24, 48}) {
			t.Errorf("%s restarts at %v", name, got)
		}
	}
}

func TestSessionVP_HasAProfileForEachSession(t *testing.T) {
	t.Parallel()
	got := drawn(t, "session_vp", walk(60, 3)).Profiles
	if len(got) != 3 || got[1].From != 24 || got[1].To != 48 {
		t.Fatalf("%d profiles: %+v", len(got), got)
	}
	for _, p := range got {
		most := 0.0
		for _, b := range p.Bars {
			most = max(most, b.Width)
		}
		if most != 1 {
			t.Errorf("the longest bar takes %v of its session", most)
		}
	}
}
