package console

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"candela/internal/access/oauth"
	"candela/internal/access/usage"
	"candela/internal/kit/principal"
	"candela/lib/fault"
)

// Clients are the clients that the owner approved.
type Clients interface {
	// Tokens lists what the owner approved and where the owner is logged in, newest first.
	Tokens(ctx context.Context, subject principal.Owner) ([]oauth.Token, error)
	Used(key string) usage.Use
	Ended() []usage.Ended

	Revoke(ctx context.Context, subject principal.Owner, id string) error
	RevokeAll(ctx context.Context) (int, error)

	Rescopes() bool // Rescope works here
	Most() principal.Scope
	Rescope(ctx context.Context, subject principal.Owner, id string, scope principal.Scope) error
}

// clientsPage lists who has access.
func clientsPage() page {
	return page{
		path: "/clients", name: "clients", title: "Clients", icon: "plug", key: "l", group: 1, live: "clients",
		needs: func(p Ports) bool { return p.Clients != nil }, data: (*Console).clientsData,
	}
}

// clientPage shows one client, with what the owner can do about it.
func clientPage() page {
	return page{
		path: "/clients/{id}", name: "clients", title: "Client", template: "client", live: "clients",
		needs: func(p Ports) bool { return p.Clients != nil }, data: (*Console).clientData,
	}
}

// clientActs end access and change what it allows. Narrowing is easy, widening asks for the
// passphrase.
func clientActs() []act {
	return []act{
		{path: "/clients/{id}/revoke", asks: confirmOnly, form: revokeForm, do: (*Console).revoke},
		{path: "/clients/revoke-all", asks: passphrase, form: revokeAllForm, do: (*Console).revokeAll},
		{path: "/clients/{id}/narrow/{scope}", asks: confirmOnly, form: scopeForm, do: func(c *Console, v *visit) (done, error) { return c.rescope(v, false) }},
		{path: "/clients/{id}/widen/{scope}", asks: passphrase, form: scopeForm, do: func(c *Console, v *visit) (done, error) { return c.rescope(v, true) }},
		{path: "/browsers/{id}/end", asks: confirmOnly, form: endBrowserForm, do: (*Console).endBrowser},
		{path: "/browsers/end-others", asks: passphrase, form: endOthersForm, do: (*Console).endOthers},
	}
}

type clientsData struct {
	Clients  []clientRow
	Browsers []browserRow
	Ended    []endedRow
	Base     string
	Problem  string
}

// clientRow is a client as tables show it.
type clientRow struct {
	ID, Name       string
	Scheme, Target string // where the access went
	Icon           string
	Scope, Class   string
	Used           time.Time
	UsedAgo, Tool  string
	Today          string
	Since          time.Time
	Ends           string
	Soon           bool
	Mark           string // in the audit log
	Reasons        string // how many were checked lately, and how many were false; "" without any
}

type browserRow struct {
	ID, Agent, Address, Icon string
	Own                      bool
	Since, Used, Expires     time.Time
}

type endedRow struct {
	Name, Scheme, Target, Scope, Class, Why string
	At                                      time.Time
}

func (c *Console) clientsData(v *visit) (any, error) {
	rows, err := c.clients(v.ctx(), v)
	if err != nil {
		return nil, err
	}
	d := clientsData{Clients: rows, Base: c.cfg.BaseURL}
	browsers, err := c.cfg.Owner.List(v.ctx(), v.session.Subject)
	if err != nil {
		d.Problem = c.public(v.ctx(), err)
	}
	for _, b := range browsers {
		row := browserRow{ID: b.ID, Agent: cmp.Or(b.Agent, "A browser"), Address: b.Address, Icon: "app", Own: b.ID == v.session.ID, Since: b.Since, Used: b.Used, Expires: b.Expires}
		if strings.Contains(b.Agent, "iPhone") || strings.Contains(b.Agent, "Android") {
			row.Icon = "phone"
		}
		d.Browsers = append(d.Browsers, row)
	}
	for _, e := range c.cfg.Clients.Ended() {
		row := endedRow{Name: shownName(e.Name), At: e.At, Why: endWords(e.Reason)}
		row.Scheme, row.Target, _ = splitTarget(e.Target)
		row.Scope, row.Class = scopeWords(e.Scope)
		d.Ended = append(d.Ended, row)
	}
	return d, nil
}

