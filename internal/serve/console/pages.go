package console

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"candela/internal/access/door"
	"candela/internal/access/owner"
	"candela/internal/kit/principal"
	"candela/lib/fault"
)

//go:embed templates
var templates embed.FS

// page is one page: what stands in the navigation, how its data is collected and which template
// shows it. To add a page, write a file with a function that returns it, a template, and add a
// line to table.
type page struct {
	path     string // under /console, "/" for the first; may hold {id} or {symbol}
	name     string // unique, for the navigation and for the script
	title    string
	template string // file in templates, without .html; "" for name
	icon     string // in icons.go; "" keeps it out of the navigation
	key      string // g and this letter go there
	group    int    // of the navigation
	tab      string // title at the bottom of a phone; "" for none
	live     string // topics that make the page refresh, separated by spaces; see live.go
	needs    func(Ports) bool
	data     func(c *Console, v *visit) (any, error)
}

// table lists all pages in the order of the navigation.
func (c *Console) table() []page {
	all := []page{
		overviewPage(),
		chartPage(),
		symbolPage(),
		approvalsPage(),
		approvalPage(),
		ordersPage(),
		orderPage(),
		tradesPage(),
		alertsPage(),
		alertPage(),
		scriptsPage(),
		scriptPage(),
		backtestPage(),
		strategiesPage(),
		strategyPage(),
		clientsPage(),
		clientPage(),
		activityPage(),
		settingsPage(),
		morePage(),
	}
	return slices.DeleteFunc(all, func(p page) bool { return p.needs != nil && !p.needs(c.cfg.Ports) })
}

// acts lists everything that the owner can do.
func acts() []act {
	return slices.Concat(
		haltActs(),
		orderActs(),
		moveActs(),
		drawingActs(),
		approvalActs(),
		alertActs(),
		scriptActs(),
		strategyActs(),
		clientActs(),
		activityActs(),
		settingsActs(),
		[]act{logoutAct(), themeAct()},
	)
}

// handler is a path with an answer of its own, such as a file to save.
type handler struct {
	path  string
	serve func(c *Console, v *visit)
}

func handlers() []handler {
	return []handler{
		{"/orders.csv", (*Console).saveOrders},
		{"/orders/{id}/receipt.json", (*Console).saveReceipt},
		{"/find", (*Console).serveFind},
		{"/chart.json", (*Console).serveChart},
		{"/chart.png", (*Console).serveChart},
		{drawingsPath, (*Console).serveDrawings},
		{"/backtests/{id}/picture.png", (*Console).serveBacktestPicture},
		{"/backtests/{id}/report.html", (*Console).saveBacktest},
	}
}

// pattern returns the page's path for a ServeMux. That of the first page matches itself alone.
func (p page) pattern() string {
	if p.path == "/" {
		return "/{$}"
	}
	return p.path
}

// parse reads the templates: each page together with the frame.
func (c *Console) parse() (map[string]*template.Template, error) {
	shared, err := template.New("").Funcs(c.funcs()).ParseFS(templates, "templates/frame.html", "templates/parts.html")
	if err != nil {
		return nil, fmt.Errorf("templates: %w", err)
	}
	all := map[string]*template.Template{}
	entries, err := templates.ReadDir("templates")
	if err != nil {
		return nil, fmt.Errorf("templates: %w", err)
	}
	for _, e := range entries {
		one, err := shared.Clone()
		if err == nil {
			one, err = one.ParseFS(templates, "templates/"+e.Name())
		}
		if err != nil {
			return nil, fmt.Errorf("templates: %w", err)
		}
		all[strings.TrimSuffix(e.Name(), ".html")] = one
	}
	return all, nil
}

// funcs are the functions of all templates.
func (c *Console) funcs() template.FuncMap {
	return template.FuncMap{
		"static": func(name string) string { return c.assets().path(name) },
		"lower":  strings.ToLower,
		"plural": plural,
		"icon":   icons(),
		"dict": func(pairs ...any) (map[string]any, error) {
			m := map[string]any{}
			for i := 0; i+1 < len(pairs); i += 2 {
				name, ok := pairs[i].(string)
				if !ok {
					return nil, errors.New("dict: names must be text")
				}
				m[name] = pairs[i+1]
			}
			return m, nil
		},
	}
}

// servePage collects the data of a page and shows it.
func (c *Console) servePage(v *visit, p page) {
	data, err := p.data(c, v)
	if err != nil {
		c.fail(v, err)
		return
	}
	c.show(v, p, data)
}

// view is what every template gets: the frame around the page, how to write numbers and times,
// and the page's own data.
type view struct {
	Frame frame
	F     format
	P     any
}

// show renders a page within the frame.
func (c *Console) show(v *visit, p page, data any) {
	all, err := c.pages()
	var b bytes.Buffer
	if err == nil {
		name := p.template
		if name == "" {
			name = p.name
		}
		err = all[name].ExecuteTemplate(&b, "frame", view{Frame: c.frame(v, p), F: v.format(), P: data})
	}
	if err != nil {
		c.cfg.Log.ErrorContext(v.ctx(), "[Console] page not rendered", "page", p.name, "error", err)
		http.Error(v.w, "This page could not be shown. The log of the server has the reason. To stop trading, run candela halt.", http.StatusInternalServerError)
		return
	}
	h := v.w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	body := b.Bytes()
	if packed, ok := gzipFor(v.r, body); ok {
		h.Set("Content-Encoding", "gzip")
		body = packed
	}
	h.Set("Vary", "Accept-Encoding")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	v.w.WriteHeader(v.status)
	_, _ = v.w.Write(body) // the browser may have left
}

