// Package chartapp is the interactive chart that clients show for generate_chart, an app in
// the sense of the protocol's extension io.modelcontextprotocol/ui: one HTML file that talks
// to the client alone.
package chartapp

import (
	_ "embed"
	"encoding/base64"
	"errors"
	"strings"
	"sync"

	"candela/internal/serve/mcp"
	"candela/internal/serve/webchart"
)

// uri is the address of the page.
const uri = "ui://candela/chart"

//go:embed page.html
var page string

//go:embed page.css
var style string

//go:embed app.mjs
var module string

// New returns the app. Its page is put together when it is first read: most clients show no apps, and the library is
// large once it is unpacked.
func New() *mcp.App {
	return &mcp.App{
		URI: uri, Name: "chart", Title: "Interactive chart", Tool: "generate_chart",
		Description: "The chart of generate_chart: pan, zoom, live prices, and levels of alerts, orders and positions.",
		Page:        sync.OnceValues(Page),
	}
}

// Page returns the page with everything it needs. Without the library it shows the picture
// of the server.
func Page() ([]byte, error) {
	library := base64.StdEncoding.EncodeToString(webchart.Library()) // the page unpacks it
	var modules strings.Builder
	for _, m := range append(webchart.Modules(), webchart.Module{Name: "app.mjs", Source: []byte(module)}) {
		modules.WriteString(compact(string(m.Source)))
	}
	if script := modules.String(); strings.Contains(strings.ToLower(script), "</script") || strings.Contains(script, "<!--") {
		return nil, errors.New("a module cannot be part of a page: it has the end of a script")
	}
	return []byte(strings.NewReplacer("{{.Style}}", style, "{{.Library}}", library, "{{.Module}}", modules.String()).Replace(page)), nil
}

// compact drops comments, indentation and imports, whose modules are in the same script.
// No text of the scripts spans lines.
func compact(source string) string {
	var kept strings.Builder
	for line := range strings.Lines(source) {
		line = strings.TrimLeft(line, " ")
		if line != "\n" && !strings.HasPrefix(line, "//") && !strings.HasPrefix(line, "import ") {
			kept.WriteString(line)
		}
	}
	return kept.String()
}
