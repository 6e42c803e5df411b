package replay

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"candela/internal/alerting/evaluate"
	"candela/lib/market"
	"candela/lib/ta"
)

// TestColumns_LimitIsPublished holds docs/limits.md against what a sweep keeps.
func TestColumns_LimitIsPublished(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../../docs/limits.md")
	if err != nil {
		t.Fatal(err)
	}
	if row := fmt.Sprintf("| Values of indicators that a sweep keeps | %d MiB |", mostColumns*8>>20); !strings.Contains(string(page), row) {
		t.Errorf("docs/limits.md lacks the row %q", row)
	}
}

// TestColumns_KeepWhatIsAskedForInTurns asks for more columns than fit in one order again and again, as a sweep
// does: most of them must be there.
func TestColumns_KeepWhatIsAskedForInTurns(t *testing.T) {
	t.Parallel()
	bars := market.MakeBars(400, false)
	for i := range 400 {
		bars.Append(market.Bar{T: int64(i) * 3600, O: 1, H: 2, L: 1, C: 1 + float64(i%7)/7})
	}
	const most = 9 // of the ten
	k, asked, computed := &Columns{Bars: &bars, most: most * bars.Len()}, 0, 0
	for range 10 {
		for length := 2; length < 12; length++ {
			s, err := ta.Resolve(ta.Request{Name: fmt.Sprintf("rsi(%d)", length)})
			if err != nil {
				t.Fatal(err)
			}
			i := &indicatorOf{key: s.Key(), Evaluator: evaluate.New(s, ta.Env{Interval: market.Hour1})}
			known := k.kept[i.key].columns
			if asked++; k.of(i) != known {
				computed++
			}
			if len(k.order) != len(k.kept) || k.size > k.most || k.size != len(k.kept)*bars.Len() {
				t.Fatalf("%d values of %d columns are kept, at most %d", k.size, len(k.kept), k.most)
			}
		}
	}
	if computed > asked/3 {
		t.Errorf("%d of %d were computed", computed, asked)
	}
	s, err := ta.Resolve(ta.Request{Name: "rsi(2)"})
	if err != nil {
		t.Fatal(err)
	}
	i := &indicatorOf{key: s.Key(), Evaluator: evaluate.New(s, ta.Env{Interval: market.Hour1}), signals: true}
	if k.of(i); !k.kept[i.key].signals || k.size > k.most || len(k.order) != len(k.kept) {
		t.Errorf("with signals %d values of %d columns are kept", k.size, len(k.kept))
	}
}
