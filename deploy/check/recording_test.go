package check

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRecording_IsSmallAndOfThisProgram: the page that everybody opens first stays small, and
// its recording shows what the program prints. Otherwise: deploy/record PROGRAM.
func TestRecording_IsSmallAndOfThisProgram(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	if len(readme) > 6<<10 || !strings.Contains(string(readme), "(docs/demo.svg)") {
		t.Errorf("README.md has %d bytes, of at most %d, and links docs/demo.svg", len(readme), 6<<10)
	}
	recording, err := os.ReadFile(filepath.Join(root, "docs", "demo.svg"))
	if err != nil {
		t.Fatal(err)
	}
	if len(recording) > 100<<10 {
		t.Errorf("the recording has %d bytes", len(recording))
	}
	var text strings.Builder
	for d := xml.NewDecoder(strings.NewReader(string(recording))); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if data, isText := token.(xml.CharData); isText {
			text.Write(data)
		}
	}
	for _, want := range []string{
		"$ candela demo", "24 tools: charts", "place_order", "protected by the stop", "Saved as candela-demo.png", "run_backtest",
		"The alert fired", "/console", "then ask your agent", "$ candela install claude-code",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the recording does not show %q", want)
		}
	}
	if !strings.Contains(string(recording), `dur="40s"`) {
		t.Error("the recording does not last 40 seconds")
	}
}