// clients lists the approved clients.
func (c *Console) clients(ctx context.Context, v *visit) ([]clientRow, error) {
	all, err := c.cfg.Clients.Tokens(ctx, v.session.Subject)
	if err != nil {
		return nil, err
	}
	f, found := v.format(), c.reasonCounts(ctx, v)
	var rows []clientRow
	for _, t := range all {
		if !t.Grant.Login {
			row := c.clientRow(t, f)
			row.Reasons = found[t.Key].words(f)
			rows = append(rows, row)
		}
	}
	return rows, nil
}

func (c *Console) clientRow(t oauth.Token, f format) clientRow {
	use := c.cfg.Clients.Used(t.Key)
	r := clientRow{
		ID: t.ID, Name: shownName(t.Grant.ClientName), Used: use.Last, Tool: use.Tool, Today: todayWords(use), Since: t.Issued,
		Ends: days(t.Expires.Sub(f.now)), Soon: t.Expires.Sub(f.now) < 24*time.Hour, Mark: t.Key[:min(8, len(t.Key))],
	}
	r.UsedAgo = "not since the start"
	if !use.Last.IsZero() {
		r.UsedAgo = f.Ago(use.Last)
	}
	r.Scheme, r.Target, r.Icon = splitTarget(t.Grant.Target)
	r.Scope, r.Class = scopeWords(t.Grant.Access().String())
	return r
}

// shownName is what a client calls itself, which nobody checked.
func shownName(name string) string { return cmp.Or(fault.Clean(name, 60), "no name") }

// splitTarget returns the scheme and the host that an access went to, and an icon for its kind.
func splitTarget(target string) (scheme, host, icon string) {
	scheme, host, ok := strings.Cut(target, "://")
	switch {
	case target == "":
		return "", "not known", "globe"
	case !ok:
		return "", target, "app"
	case scheme == "https":
		return "https://", host, "globe"
	case scheme == "http":
		return "http://", host, "term"
	}
	return scheme + "://", host, "app"
}

// scopeWords returns the words of a scope and its class.
func scopeWords(scope string) (words, class string) {
	switch scope {
	case principal.Charts.String():
		return "Charts only", "sc-charts"
	case principal.Read.String():
		return "Read", "sc-read"
	case principal.Trade.String():
		return "Trade", "sc-trade"
	}
	return "Nothing", "sc-charts"
}

// todayWords sums up what a client did today.
func todayWords(u usage.Use) string {
	calls := 0
	for _, n := range u.Today {
		calls += n.Calls
	}
	orders, alerts := u.Today["place_order"], u.Today["set_alert"]
	var parts []string
	add := func(n int, text string) {
		if n > 0 {
			parts = append(parts, text)
		}
	}
	add(orders.Calls-orders.Failed, plural(orders.Calls-orders.Failed, "order"))
	add(orders.Failed, plural(orders.Failed, "order")+" denied")
	add(alerts.Calls-alerts.Failed, plural(alerts.Calls-alerts.Failed, "alert"))
	if len(parts) == 0 {
		add(calls, plural(calls, "call"))
	}
	return cmp.Or(strings.Join(parts, ", "), "none")
}

func endWords(why usage.Reason) string {
	switch why {
	case usage.Revoked:
		return "Revoked by you"
	case usage.RevokedAll:
		return "Revoked with all others"
	case usage.Expired:
		return "Its time was over"
	}
	return "Ended"
}

// client returns the client that the path names.
func (c *Console) client(v *visit) (oauth.Token, error) {
	if c.cfg.Clients == nil {
		return oauth.Token{}, errNoClient
	}
	all, err := c.cfg.Clients.Tokens(v.ctx(), v.session.Subject)
	if err != nil {
		return oauth.Token{}, err
	}
	at := slices.IndexFunc(all, func(t oauth.Token) bool { return t.ID == v.id() && !t.Grant.Login })
	if at < 0 {
		return oauth.Token{}, errNoClient
	}
	return all[at], nil
}

