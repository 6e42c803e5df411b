// Package hostdesk is the desk of a host of many owners: pages and an interface for programs that show who uses a server and change
// what they may do. It has a listener, a login and sessions of its own, and knows nothing of owners' logins, so no token and no session of
// an owner opens it. Nobody's orders, positions or notes are here; names are shown on demand, which the audit log records.
package hostdesk

import (
	"bytes"
	"context"
	"errors"
	"html/template"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"

	"candela/internal/access/door"
	"candela/internal/access/oauth"
	"candela/internal/access/owners"
	"candela/internal/access/plan"
	"candela/internal/serve/console"
	"candela/internal/work/hosting"
	"candela/lib/fault"
)

// Root is the path that the desk is served under.
const Root = "/host"

// Config configures a Desk. All but Health are required.
type Config struct {
	Desk       *hosting.Desk
	BaseURL    string // of the desk, without a trailing slash
	Server     string // what its people know: the base URL of the server
	Passphrase oauth.OwnerAuth
	Address    func(*http.Request) netip.Addr
	Plans      func() plan.Table
	Health     func() []console.Part
	Log        *slog.Logger
	Now        func() time.Time
}

// Desk serves the pages and the interface for programs. It is safe for concurrent use.
type Desk struct {
	cfg      Config
	base     *url.URL
	sessions *sessions
	assets   func() assets
	pages    func() (map[string]*template.Template, error)
	mux      *http.ServeMux
}

// New returns a Desk.
func New(cfg Config) (*Desk, error) {
	base, err := url.Parse(cfg.BaseURL)
	if err != nil || base.Host == "" {
		return nil, errors.New("host's desk: the base URL needs a host")
	}
	if cfg.Desk == nil || cfg.Passphrase == nil || cfg.Log == nil || cfg.Now == nil || cfg.Address == nil || cfg.Plans == nil {
		return nil, errors.New("host's desk needs people, plans, a passphrase, addresses, a logger and a clock")
	}
	d := &Desk{cfg: cfg, base: base, sessions: newSessions(cfg.Now), assets: sync.OnceValue(loadAssets)}
	d.pages = sync.OnceValues(d.parse)
	d.mux = d.routes()
	return d, nil
}

func (d *Desk) routes() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+Root, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, Root+"/", http.StatusSeeOther) })
	mux.HandleFunc("GET "+Root+"/static/{version}/{name}", d.serveStatic)
	mux.HandleFunc("GET "+Root+"/login", d.showLogin)
	mux.HandleFunc("POST "+Root+"/login", d.login)
	for path, serve := range map[string]func(*visit){
		"/{$}": d.people, "/people/{id}": d.person, "/plans": d.plans, "/health": d.health, "/more": d.more,
	} {
		mux.HandleFunc("GET "+Root+path, d.guarded(serve))
	}
	for path, serve := range map[string]func(*visit){
		"/ask": d.ask, "/do": d.do, "/names": d.showNames, "/look": d.look, "/logout": d.logout,
	} {
		mux.HandleFunc("POST "+Root+path, d.form(serve))
	}
	d.handleAPI(mux)
	mux.HandleFunc("GET "+Root+"/", d.guarded(func(v *visit) {
		d.fail(v, fault.New(fault.NotFound, "no_page", "There is no page at %s.", v.r.URL.Path))
	}))
	return mux
}

// ServeHTTP serves every path under /host, and nothing else.
func (d *Desk) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	door.Harden(w.Header(), d.secure())
	if door.Rebound(d.base, r) {
		http.Error(w, "The Host is not a loopback name. Open the desk at "+d.cfg.BaseURL+Root+"/.", http.StatusForbidden)
		return
	}
	if r.URL.Path == "/" {
		http.Redirect(w, r, Root+"/", http.StatusSeeOther)
		return
	}
	d.mux.ServeHTTP(w, r)
}

func (d *Desk) secure() bool { return d.base.Scheme == "https" }

// visit is a request of a browser in which somebody of the host is logged in.
type visit struct {
	w      http.ResponseWriter
	r      *http.Request
	in     *session
	now    time.Time
	status int
}

func (v *visit) ctx() context.Context { return v.r.Context() }

// guarded lets only the host in. Others are sent to the login.
func (d *Desk) guarded(serve func(*visit)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		in := d.sessions.of(d.cookieOf(r))
		switch {
		case in != nil:
			serve(&visit{w: w, r: r, in: in, now: d.cfg.Now(), status: http.StatusOK})
		case r.Method == http.MethodGet && (r.Header.Get("Sec-Fetch-Mode") == "" || r.Header.Get("Sec-Fetch-Mode") == "navigate"):
			http.Redirect(w, r, Root+"/login", http.StatusSeeOther)
		default:
			http.Error(w, "You are not logged in, or the session has ended. Nothing was done.", http.StatusForbidden)
		}
	}
}

