// Package console is the owner's console: pages that show what agents do with the account and
// let the owner decide, stop and resume. It serves everything under /console.
//
// A page is one line of the table in pages.go, a function that collects its data and a template
// of the same name; an act is one line of the table there, with the form that asks and the
// function that does it. Every page and act works without script. The package reads the rest of
// the program through the small interfaces of ports.go.
package console

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"html/template"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"candela/internal/access/door"
	"candela/internal/access/oauth"
	"candela/internal/access/owner"
	"candela/internal/kit/principal"
	"candela/lib/fault"
	"candela/lib/market"
)

// Root is the path that the console is served under.
const Root = "/console"

// Config configures a Console. Owner, BaseURL, Log and Now are required.
type Config struct {
	Owner   *owner.Sessions
	BaseURL string // without a trailing slash
	Version string
	Log     *slog.Logger
	Now     func() time.Time

	// Confirm asks whether a session is still in force before a form is carried out, with a fault of kind
	// fault.Unauthorized if not; nil where this process knows.
	Confirm func(ctx context.Context, by principal.Caller) error
	Ports
}

// Console serves the pages. It is safe for concurrent use, and runs nothing while no page is
// open.
type Console struct {
	cfg    Config
	base   *url.URL
	mux    *http.ServeMux
	assets func() assets
	pages  func() (map[string]*template.Template, error)
	hub    *hub
	checks checks
	began  time.Time
}

// New returns a Console.
func New(cfg Config) (*Console, error) {
	base, err := url.Parse(cfg.BaseURL)
	if err != nil || base.Host == "" {
		return nil, errors.New("console: the base URL needs a host")
	}
	if cfg.Owner == nil || cfg.Log == nil || cfg.Now == nil {
		return nil, errors.New("console needs sessions, a logger and a clock")
	}
	c := &Console{cfg: cfg, base: base, began: cfg.Now(), assets: sync.OnceValue(loadAssets)}
	c.pages = sync.OnceValues(c.parse)
	c.hub = newHub(c)
	c.mux = c.routes()
	return c, nil
}

// routes returns the handlers of all pages and acts.
func (c *Console) routes() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+Root, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, Root+"/", http.StatusSeeOther) })
	mux.HandleFunc("GET "+Root+"/static/{version}/{name}", c.serveStatic)
	mux.HandleFunc("GET "+Root+"/login", c.showLogin)
	mux.HandleFunc("POST "+Root+"/login", c.login)
	mux.HandleFunc("GET "+Root+"/events", c.guarded(c.serveEvents))
	for _, p := range c.table() {
		mux.HandleFunc("GET "+Root+p.pattern(), c.guarded(func(v *visit) { c.servePage(v, p) }))
	}
	for _, a := range acts() {
		mux.HandleFunc("GET "+Root+a.path, c.guarded(func(v *visit) { c.ask(v, a, nil) }))
		mux.HandleFunc("POST "+Root+a.path, c.act(a))
	}
	for _, h := range handlers() {
		mux.HandleFunc("GET "+Root+h.path, c.guarded(func(v *visit) { h.serve(c, v) }))
	}
	mux.HandleFunc(Root+"/", c.notFound)
	return mux
}

// ServeHTTP serves every path under /console.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	door.Harden(w.Header(), c.cfg.Owner.Secure())
	if door.Rebound(c.base, r) {
		http.Error(w, "The Host is not a loopback name. Open the console at "+c.cfg.BaseURL+Root+".", http.StatusForbidden)
		return
	}
	c.mux.ServeHTTP(w, r)
}

// visit is one request of a browser in which the owner is logged in.
type visit struct {
	w       http.ResponseWriter
	r       *http.Request
	session owner.Session
	prefs   prefs
	now     time.Time
	status  int
	unit    func(market.Symbol) string // of a symbol's prices
}

func (v *visit) ctx() context.Context { return v.r.Context() }

// id returns the {id} of the path.
func (v *visit) id() string { return v.r.PathValue("id") }

