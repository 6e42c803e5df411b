package oauth

import (
	"context"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"candela/internal/access/cimd"
	"candela/lib/fault"
)

// Documents fetches the metadata of clients whose ids are URLs.
type Documents interface {
	Document(ctx context.Context, id string, from netip.Addr) (cimd.Document, error)
}

// documentClient returns the client that a document describes. It fetches the document, so
// an owner must have logged in: strangers must not make this server send requests.
func (s *Server) documentClient(r *http.Request, id string) (client, *Error) {
	if s.cfg.Documents == nil {
		return client{}, invalidClient(http.StatusBadRequest, "client_id is a URL, which this server does not accept; register instead")
	}
	d, err := s.cfg.Documents.Document(r.Context(), id, s.cfg.Address(r))
	if f := fault.Of(err); f != nil && f.RetryAfter > 0 {
		return client{}, slowDown(f.RetryAfter)
	} else if f != nil {
		return client{}, invalidClient(http.StatusBadRequest, f.Message)
	} else if err != nil {
		return client{}, serverError()
	}
	if e := checkRedirects(d.Redirects, s.cfg.RedirectSchemes); e != nil {
		return client{}, invalidClient(http.StatusBadRequest, "the document of the client cannot be used: "+e.Description)
	}
	return client{Name: cleanName(d.Name), Redirects: d.Redirects, Method: methodNone, id: id, digest: d.Digest}, nil
}

// unchanged reports whether the document of a request still is the one that the consent
// page showed.
func (s *Server) unchanged(r *http.Request, q request) bool {
	if q.Document == "" {
		return true
	}
	c, e := s.documentClient(r, q.Document)
	return e == nil && c.digest == q.Digest
}

// grantName is the name of the client in lists and logs. The host of a document is verified,
// the name is not.
func (q request) grantName() string {
	if q.Document == "" {
		return q.Name
	}
	return q.Name + " (" + cimd.HostOf(q.Document) + ")"
}

const loginPurpose = "login"

// maxLoginQuery bounds the request that a login form carries.
const maxLoginQuery = 8 << 10

// loginForm is an authorization request whose client is not known before its document is
// fetched. It is sealed into the form that asks for the passphrase.
type loginForm struct {
	Query   string `json:"q"`
	Browser string `json:"b"` // fingerprint of the browser cookie that the form requires
	Expires int64  `json:"e"` // unix seconds
}

// needsLogin reports whether a request names a document and no owner is logged in.
func (s *Server) needsLogin(r *http.Request) bool {
	return s.cfg.Documents != nil && !s.cfg.AutoApprove && cimd.IsID(r.URL.Query().Get("client_id")) && s.loggedIn(r) == ""
}

// askLogin shows the form that asks for the passphrase before the document is fetched.
func (s *Server) askLogin(w http.ResponseWriter, r *http.Request) {
	id := r.URL.Query().Get("client_id")
	if err := cimd.Check(id); err != nil {
		s.writeErrorPage(w, r, invalidClient(http.StatusBadRequest, err.Error()))
		return
	}
	if len(r.URL.RawQuery) > maxLoginQuery {
		s.writeErrorPage(w, r, invalidRequest("the request is longer than 8 KiB"))
		return
	}
	form := loginForm{Query: r.URL.RawQuery, Browser: s.browserCookie(w, r), Expires: time.Now().Add(FormTTL).Unix()}
	s.writePage(w, http.StatusOK, s.loginPage(form))
}

func (s *Server) loginPage(form loginForm) pageData {
	query, _ := url.ParseQuery(form.Query) // as net/http reads it
	return pageData{Document: cimd.HostOf(query.Get("client_id")), Login: s.seal.seal(loginPurpose, form)}
}

// continueLogin checks the passphrase of a login form and shows the consent page, which then
// asks for no passphrase.
func (s *Server) continueLogin(w http.ResponseWriter, r *http.Request, p params) {
	var form loginForm
	if s.seal.open(loginPurpose, p.get("login"), &form) != nil || !s.fresh(r, form.Browser, form.Expires) {
		s.writeErrorPage(w, r, staleForm())
		return
	}
	subject, e := s.decider(w, r, p.get("passphrase"))
	if e != nil {
		s.askAgain(w, r, s.loginPage(form), e)
		return
	}
	s.authorize(w, r, form.Query, subject)
}
