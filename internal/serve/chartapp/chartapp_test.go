package chartapp_test

import (
	"encoding/base64"
	"regexp"
	"strings"
	"testing"

	"candela/internal/serve/chartapp"
	"candela/internal/serve/webchart"
)

// maxPage keeps the page small: clients have shown a blank frame for pages of 700 KB.
const maxPage = 180_000

func TestPage_IsOneFileThatReachesNothing(t *testing.T) {
	t.Parallel()
	data, err := chartapp.Page()
	if err != nil {
		t.Fatal(err)
	}
	if len(data) > maxPage {
		t.Errorf("the page has %d bytes", len(data))
	}
	page := strings.Replace(string(data), base64.StdEncoding.EncodeToString(webchart.Library()), "", 1)
	if got := strings.Count(page, "<script"); got != 2 {
		t.Errorf("%d scripts", got)
	}
	for _, word := range []string{"{{", "src=\"", "<link", "@import", "url(", "fetch(", "XMLHttpRequest", "WebSocket", "innerHTML", "eval(", "\nimport "} {
		if strings.Contains(page, word) {
			t.Errorf("the page has %q", word)
		}
	}
	for _, address := range regexp.MustCompile(`https?://[^"' )]+`).FindAllString(page, -1) {
		if address != "https://www.tradingview.com/" {
			t.Errorf("the page names %s", address)
		}
	}
}

// The page never calls a tool that changes something: its only call is that of the chart.
func TestPage_CallsTheChartAlone(t *testing.T) {
	t.Parallel()
	data, err := chartapp.Page()
	if err != nil {
		t.Fatal(err)
	}
	calls := regexp.MustCompile(`'tools/call', \{ name: '([a-z_]+)'`).FindAllStringSubmatch(string(data), -1)
	if len(calls) != 1 || calls[0][1] != "generate_chart" || strings.Count(string(data), "tools/call") != 1 {
		t.Errorf("the page calls %v", calls)
	}
}

func TestNew_BindsTheTool(t *testing.T) {
	t.Parallel()
	app := chartapp.New()
	page, err := app.Page()
	if err != nil || app.URI != "ui://candela/chart" || app.Tool != "generate_chart" || len(app.Callable) != 0 || len(page) == 0 {
		t.Errorf("%+v, %v", app, err)
	}
}