// errNoClient is the error of a client that has no access, or no more.
var errNoClient = fault.New(fault.NotFound, "unknown_client", "No client with this ID has access: it was revoked, or its time is over.")

type clientData struct {
	clientRow
	Scopes  []scopeRow
	Fixed   bool // the scope cannot be changed
	Tools   []toolRow
	Expires time.Time
}

// scopeRow is a scope that the client has or may get.
type scopeRow struct {
	Label, Note, To string
	Current, Widens bool
}

type toolRow struct {
	Tool          string
	Calls, Failed int
}

func (c *Console) clientData(v *visit) (any, error) {
	t, err := c.client(v)
	if err != nil {
		return nil, err
	}
	d := clientData{clientRow: c.clientRow(t, v.format()), Fixed: !c.cfg.Clients.Rescopes(), Expires: t.Expires}
	has := t.Grant.Access()
	for _, scope := range principal.Scopes() {
		if scope > c.cfg.Clients.Most() && scope != has {
			continue
		}
		row := scopeRow{Current: scope == has, Widens: scope > has, Note: scopeNote(scope)}
		row.Label, _ = scopeWords(scope.String())
		row.To = Root + "/clients/" + t.ID + "/narrow/" + scope.String()
		if row.Widens {
			row.To = Root + "/clients/" + t.ID + "/widen/" + scope.String()
		}
		d.Scopes = append(d.Scopes, row)
	}
	for tool, n := range c.cfg.Clients.Used(t.Key).Today {
		d.Tools = append(d.Tools, toolRow{tool, n.Calls, n.Failed})
	}
	slices.SortFunc(d.Tools, func(a, b toolRow) int { return cmp.Or(b.Calls-a.Calls, strings.Compare(a.Tool, b.Tool)) })
	return d, nil
}

func scopeNote(s principal.Scope) string {
	switch s {
	case principal.Charts:
		return "Charts and indicators of any symbol"
	case principal.Read:
		return "Also see positions, orders, alerts and notifications"
	case principal.Trade:
		return "Also set alerts, and place and cancel orders within the policy"
	default:
		return ""
	}
}

func revokeForm(c *Console, v *visit) (form, error) {
	t, err := c.client(v)
	if err != nil {
		return form{}, err
	}
	r := c.clientRow(t, v.format())
	return form{
		Title: "Revoke " + r.Name + " at " + r.Target + "?", Lead: "Its calls fail from now on and its stream closes. Orders it placed stay open, except those that need approval; alerts it set stay.",
		Submit: "Revoke", Keep: "Keep", Danger: true, Back: "/clients", Page: "clients",
	}, nil
}

func (c *Console) revoke(v *visit) (done, error) {
	t, err := c.client(v)
	if err != nil {
		return done{}, err
	}
	if err := c.cfg.Clients.Revoke(v.ctx(), v.session.Subject, t.ID); err != nil && !errors.Is(err, oauth.ErrNotFound) {
		return done{}, err
	}
	return done{Notice: "Revoked: " + shownName(t.Grant.ClientName) + ".", To: "/clients"}, nil
}

func revokeAllForm(c *Console, v *visit) (form, error) {
	if c.cfg.Clients == nil {
		return form{}, errNoClient
	}
	rows, err := c.clients(v.ctx(), v)
	if err != nil {
		return form{}, err
	}
	return form{
		Title: "Revoke all?", Lead: "The access of " + plural(len(rows), "client") + " ends, and every browser is logged out, this one too. Alerts and orders stay; clients ask you again.",
		Submit: "Revoke all", Keep: "Keep", Danger: true, Back: "/clients", Page: "clients",
	}, nil
}

func (c *Console) revokeAll(v *visit) (done, error) {
	if c.cfg.Clients == nil {
		return done{}, errNoClient
	}
	_, err := c.cfg.Clients.RevokeAll(v.ctx())
	return done{To: "/login"}, err
}

