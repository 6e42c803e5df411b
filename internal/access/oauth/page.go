package oauth

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"candela/internal/access/cimd"
	"candela/internal/kit/principal"
)

//go:embed page.html
var pageHTML string

//go:embed page.css
var pageCSS string

// pageData is the content of the page: a request to decide, or a problem.
type pageData struct {
	Style   template.CSS
	Service string
	Host    string // of this server

	Client   string   // its own name, unverified
	Renewed  bool     // the client connected before a restart
	Document string   // the host of the client's document, verified; "" for a registration
	Anyone   bool     // the document has loopback redirects only
	Stranger bool     // the browser goes to another host than the document's
	Login    string   // sealed; asks for the passphrase before the document is fetched
	Target   string   // where the browser goes next: a host, or the scheme of an app
	Kind     string   // of the target: loopback, app or site
	Scopes   []option // to choose from; none without trading
	Narrow   bool     // the client asks for less than trade
	TTLs     []option
	Request  string // sealed
	LoggedIn bool
	Mistake  string // error of the passphrase

	Problem *Error
	Heal    template.URL // link for a client of an earlier run
	Remedy  string
}

// parsePage returns the page and its content security policy, which allows the inline
// style by its hash and the icon. There is no form-action: Chromium applies it to the
// redirect that follows and would block the response to the client.
func parsePage() (*template.Template, string, error) {
	page, err := template.New("page").Parse(pageHTML)
	if err != nil {
		return nil, "", fmt.Errorf("consent page: %w", err)
	}
	sum := sha256.Sum256([]byte(pageCSS))
	return page, "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; img-src 'self'; frame-ancestors 'none'; base-uri 'none'", nil
}

// consentPage describes a request to the owner, with a choice preselected.
func (s *Server) consentPage(r *http.Request, q request, c choice) pageData {
	data := pageData{
		Client: q.Name, Renewed: q.Renewed, Target: shownRedirect(q.Redirect), Kind: "site",
		Scopes: s.scopeOptions(q, c), Narrow: s.limit(q) < principal.Trade, TTLs: ttlOptions(c),
		LoggedIn: q.Approver != "" || s.loggedIn(r) != "" && s.cfg.Trading != LiveTrading, Request: s.seal.seal(formPurpose, q),
	}
	u, err := url.Parse(q.Redirect)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https":
		data.Kind = "app"
	case loopback(u.Hostname()):
		data.Kind = "loopback"
	}
	if q.Document != "" {
		data.Document, data.Anyone = cimd.HostOf(q.Document), q.Local
		data.Stranger = data.Kind == "site" && u.Host != data.Document
	}
	return data
}

// writePage renders the page with headers that forbid framing, caching and scripts.
func (s *Server) writePage(w http.ResponseWriter, status int, data pageData) {
	data.Style = template.CSS(pageCSS) //nolint:gosec // G203: an embedded file
	data.Service = s.cfg.Name
	_, data.Host, _ = strings.Cut(s.cfg.BaseURL, "://")
	if data.Problem != nil {
		data.Remedy = data.Problem.remedy
		data.Heal = template.URL(data.Problem.heal) //nolint:gosec // G203: healLink admits http on loopback only
	}
	var b bytes.Buffer
	if err := s.page.Execute(&b, data); err != nil {
		writeJSON(w, http.StatusInternalServerError, map[string]string{"error": "server_error"})
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", s.csp)
	h.Set("X-Frame-Options", "DENY")
	// No opener policy: it would cut off clients that open this page in a popup.
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	if s.secure {
		h.Set("Strict-Transport-Security", "max-age=31536000")
	}
	h.Set("X-Content-Type-Options", "nosniff")
	// Not no-referrer: it would make the Origin of the form "null".
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Length", strconv.Itoa(b.Len()))
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // the browser may have disconnected
}

// inWords formats a waiting time, rounded up.
func inWords(wait time.Duration) string {
	n, unit := int((wait+time.Second-1)/time.Second), "second"
	if n > 90 {
		n, unit = (n+59)/60, "minute"
	}
	if n != 1 {
		unit += "s"
	}
	return strconv.Itoa(n) + " " + unit
}
