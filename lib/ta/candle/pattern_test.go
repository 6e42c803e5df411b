package candle

import (
	"slices"
	"strings"
	"testing"
)

func TestPatterns_AreComplete(t *testing.T) {
	t.Parallel()
	if Count != 61 {
		t.Errorf("%d patterns, TA-Lib has 61", Count)
	}
	var names []string
	common := 0
	for p := range Count {
		names = append(names, p.Name())
		if p.Common() {
			common++
		}
		if (p.Plain() != "") == (p.Bull()+p.Bear() != "") {
			t.Errorf("%s: a pattern has a direction or none", p.Name())
		}
		for _, text := range []string{p.Plain(), p.Bull(), p.Bear()} {
			if strings.HasSuffix(text, ".") || len(text) > 120 || text != "" && text[:1] != strings.ToLower(text[:1]) {
				t.Errorf("%s: %q is not a clause of at most 120 bytes", p.Name(), text)
			}
		}
	}
	if !slices.IsSorted(names) || len(slices.Compact(slices.Clone(names))) != len(names) {
		t.Error("the names are not in order, or one is there twice")
	}
	if common != 28 {
		t.Errorf("%d common patterns", common)
	}
}

func TestFind_UnderstandsOtherSpellings(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"engulfing": "engulfing", "CDLENGULFING": "engulfing", "Three White Soldiers": "3whitesoldiers",
		"three_white_soldiers": "3whitesoldiers", "3_white_soldiers": "3whitesoldiers", "hanging-man": "hangingman",
		"two crows": "2crows", "tri star": "tristar", "concealing baby swallow": "concealbabyswall",
		"doji star": "dojistar", "Abandoned Baby": "abandonedbaby", "modified hikkake": "hikkakemod",
	} {
		p, ok := Find(name)
		if !ok || p.Name() != want {
			t.Errorf("%q is %v %q, want %q", name, ok, p.Name(), want)
		}
	}
	for p := range Count {
		if q, ok := Find(p.Name()); !ok || q != p {
			t.Errorf("%s is not found by its name", p.Name())
		}
	}
	for _, name := range []string{"", "cdl", "hamme", "engulfing_bull"} {
		if p, ok := Find(name); ok {
			t.Errorf("%q is understood as %s", name, p.Name())
		}
	}
}
