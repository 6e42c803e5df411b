package pine_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"candela/lib/pine"
	"candela/lib/pine/eval"
)

// TestLimits_OfScriptsArePublished holds docs/limits.md against the limits of scripts.
func TestLimits_OfScriptsArePublished(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/limits.md")
	if err != nil {
		t.Fatal(err)
	}
	chart, test, alert := eval.ChartLimits(), eval.BacktestLimits(), eval.AlertLimits()
	for _, row := range []string{
		fmt.Sprintf("| Steps on a bar | %s | %s | %s |", thousands(chart.BarSteps), thousands(test.BarSteps), thousands(alert.BarSteps)),
		fmt.Sprintf("| Steps in all | %s | %s | no bound |", thousands(chart.TotalSteps), thousands(test.TotalSteps)),
		fmt.Sprintf("| Processor time | %v in all | %v in all | %v a bar |", chart.TotalTime, test.TotalTime, alert.BarTime),
		fmt.Sprintf("| Memory held | %d MiB | %d MiB | %d MiB |", chart.Memory>>20, test.Memory>>20, alert.Memory>>20),
		fmt.Sprintf("| Values computed ahead | %d MiB | none | none |", chart.Memory>>20),
		fmt.Sprintf("| Texts and collections made | %d GiB in all | %d GiB in all | %d MiB a bar |", chart.Made>>30, test.Made>>30, alert.Made>>20),
		fmt.Sprintf("| Text of all drawings | %d KiB |", pine.MaxDrawnText>>10),
		fmt.Sprintf("| Points of all polylines | %s |", thousands(pine.MaxDrawnPoints)),
		fmt.Sprintf("| Cells of all tables | %s |", thousands(pine.MaxDrawnCells)),
	} {
		if !strings.Contains(string(page), row) {
			t.Errorf("docs/limits.md lacks the row %q", row)
		}
	}
}

// thousands writes a number with commas.
func thousands(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
