// Package door has what the pages for people who are not logged in share: the consent
// page and the page at the root. They have no script.
package door

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"net/http"
	"strconv"
)

//go:embed style.css
var style string

// Style returns the content of the page's style element.
func Style() template.CSS { return template.CSS(style) } //nolint:gosec // G203: an embedded file

// ContentPolicy returns the content security policy of the pages. It allows the style by
// its hash, the icon, and the fonts. There is no form-action: Chromium applies it to the redirect that
// follows a form and would block the response to the client.
func ContentPolicy() string {
	sum := sha256.Sum256([]byte(style))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; img-src 'self'; font-src 'self'; frame-ancestors 'none'; base-uri 'none'"
}

// Write writes a page with headers that forbid framing, caching and scripts. secure is
// whether the server is reached over https.
func Write(w http.ResponseWriter, status int, policy string, secure bool, page []byte) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Frame-Options", "DENY")
	// No opener policy: it would cut off clients that open the consent page in a popup.
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	if secure {
		h.Set("Strict-Transport-Security", "max-age=31536000")
	}
	h.Set("X-Content-Type-Options", "nosniff")
	// Not no-referrer: it would make the Origin of a form "null".
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Length", strconv.Itoa(len(page)))
	w.WriteHeader(status)
	_, _ = w.Write(page) // the browser may have disconnected
}
