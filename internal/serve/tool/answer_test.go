package tool_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"candela/internal/serve/tool"
	"candela/internal/serve/tool/tooltest"
	"candela/internal/work/charting"
)

// TestAnswer_IsBounded holds that scripts that draw long texts do not make a long answer.
func TestAnswer_IsBounded(t *testing.T) {
	t.Parallel()
	registry := tooltest.Extended(t, (&tooltest.Trading{}).Parts(), tool.ScriptsSet)
	const source = `//@version=6
indicator("t", overlay=true, max_labels_count=500)
var b = str.repeat("x", 4000)
if barstate.islast
    for i = 0 to 59
        label.new(bar_index, close, b, tooltip=b)
plot(1)
`
	var scripts []string
	for i := range 24 {
		text, err := json.Marshal(source + fmt.Sprintf("//%d\n", i))
		if err != nil {
			t.Fatal(err)
		}
		scripts = append(scripts, `{"name":"pine","source":`+string(text)+`}`)
	}
	r := call(t, registry, "generate_chart", `{"symbol":"BTCUSDT","bars":60,"format":"series","indicators":[`+strings.Join(scripts, ",")+`]}`)
	if text := string(r.Content[0].Text); !r.IsError || !strings.Contains(text, `"answer_too_large"`) || !strings.Contains(text, "format summary") {
		t.Errorf("%.300s", text)
	}
}

func TestAnswer_LimitIsPublished(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/limits.md")
	if err != nil {
		t.Fatal(err)
	}
	if row := fmt.Sprintf("\n| One answer of a tool | %d MiB |", charting.MaxAnswer>>20); !strings.Contains(string(page), row) {
		t.Errorf("docs/limits.md lacks the row %q", row[1:])
	}
}