// guarded lets only the owner in. Others are sent to the login, and come back afterwards.
func (c *Console) guarded(serve func(*visit)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s, err := c.cfg.Owner.Of(r)
		switch {
		case errors.Is(err, owner.ErrNoSession) && r.Header.Get("Sec-Fetch-Site") == "cross-site":
			// The strict cookie is not sent when the browser comes from another site, such as
			// from a link in a message. A page that leads to itself makes it the same site.
			c.render(w, http.StatusOK, "again", map[string]any{"Path": r.URL.RequestURI()})
		case errors.Is(err, owner.ErrNoSession) && r.Header.Get("Sec-Fetch-Mode") != "" && r.Header.Get("Sec-Fetch-Mode") != "navigate":
			http.Error(w, "Log in first.", http.StatusForbidden)
		case errors.Is(err, owner.ErrNoSession):
			http.Redirect(w, r, loginPath(r.URL.RequestURI()), http.StatusSeeOther) //nolint:gosec // G710: the path is our own, and the request is a parameter of it
		case err != nil:
			c.cfg.Log.ErrorContext(r.Context(), "[Console] session not read", "error", err)
			http.Error(w, "The session could not be read. Try again.", http.StatusServiceUnavailable)
		default:
			if wait := c.cfg.Owner.TakeRead(s); wait > 0 {
				slowDown(w, wait)
				return
			}
			serve(c.visit(w, r, s))
		}
	}
}

func (c *Console) visit(w http.ResponseWriter, r *http.Request, s owner.Session) *visit {
	return &visit{w: w, r: r, session: s, prefs: readPrefs(r), now: c.cfg.Now(), status: http.StatusOK, unit: c.units(r.Context())}
}

func slowDown(w http.ResponseWriter, wait time.Duration) {
	w.Header().Set("Retry-After", strconv.Itoa(max(1, int((wait+time.Second-1)/time.Second))))
	http.Error(w, "Too many requests. Try again in a moment.", http.StatusTooManyRequests)
}

// notFound answers paths that do not exist.
func (c *Console) notFound(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		http.Error(w, "Not found.", http.StatusNotFound)
		return
	}
	//nolint:contextcheck // a visit carries the context of its request
	c.guarded(func(v *visit) {
		c.fail(v, fault.New(fault.NotFound, "no_page", "There is no page at %s.", r.URL.Path))
	})(w, r)
}

// fail shows an error as a page, or as JSON to a script that changes something.
func (c *Console) fail(v *visit, err error) {
	if v.wantsJSON() {
		c.failJSON(v, err)
		return
	}
	v.status = statusOf(err)
	title := "Not possible"
	if v.status == http.StatusNotFound {
		title = "Not found"
	}
	c.show(v, page{name: "problem", title: title, template: "problem"}, map[string]any{"Title": title, "Text": c.public(v.ctx(), err)})
}

// public returns the text of an error that may be shown. Others are logged.
func (c *Console) public(ctx context.Context, err error) string {
	if e, ok := errors.AsType[*oauth.Error](err); ok {
		text := e.Description
		if e.RetryAfter > 0 {
			text += " Try again in " + span(e.RetryAfter) + "."
		}
		return text
	}
	if f := fault.Of(err); f != nil && f.Kind != fault.Internal {
		return f.Public()
	}
	if ctx.Err() == nil {
		c.cfg.Log.ErrorContext(ctx, "[Console] request failed", "error", err)
	}
	return "This could not be done. The log of the server has the reason."
}

func statusOf(err error) int {
	if e, ok := errors.AsType[*oauth.Error](err); ok {
		return cmp.Or(e.Status, http.StatusInternalServerError)
	}
	return door.StatusOf(err)
}

// render writes a template that stands alone.
func (c *Console) render(w http.ResponseWriter, status int, name string, data any) {
	all, err := c.pages()
	var b bytes.Buffer
	if err == nil {
		err = all[name].ExecuteTemplate(&b, "page", data)
	}
	if err != nil {
		c.cfg.Log.Error("[Console] page not rendered", "page", name, "error", err)
		http.Error(w, "This page could not be shown. The log of the server has the reason.", http.StatusInternalServerError)
		return
	}
	door.WriteHTML(w, status, b.Bytes())
}