// asking says when an act needs the passphrase again.
type asking uint8

const (
	confirmOnly   asking = iota // one confirmation
	ifNotRecent                 // the passphrase, unless it was entered in the last 15 minutes
	passphrase                  // the passphrase, always
	withoutAsking               // a harmless act, whose form stands on another page
)

// act is something that the owner does. GET shows the form that asks, POST does it.
type act struct {
	path string // under /console; may hold {id}
	asks asking
	form func(c *Console, v *visit) (form, error) // nil for withoutAsking
	do   func(c *Console, v *visit) (done, error)
	safe bool // it halts, or concerns this browser alone: no server is asked about the session before it
}

// form asks before an act.
type form struct {
	Title  string
	Lead   string
	Points []point
	Fields []field
	Submit string
	Keep   string // the button that does nothing
	Danger bool   // the button is red
	Back   string // where Keep leads, under /console
	Page   string // whose navigation entry is marked

	Action  string // filled in by ask
	Pass    bool   // asks for the passphrase
	Mistake string
}

type point struct{ Icon, Strong, Text string }

type field struct {
	Name, Label, Hint, Value string
	Options                  []string // of a list to choose from; nil for a line of text
}

// done is what an act did and where the browser goes next.
type done struct {
	Notice string
	To     string // under /console
}

// ask shows the form of an act, with the error of the last try.
func (c *Console) ask(v *visit, a act, failed error) {
	if a.form == nil {
		http.Redirect(v.w, v.r, Root+"/", http.StatusSeeOther)
		return
	}
	f, err := a.form(c, v)
	if err != nil {
		c.fail(v, err)
		return
	}
	f.Action = v.r.URL.Path
	f.Pass = a.asks == passphrase || a.asks == ifNotRecent && !c.cfg.Owner.Confirmed(v.session)
	if failed != nil {
		v.status, f.Mistake = statusOf(failed), c.public(v.ctx(), failed)
		for i := range f.Fields {
			f.Fields[i].Value = v.r.PostFormValue(f.Fields[i].Name)
		}
	}
	c.show(v, page{name: f.Page, title: f.Title, template: "ask"}, f)
}

const sessionEnded = "You are not logged in, or the session has ended. Nothing was done. Log in at " + Root + "/login and try again."

// maxForm bounds the body of a form.
const maxForm = 16 << 10

// act returns the handler of a form: nothing but a form of this session for this path, sent by
// this origin, is carried out.
func (c *Console) act(a act) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !door.SameOrigin(c.base, r) {
			refuse(w, "The form was sent by another site. Nothing was done.")
			return
		}
		s, err := c.cfg.Owner.Of(r)
		if err != nil {
			refuse(w, sessionEnded)
			return
		}
		if wait := c.cfg.Owner.TakePost(s); wait > 0 {
			slowDown(w, wait)
			return
		}
		if !door.ReadForm(w, r, maxForm) {
			return
		}
		if !s.Validates(r.URL.Path, r.PostFormValue("token")) {
			refuse(w, "The form does not belong to this session, or not to this path. Nothing was done. Load the page again.")
			return
		}
		if !a.safe && !c.confirmed(w, r, s) {
			return
		}
		c.carryOut(c.visit(w, r, s), a) //nolint:contextcheck // a visit carries the context of its request
	}
}

// confirmed asks whether a session is in force, whatever this process knew when the form arrived, or answers
// the request.
func (c *Console) confirmed(w http.ResponseWriter, r *http.Request, s owner.Session) bool {
	if c.cfg.Confirm == nil {
		return true
	}
	err := c.cfg.Confirm(r.Context(), principal.Caller{Subject: s.Subject, Key: s.Key})
	switch {
	case err == nil:
		return true
	case fault.KindOf(err) == fault.Unauthorized:
		refuse(w, sessionEnded)
	default:
		c.cfg.Log.ErrorContext(r.Context(), "[Console] session not confirmed", "error", err)
		http.Error(w, "The session could not be confirmed. Nothing was done. Try again.", http.StatusServiceUnavailable)
	}
	return false
}

func (c *Console) carryOut(v *visit, a act) {
	if a.asks == passphrase || a.asks == ifNotRecent && !c.cfg.Owner.Confirmed(v.session) {
		if err := c.cfg.Owner.Confirm(v.r, v.session, v.r.PostFormValue("passphrase")); err != nil {
			c.ask(v, a, err)
			return
		}
	}
	d, err := a.do(c, v)
	if err != nil {
		if a.form == nil {
			c.fail(v, err)
			return
		}
		c.ask(v, a, err)
		return
	}
	c.hub.poke()
	if d.Notice != "" {
		c.cfg.Owner.Leave(v.session, d.Notice)
	}
	http.Redirect(v.w, v.r, Root+d.To, http.StatusSeeOther)
}

func refuse(w http.ResponseWriter, text string) { http.Error(w, text, http.StatusForbidden) }

// errNoTrading is the error of pages that need a trading account.
var errNoTrading = fault.New(fault.Unsupported, "no_trading", "Trading is off. Start candela with --trade.")
