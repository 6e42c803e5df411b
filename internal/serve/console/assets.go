package console

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"maps"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"

	"candela/internal/serve/webchart"
)

//go:embed static
var static embed.FS

// File returns a file of the console by its name, for pages that look like it.
func File(name string) []byte {
	data, _ := static.ReadFile("static/" + name)
	return data
}

// assets are the embedded files, packed once.
type assets struct {
	version string // changes with any file, so that browsers may keep them for ever
	files   map[string]asset
}

type asset struct {
	kind          string
	plain, packed []byte // packed is nil where that saves nothing
}

func loadAssets() assets {
	all := assets{files: map[string]asset{}}
	sum := sha256.New()
	entries, _ := static.ReadDir("static") // embedded, so it exists
	for _, e := range entries {
		data, _ := static.ReadFile("static/" + e.Name())
		sum.Write([]byte(e.Name()))
		sum.Write(data)
		all.files[e.Name()] = asset{kind: kindOf(e.Name()), plain: data, packed: pack(data)}
	}
	for _, m := range webchart.Modules() {
		sum.Write(m.Source)
		all.files[m.Name] = asset{kind: kindOf(m.Name), plain: m.Source, packed: pack(m.Source)}
	}
	if plain, err := webchart.Script(); err == nil && plain != nil {
		sum.Write(plain)
		all.files["lightweight-charts.js"] = asset{kind: kindOf(".js"), plain: plain, packed: webchart.Library()}
	}
	fonts := webchart.Fonts()
	for _, name := range slices.Sorted(maps.Keys(fonts)) {
		sum.Write(fonts[name])
		all.files[name] = asset{kind: kindOf(name), plain: fonts[name]}
	}
	all.version = hex.EncodeToString(sum.Sum(nil)[:6])
	return all
}

func kindOf(name string) string {
	switch path.Ext(name) {
	case ".css":
		return "text/css; charset=utf-8"
	case ".js", ".mjs":
		return "text/javascript; charset=utf-8"
	case ".woff":
		return "font/woff"
	case ".svg":
		return "image/svg+xml"
	}
	return "application/octet-stream"
}

// path returns the address of a file.
func (a assets) path(name string) string { return Root + "/static/" + a.version + "/" + name }

// serveStatic serves an embedded file.
func (c *Console) serveStatic(w http.ResponseWriter, r *http.Request) {
	all := c.assets()
	file, ok := all.files[r.PathValue("name")]
	if !ok || r.PathValue("version") != all.version {
		http.Error(w, "Not found.", http.StatusNotFound)
		return
	}
	h := w.Header()
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	h.Set("Content-Type", file.kind)
	h.Set("Vary", "Accept-Encoding")
	body := file.plain
	if file.packed != nil && acceptsGzip(r) {
		h.Set("Content-Encoding", "gzip")
		body = file.packed
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body) // the browser may have left
}

func acceptsGzip(r *http.Request) bool {
	for part := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, params, _ := strings.Cut(strings.TrimSpace(part), ";")
		if name == "gzip" {
			return !strings.HasSuffix(strings.ReplaceAll(params, " ", ""), "q=0")
		}
	}
	return false
}

// gzipFor packs a page if the browser accepts that. A page holds nothing that a stranger chose
// next to a secret that it repeats: tokens of forms differ for each session and the cookie is
// strict, so other sites learn nothing from the length of a page.
func gzipFor(r *http.Request, body []byte) ([]byte, bool) {
	if len(body) < 1<<10 || !acceptsGzip(r) {
		return nil, false
	}
	return pack(body), true
}

func pack(data []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(data) // a buffer does not fail
	_ = w.Close()
	return b.Bytes()
}
