package chart

import (
	"encoding/json"
	"testing"

	"candela/lib/market"
	"candela/lib/ta"
	"candela/lib/ta/candle"
)

// patternSpec is a chart of the last n bars of a walk with candle patterns.
func patternSpec(t *testing.T, seed uint64, n int, patterns string) *Spec {
	t.Helper()
	b := walk(seed, n+50, 65000, 4*3600)
	s, err := ta.Resolve(ta.Request{Name: "candles", Params: map[string]json.RawMessage{"patterns": json.RawMessage(patterns)}})
	if err != nil {
		t.Fatal(err)
	}
	r := s.Compute(ta.Input{Env: ta.Env{Interval: market.Hour4}, Bars: &b})
	return &Spec{
		Bars: b.Tail(n), Symbol: "BTCUSDT", Interval: market.Hour4, Width: 960, Height: 540,
		Results: []Named{{"candles", lastBars(r, b.Len(), n)}},
	}
}

// TestPatterns_NamesCoverNoBar requires a dot for each bar and side with a pattern, and
// names that cover neither bars nor each other.
func TestPatterns_NamesCoverNoBar(t *testing.T) {
	t.Parallel()
	titles := map[string]bool{}
	for p := range candle.Count {
		titles[p.Title()] = true
	}
	for seed := range uint64(8) {
		for _, patterns := range []string{`"common"`, `"all"`} {
			spec := patternSpec(t, seed, 150, patterns)
			s := layoutOf(t, spec)
			if len(s.Marks) != len(spec.Results[0].Result.Signals) {
				t.Errorf("%d dots for %d patterns", len(s.Marks), len(spec.Results[0].Result.Signals))
			}
			l := layout{Scene: s, spec: spec, s: 1}
			var boxes []Rect
			for i := range s.Labels {
				label := &s.Labels[i]
				if !titles[label.Text] {
					continue
				}
				box := l.textBox(label)
				for _, c := range s.Candles {
					if box.overlaps(c.Wick) || box.overlaps(c.Body) {
						t.Errorf("seed %d: %q covers a bar", seed, label.Text)
					}
				}
				for _, other := range boxes {
					if box.overlaps(other) {
						t.Errorf("seed %d: %q covers another name", seed, label.Text)
					}
				}
				boxes = append(boxes, box)
			}
			if len(boxes) < 5 {
				t.Errorf("seed %d: %d names", seed, len(boxes))
			}
		}
	}
}

// TestPatterns_HaveTheirDirection holds dots against the side of their label.
func TestPatterns_HaveTheirDirection(t *testing.T) {
	t.Parallel()
	for label, want := range map[string]look{
		"engulfing_bull": {up: true}, "hangingman_bear": {}, "hikkake_confirmed_bull": {up: true}, "doji": {minor: true},
	} {
		got := lookOf(label)
		if got.pattern == nil || got.up != want.up || got.minor != want.minor || got.arrow {
			t.Errorf("%s: %+v", label, got)
		}
	}
	if dotWords([]ta.Signal{{Label: "haramicross_bull"}}) != "" {
		t.Error("the legend takes a harami cross for a cross of lines")
	}
}
