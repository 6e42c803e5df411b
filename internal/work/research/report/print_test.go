package report

import (
	"strconv"
	"strings"
	"testing"
)

func TestSigned(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"-1.50": "\u22121.50", "net -3 (-4 %)": "net \u22123 (\u22124 %)", "2026-11-20": "2026-11-20", "Look-ahead": "Look-ahead", "": "", "-": "-",
	} {
		if got := signed(text); got != want {
			t.Errorf("%q is written %q, want %q", text, got, want)
		}
	}
}

// Prices keep their digits, and lose what is noise of 32 bits.
func TestDecimalsOf_Prices(t *testing.T) {
	t.Parallel()
	for want, values := range map[string][]float64{
		"114763.25": {114763.25}, "46763.00": {46763}, "135.35": {135.350006}, "0.00001398": {0.00001398}, "0.5": {0.5},
	} {
		if got := strconv.FormatFloat(values[0], 'f', decimalsOf("close", values), 64); got != want {
			t.Errorf("%v is written %s, want %s", values[0], got, want)
		}
	}
	if n := decimalsOf("rsi", []float64{33.899534}); n != 4 {
		t.Errorf("a value of an indicator has %d decimals", n)
	}
}

// A table fits the width, in parts that begin with the first column; the width of a row does not depend on
// its colours.
func TestPrinting_Fits(t *testing.T) {
	t.Parallel()
	rows := [][]cell{{{"", "symbol"}, {"n", "close"}, {"n", "volume"}, {"n", "rsi"}}, {{"", "AAPL"}, {"n", "135.35"}, {"n up", "22,118,000"}, {"n", "88.7170"}}}
	how := Printing{Width: 24, Paint: func(class, text string) string { return "<" + class + ">" + text }}
	plain := Printing{Width: 24, Paint: func(_, text string) string { return text }}
	want := "  symbol   close\n  AAPL    135.35\n\n  symbol      volume\n  AAPL    22,118,000\n\n  symbol      rsi\n  AAPL    88.7170\n"
	if got := plain.aligned(rows); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := how.aligned(rows); !strings.Contains(got, "<up>22,118,000") || !strings.Contains(got, "<head>close") {
		t.Errorf("got\n%s", got)
	}
	plain.Width = 0
	if got := plain.aligned(rows); strings.Count(got, "\n") != 2 {
		t.Errorf("without a width\n%s", got)
	}
}
