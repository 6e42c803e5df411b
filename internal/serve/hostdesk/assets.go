package hostdesk

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"

	"candela/internal/serve/console"
	"candela/internal/serve/webchart"
)

//go:embed static
var static embed.FS

//go:embed templates
var templates embed.FS

// assets are the files of the pages: those of the console, the fonts and what only the desk has.
type assets struct {
	version string // changes with any file, so that browsers may keep them for ever
	files   map[string][]byte
}

func loadAssets() assets {
	all := assets{files: webchart.Fonts()}
	for _, name := range []string{"console.css", "door.css", "favicon.svg"} {
		all.files[name] = console.File(name)
	}
	for _, name := range []string{"host.css", "host.js"} {
		all.files[name], _ = static.ReadFile("static/" + name) // embedded, so it exists
	}
	sum := sha256.New()
	for _, name := range []string{"console.css", "door.css", "favicon.svg", "host.css", "host.js"} {
		sum.Write(all.files[name])
	}
	all.version = hex.EncodeToString(sum.Sum(nil)[:6])
	return all
}

func (d *Desk) serveStatic(w http.ResponseWriter, r *http.Request) {
	all := d.assets()
	file, ok := all.files[r.PathValue("name")]
	if !ok || r.PathValue("version") != all.version {
		http.Error(w, "Not found.", http.StatusNotFound)
		return
	}
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	w.Header().Set("Content-Type", map[string]string{
		".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".woff": "font/woff", ".svg": "image/svg+xml",
	}[path.Ext(r.PathValue("name"))])
	w.Header().Set("Content-Length", strconv.Itoa(len(file)))
	_, _ = w.Write(file) // the browser may have left
}

func (d *Desk) parse() (map[string]*template.Template, error) {
	shared, err := template.New("").Funcs(template.FuncMap{
		"static": func(name string) string { return Root + "/static/" + d.assets().version + "/" + name },
		"icon":   console.Icons(), "count": count, "day": func(t time.Time) string { return t.UTC().Format("2 Jan 2006") },
		"minute": func(t time.Time) string { return t.UTC().Format("15:04") }, "ago": func(t time.Time) string { return ago(d.cfg.Now().Sub(t)) }, "short": short, "dict": dict,
	}).ParseFS(templates, "templates/frame.html")
	if err != nil {
		return nil, fmt.Errorf("templates: %w", err)
	}
	entries, err := templates.ReadDir("templates")
	all := map[string]*template.Template{}
	for _, e := range entries {
		var one *template.Template
		if one, err = shared.Clone(); err == nil {
			one, err = one.ParseFS(templates, "templates/"+e.Name())
		}
		if err != nil {
			return nil, fmt.Errorf("templates: %w", err)
		}
		all[strings.TrimSuffix(e.Name(), ".html")] = one
	}
	return all, err
}

// count writes a number with commas.
func count(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

func ago(d time.Duration) string {
	switch {
	case d < time.Minute:
		return strconv.Itoa(max(0, int(d.Seconds()))) + " s ago"
	case d < time.Hour:
		return strconv.Itoa(int(d.Minutes())) + " min ago"
	case d < 48*time.Hour:
		return strconv.Itoa(int(d.Hours())) + " h ago"
	}
	return strconv.Itoa(int(d.Hours()/24)) + " d ago"
}

// dict makes the data of a part of a template from names and values.
func dict(pairs ...any) map[string]any {
	m := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if name, ok := pairs[i].(string); ok {
			m[name] = pairs[i+1]
		}
	}
	return m
}
