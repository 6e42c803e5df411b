package replay

import (
	"fmt"
	"os"
	"strings"
	"testing"
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