// form carries out nothing but a form of this session for this path, sent by this origin.
func (d *Desk) form(serve func(*visit)) http.HandlerFunc {
	guarded := d.guarded(func(v *visit) {
		if !v.in.validates(v.r.URL.Path, v.r.PostFormValue("token")) {
			http.Error(v.w, "The form does not belong to this session, or not to this path. Nothing was done. Load the page again.", http.StatusForbidden)
			return
		}
		serve(v)
	})
	return func(w http.ResponseWriter, r *http.Request) {
		if !door.SameOrigin(d.base, r) {
			http.Error(w, "The form was sent by another site. Nothing was done.", http.StatusForbidden)
			return
		}
		if door.ReadForm(w, r, maxForm) {
			guarded(w, r)
		}
	}
}

// maxForm bounds the body of a form, in bytes: the ids of a page of people.
const maxForm = 32 << 10

// fail shows an error as a page.
func (d *Desk) fail(v *visit, err error) {
	v.status = door.StatusOf(err)
	d.show(v, "problem", "Not possible", d.public(v.ctx(), err))
}

// public returns the text of an error that may be shown. Others are logged.
func (d *Desk) public(ctx context.Context, err error) string {
	if f := fault.Of(err); f != nil && f.Kind != fault.Internal {
		return f.Public()
	}
	if errors.Is(err, owners.ErrNotOpen) {
		return "The store is not open yet. Try again in a moment."
	}
	if ctx.Err() == nil {
		d.cfg.Log.ErrorContext(ctx, "[Host] request failed", "error", err)
	}
	return "This could not be done. The log of the server has the reason."
}

// view is what every template gets.
type view struct {
	Title, Name, Server, Host, Who string
	Until, Now                     time.Time
	Theme, Path, Notice            string
	Names                          bool // names are shown
	NamesUntil                     time.Time
	Figures                        hosting.Figures
	PlanCount                      int
	Token                          func(path string) string
	P                              any
}

// show renders a page within the frame.
func (d *Desk) show(v *visit, name, title string, data any) {
	figures, err := d.cfg.Desk.Figures(v.ctx(), v.now)
	if err != nil {
		figures = hosting.Figures{} // the page itself says what is wrong
	}
	all := view{
		Title: title, Name: name, Server: d.cfg.Server, Host: d.base.Host, Who: v.in.who, Until: v.in.since.Add(lifetime), Now: v.now.UTC(), Theme: theme(v.r),
		Path: v.r.URL.RequestURI(), Notice: v.in.take(), Names: v.now.Before(v.in.namesUntil()), NamesUntil: v.in.namesUntil(), Figures: figures,
		PlanCount: len(d.cfg.Plans().Names()), Token: v.in.formToken, P: data,
	}
	d.render(v.ctx(), v.w, v.status, name, "frame", all)
}

func (d *Desk) render(ctx context.Context, w http.ResponseWriter, status int, name, block string, data any) {
	pages, err := d.pages()
	var b bytes.Buffer
	if err == nil {
		err = pages[name].ExecuteTemplate(&b, block, data)
	}
	if err != nil {
		d.cfg.Log.ErrorContext(ctx, "[Host] page not rendered", "page", name, "error", err)
		http.Error(w, "This page could not be shown. The log of the server has the reason.", http.StatusInternalServerError)
		return
	}
	door.WriteHTML(w, status, b.Bytes())
}

const themeCookie = "candela_host_theme"

func theme(r *http.Request) string {
	if c, err := r.Cookie(themeCookie); err == nil && (c.Value == "dark" || c.Value == "light") {
		return c.Value
	}
	return ""
}

// look changes the colours.
func (d *Desk) look(v *visit) {
	to := "dark"
	if v.r.PostFormValue("theme") == "light" {
		to = "light"
	}
	http.SetCookie(v.w, &http.Cookie{ //nolint:gosec // G124: it holds no secret, and Secure follows the base URL
		Name: themeCookie, Value: to, Path: Root, MaxAge: 365 * 24 * 3600, HttpOnly: true, Secure: d.secure(), SameSite: http.SameSiteStrictMode,
	})
	d.back(v, v.r.PostFormValue("to"))
}

// back leads to a page of the desk, never to another site.
func (d *Desk) back(v *visit, to string) {
	u, err := url.Parse(to)
	if err != nil || u.Scheme != "" || u.Host != "" || !strings.HasPrefix(u.Path, Root+"/") || strings.Contains(to, `\`) || strings.Contains(u.Path, "//") || strings.Contains(u.Path, "..") {
		to = Root + "/"
	}
	http.Redirect(v.w, v.r, to, http.StatusSeeOther)
}