// scopeChange returns the client that the path names, with the scope it has and the one it may get.
func (c *Console) scopeChange(v *visit) (t oauth.Token, to principal.Scope, err error) {
	if t, err = c.client(v); err != nil {
		return t, to, err
	}
	to, ok := principal.ParseScope(v.r.PathValue("scope"))
	if !ok {
		return t, to, fault.Field("scope", v.r.PathValue("scope"), "charts, read or trade")
	}
	return t, to, nil
}

func scopeForm(c *Console, v *visit) (form, error) {
	t, to, err := c.scopeChange(v)
	if err != nil {
		return form{}, err
	}
	words, _ := scopeWords(to.String())
	before, _ := scopeWords(t.Grant.Access().String())
	return form{
		Title: "Let " + shownName(t.Grant.ClientName) + " do this: " + words + "?", Lead: "It may do “" + before + "” now. The change holds from its next call on; its stream closes and opens again.",
		Points: []point{{"shield", "", scopeNote(to) + "."}}, Submit: "Change", Keep: "Keep", Back: "/clients/" + t.ID, Page: "clients",
	}, nil
}

// rescope changes a scope. Only the act that asks for the passphrase may widen it.
func (c *Console) rescope(v *visit, mayWiden bool) (done, error) {
	t, to, err := c.scopeChange(v)
	if err != nil {
		return done{}, err
	}
	if to > t.Grant.Access() && !mayWiden {
		return done{}, fault.New(fault.Conflict, "scope_widens", "This would allow the client more than it may do now, which needs the passphrase.")
	}
	if err := c.cfg.Clients.Rescope(v.ctx(), v.session.Subject, t.ID, to); err != nil {
		return done{}, err
	}
	words, _ := scopeWords(to.String())
	return done{Notice: shownName(t.Grant.ClientName) + " may do this now: " + words + ".", To: "/clients/" + t.ID}, nil
}

func endBrowserForm(_ *Console, v *visit) (form, error) {
	f := form{Title: "Log this browser out?", Lead: "It needs the passphrase to come back. Clients stay.", Submit: "Log out", Keep: "Keep", Danger: true, Back: "/clients", Page: "clients"}
	if v.id() == v.session.ID {
		f.Lead = "It is the one you are using. " + f.Lead
	}
	return f, nil
}

func (c *Console) endBrowser(v *visit) (done, error) {
	if v.id() == v.session.ID {
		return done{To: "/login"}, c.cfg.Owner.Logout(v.w, v.r, v.session)
	}
	if err := c.cfg.Owner.End(v.r, v.session.Subject, v.id()); err != nil {
		if errors.Is(err, oauth.ErrNotFound) {
			return done{}, fault.New(fault.NotFound, "unknown_browser", "That browser is not logged in any more.")
		}
		return done{}, err
	}
	return done{Notice: "The browser is logged out.", To: "/clients"}, nil
}

func endOthersForm(*Console, *visit) (form, error) {
	return form{Title: "Log out the other browsers?", Lead: "They need the passphrase to come back. Clients stay.", Submit: "Log out others", Keep: "Keep", Danger: true, Back: "/clients", Page: "clients"}, nil
}

func (c *Console) endOthers(v *visit) (done, error) {
	n, err := c.cfg.Owner.EndOthers(v.r, v.session)
	if err != nil {
		return done{}, err
	}
	return done{Notice: "Logged out: " + plural(n, "browser") + ".", To: "/clients"}, nil
}

// readClients follows who has access and what was used last.
func (c *Console) readClients(subject principal.Owner) reading {
	return func(ctx context.Context, to *strings.Builder, _ *sight) error {
		all, err := c.cfg.Clients.Tokens(ctx, subject)
		for _, t := range all {
			use := c.cfg.Clients.Used(t.Key)
			_, _ = to.WriteString(t.ID + t.Grant.Scope + use.Last.Format(time.RFC3339) + use.Tool + ";")
		}
		return err
	}
}
