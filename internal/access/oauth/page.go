package oauth

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"candela/internal/access/cimd"
	"candela/internal/access/door"
	"candela/internal/kit/principal"
)

//go:embed page.html
var pageHTML string

// pageData is the content of the page: a request to decide, or a problem.
type pageData struct {
	Style   template.CSS
	Service string
	Base    string // address of this server
	Account string // PAPER or LIVE, "" without trading
	Clients string // page on which access is ended, "" for none

	Client   string   // its own name, unverified
	Renewed  bool     // the client connected before a restart
	Document string   // the host of the client's document, verified; "" for a registration
	Anyone   bool     // the document has loopback redirects only
	Stranger bool     // the browser goes to another host than the document's
	Login    string   // sealed; asks for the passphrase before the document is fetched
	Scheme   string   // of the target, with its slashes; "" for an app
	Target   string   // where the browser goes next: a host, or the scheme of an app
	Kind     string   // of the target: loopback, app or site
	Scopes   []option // to choose from; none without trading
	Narrow   bool     // the client asks for less than trade
	TTLs     []option
	Request  string // sealed
	LoggedIn bool
	Mistake  string // error of the passphrase

	Person  string // who signed in at the identity provider, "" for an owner with a passphrase
	Contact string // of the operator; "" for none
	Title   string // of a problem
	Lead    string // of a problem

	Problem *Error
	Heal    template.URL // link for a client of an earlier run
	Remedy  string
}

// parsePage returns the template of the page.
func parsePage() (*template.Template, error) {
	page, err := template.New("page").Parse(pageHTML)
	if err != nil {
		return nil, fmt.Errorf("consent page: %w", err)
	}
	return page, nil
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
	if data.Kind != "app" {
		data.Scheme = u.Scheme + "://"
	}
	if q.Document != "" {
		data.Document, data.Anyone = cimd.HostOf(q.Document), q.Local
		data.Stranger = data.Kind == "site" && u.Host != data.Document
	}
	return data
}

// writePage renders the page with headers that forbid framing, caching and scripts.
func (s *Server) writePage(w http.ResponseWriter, status int, data pageData) {
	data.Style, data.Service, data.Base, data.Clients = door.Style(), s.cfg.Name, s.cfg.BaseURL, s.cfg.ClientsPage
	switch s.cfg.Trading {
	case NoTrading:
	case PaperTrading:
		data.Account = "PAPER"
	case LiveTrading:
		data.Account = "LIVE"
	}
	if data.Problem != nil {
		data.Remedy, data.Title, data.Lead = data.Problem.remedy, data.Problem.title, data.Problem.lead
		if s.cfg.SignIn != nil {
			data.Contact = s.cfg.SignIn.Contact
		}
		data.Heal = template.URL(data.Problem.heal) //nolint:gosec // G203: healLink admits http on loopback only
	}
	var b bytes.Buffer
	if err := s.page.Execute(&b, data); err != nil {
		writeJSON(w, http.StatusInternalServerError, map[string]string{"error": "server_error"})
		return
	}
	door.Write(w, status, s.csp, s.secure, b.Bytes())
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
