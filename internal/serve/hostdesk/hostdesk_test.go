package hostdesk_test

import (
	"context"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"candela/internal/access/oauth"
	"candela/internal/access/oauth/oauthtest"
	"candela/internal/access/owners"
	"candela/internal/access/plan"
	"candela/internal/kit/principal"
	"candela/internal/serve/console"
	"candela/internal/serve/hostdesk"
	"candela/internal/work/hosting"
)

const base = "http://127.0.0.1:9400"

// scene is a desk over people in memory.
type scene struct {
	*testing.T
	desk http.Handler

	mu     sync.Mutex
	now    time.Time
	people map[principal.Owner]owners.Owner
	tokens map[principal.Owner][]oauth.Token
	noted  []string
}

func newScene(t *testing.T) *scene {
	t.Helper()
	s := &scene{T: t, now: time.Date(2026, 11, 17, 12, 0, 0, 0, time.UTC), people: map[principal.Owner]owners.Owner{}, tokens: map[principal.Owner][]oauth.Token{}}
	for i := range 120 {
		o := owners.Owner{
			ID: principal.Owner(fmt.Sprintf("owner%03d", i)), State: owners.Active, Name: fmt.Sprintf("Secret Name %d", i), Email: fmt.Sprintf("mail%d@example.com", i), Subject: "sub", Issuer: "https://id.example",
			First: s.now.Add(-30 * 24 * time.Hour), Last: s.now.Add(-time.Hour), Since: s.now,
		}
		switch i % 10 {
		case 1:
			o.State = owners.Suspended
		case 2:
			o.Plan = "pro"
		}
		s.people[o.ID] = o
		s.tokens[o.ID] = []oauth.Token{{ID: "C" + string(o.ID), Grant: oauth.Grant{Subject: o.ID, ClientName: "<b>client</b>", Scope: "trade"}, Issued: s.now, Expires: s.now.Add(time.Hour)}}
	}
	plans, err := plan.Parse([]byte("[pro]\nalerts = 2000\n"))
	if err != nil {
		t.Fatal(err)
	}
	work := hosting.New(s, s)
	work.Note = func(_ context.Context, kind, about string, body []byte) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.noted = append(s.noted, strings.TrimSpace(kind+" "+about)+" "+string(body))
		return nil
	}
	s.desk, err = hostdesk.New(hostdesk.Config{
		Desk: work, BaseURL: base, Server: "charts.example.com", Passphrase: oauthtest.Owner(t), Plans: func() plan.Table { return plans },
		Address: func(r *http.Request) netip.Addr { return netip.MustParseAddrPort(r.RemoteAddr).Addr() },
		Health:  func() []console.Part { return []console.Part{{Name: "store", Text: "broken", Bad: true}} },
		Log:     slog.New(slog.NewTextHandler(t.Output(), nil)), Now: s.clock,
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *scene) clock() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

func (s *scene) pass(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = s.now.Add(d)
}

func (s *scene) List(_ context.Context, after principal.Owner, f owners.Filter, limit int) (owners.Page, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	page := owners.Page{Owners: []owners.Owner{}}
	for i := range 200 {
		o, ok := s.people[principal.Owner(fmt.Sprintf("owner%03d", i))]
		switch {
		case !ok || o.ID <= after || !f.Fits(o):
		case len(page.Owners) == limit:
			page.More = true
			return page, nil
		default:
			page.Owners = append(page.Owners, o)
		}
	}
	return page, nil
}

func (s *scene) Show(_ context.Context, id principal.Owner) (owners.Detail, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o, ok := s.people[id]
	if !ok {
		return owners.Detail{}, owners.NotFound(id)
	}
	return owners.Detail{Owner: o, Clients: len(s.tokens[id]), Alerts: 190}, nil
}

func (s *scene) change(id principal.Owner, to func(*owners.Owner)) (owners.Owner, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o, ok := s.people[id]
	if !ok {
		return o, owners.NotFound(id)
	}
	to(&o)
	s.people[id] = o
	return o, nil
}

func (s *scene) Suspend(_ context.Context, id principal.Owner) (owners.Owner, error) {
	return s.change(id, func(o *owners.Owner) { o.State = owners.Suspended })
}

func (s *scene) Resume(_ context.Context, id principal.Owner) (owners.Owner, error) {
	return s.change(id, func(o *owners.Owner) { o.State = owners.Active })
}

func (s *scene) SetPlan(_ context.Context, id principal.Owner, name string) (owners.Owner, error) {
	return s.change(id, func(o *owners.Owner) { o.Plan = name })
}

func (s *scene) Link(context.Context, principal.Owner, string, string) (owners.Owner, error) {
	return owners.Owner{}, nil
}

func (s *scene) Export(_ context.Context, id principal.Owner, row func(owners.ExportedRow) error) error {
	return row(owners.ExportedRow{Table: "owners", JSON: []byte(`{"owner":"` + string(id) + `"}`)})
}

func (s *scene) Erase(_ context.Context, id principal.Owner) (owners.Erasure, error) {
	if o := s.people[id]; o.State == owners.Active {
		return owners.Erasure{}, owners.StillActive(id)
	}
	_, err := s.change(id, func(o *owners.Owner) { *o = owners.Owner{ID: id, State: owners.Erased} })
	return owners.Erasure{Owner: id}, err
}

func (s *scene) Tokens(_ context.Context, id principal.Owner) ([]oauth.Token, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.tokens[id]), nil
}

func (s *scene) Revoke(_ context.Context, id principal.Owner, token string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := len(s.tokens[id])
	s.tokens[id] = slices.DeleteFunc(s.tokens[id], func(t oauth.Token) bool { return t.ID == token })
	if len(s.tokens[id]) == before {
		return oauth.ErrNotFound
	}
	return nil
}

// state says how everybody is, to compare.
func (s *scene) state() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	text, _ := json.Marshal([]any{s.people, s.tokens, s.noted})
	return string(text)
}

// browser keeps the cookie of the desk.
type browser struct {
	*scene
	cookie, address string
}

func (s *scene) browser() *browser { return &browser{scene: s, address: "10.0.0.1:5000"} }

type answer struct {
	status int
	body   string
	head   http.Header
}

// send sends a request. Headers are pairs; "" removes one.
func (b *browser) send(method, path, body string, head ...string) answer {
	b.Helper()
	r := httptest.NewRequestWithContext(b.Context(), method, base+path, strings.NewReader(body))
	r.RemoteAddr = b.address
	if method == http.MethodPost {
		r.Header.Set("Origin", base)
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if b.cookie != "" {
		r.AddCookie(&http.Cookie{Name: "candela_host", Value: b.cookie})
	}
	for i := 0; i+1 < len(head); i += 2 {
		if head[i] == "Host" {
			r.Host = head[i+1]
			continue
		}
		r.Header.Set(head[i], head[i+1])
		if head[i+1] == "" {
			r.Header.Del(head[i])
		}
	}
	w := httptest.NewRecorder()
	b.desk.ServeHTTP(w, r)
	got := w.Result()
	for _, c := range got.Cookies() {
		if c.Name == "candela_host" {
			if b.cookie = c.Value; c.Path != "/host" || !c.HttpOnly || c.SameSite != http.SameSiteStrictMode {
				b.Errorf("cookie %+v", c)
			}
		}
	}
	text, _ := io.ReadAll(got.Body)
	return answer{got.StatusCode, string(text), got.Header}
}

func (b *browser) get(path string) answer { return b.send(http.MethodGet, path, "") }

// tokenFor finds the token of a form in a page.
func tokenFor(page, action string) string {
	_, form, found := strings.Cut(page, `action="`+action+`"`)
	_, form, named := strings.Cut(form, `name="token" value="`)
	token, _, _ := strings.Cut(form, `"`)
	if !found || !named {
		return ""
	}
	return html.UnescapeString(token)
}

func (b *browser) post(path string, values url.Values, head ...string) answer {
	return b.send(http.MethodPost, path, values.Encode(), head...)
}

func (b *browser) login() *browser {
	b.Helper()
	token := tokenFor(b.get("/host/login").body, "/host/login")
	if r := b.post("/host/login", url.Values{"token": {token}, "passphrase": {oauthtest.Passphrase}, "who": {"m.weber"}}); r.status != http.StatusSeeOther || b.cookie == "" {
		b.Fatalf("%d %s", r.status, r.body)
	}
	return b
}

// confirm asks for an act and confirms it.
func (b *browser) confirm(values url.Values, more url.Values) answer {
	b.Helper()
	values.Set("token", tokenFor(b.get("/host/").body, "/host/ask"))
	page := b.post("/host/ask", values)
	if page.status != http.StatusOK {
		return page
	}
	values.Set("token", tokenFor(page.body, "/host/do"))
	maps.Copy(values, more)
	return b.post("/host/do", values)
}

func TestDesk_ShowsPeopleWithoutNamesUntilAsked(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	b := s.browser().login()
	for path, wants := range map[string][]string{
		"/host/":                                {"person owner000", ">120<", "Suspended <span class=\"muted\">12<", `rel="next"`, "190", "bar warn"},
		"/host/?state=suspended":                {"person owner001", "12 on this page"},
		"/host/?plan=pro":                       {"person owner002", "12 on this page"},
		"/host/?after=owner049":                 {"person owner050", "First page"},
		"/host/?q=OWNER07":                      {"person owner070", "10 on this page"},
		"/host/?q=Secret":                       {"Nobody fits."},
		"/host/people/owner003":                 {"owner003", "&lt;b&gt;client", "Export"},
		"/host/plans":                           {"2,000", "12 people", "calls_per_second"},
		"/host/health":                          {"1 to look at", "broken"},
		"/host/more":                            {"m.weber"},
		"/host/people/nobody":                   {"No owner"},
		"/host/?state=asleep":                   {"active, suspended or erased"},
		"/host/nowhere":                         {"There is no page"},
		"/host/people/..%2f..%2fetc%2fpasswd":   {"No owner"},
		"/host/?plan=%3Cscript%3Ealert(1)":      {"Nobody fits."},
		"/host/?q=%22%3E%3Cscript%3Ealert(1)":   {"&lt;script"},
		"/host/?after=zzzz":                     {"0 on this page"},
		"/host/?state=erased":                   {"Nobody fits."},
		"/host/?state=active&plan=default&q=ow": {"50 on this page"},
	} {
		r := b.get(path)
		for _, want := range wants {
			if !strings.Contains(r.body, want) {
				t.Errorf("%s lacks %q: %d", path, want, r.status)
			}
		}
		if strings.Contains(r.body, "Secret Name") || strings.Contains(r.body, "@example.com") || strings.Contains(r.body, "<script>alert") {
			t.Errorf("%s shows a name, or runs what it was given", path)
		}
	}
	r := b.post("/host/names", url.Values{"token": {tokenFor(b.get("/host/").body, "/host/names")}, "show": {"yes"}, "to": {"https://evil.example/host/"}})
	if r.head.Get("Location") != "/host/" {
		t.Errorf("leads to %s", r.head.Get("Location"))
	}
	if page := b.get("/host/?q=secret+name+7").body; !strings.Contains(page, "mail70@example.com") || !strings.Contains(page, "11 on this page") {
		t.Error("names are not shown")
	}
	if !slices.ContainsFunc(s.noted, func(n string) bool { return strings.HasPrefix(n, `host_names {"by":"m.weber"`) }) {
		t.Errorf("noted %q", s.noted)
	}
	s.pass(16 * time.Minute)
	if strings.Contains(b.get("/host/").body, "Secret Name") {
		t.Error("names are shown for ever")
	}
}

func TestDesk_ActsOnOneAndOnMany(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	b := s.browser().login()
	if r := b.confirm(url.Values{"act": {"suspend"}, "id": {"owner000", "owner003", "owner000"}}, nil); r.status != http.StatusSeeOther {
		t.Errorf("%d %s", r.status, r.body)
	}
	if !strings.Contains(b.get("/host/").body, "done for 2.") {
		t.Error("no notice")
	}
	if r := b.confirm(url.Values{"act": {"plan"}, "id": {"owner004"}}, url.Values{"plan": {"pro"}}); r.head.Get("Location") != "/host/people/owner004" {
		t.Errorf("%d %s", r.status, r.body)
	}
	if r := b.confirm(url.Values{"act": {"end"}, "id": {"owner005"}, "client": {"Cowner005"}}, nil); r.status != http.StatusSeeOther {
		t.Errorf("%d %s", r.status, r.body)
	}
	for why, more := range map[string]url.Values{"without the passphrase": nil, "with a wrong one": {"passphrase": {"wrong"}}} {
		if r := b.confirm(url.Values{"act": {"erase"}, "id": {"owner000"}}, more); r.status != http.StatusForbidden {
			t.Errorf("erased %s: %d", why, r.status)
		}
	}
	right := url.Values{"passphrase": {oauthtest.Passphrase}}
	r := b.confirm(url.Values{"act": {"erase"}, "id": {"owner000", "owner009"}}, right)
	if r.status != http.StatusConflict || !strings.Contains(r.body, "1 of 2 were done.") || !strings.Contains(r.body, "Suspend the owner first") {
		t.Errorf("%d %s", r.status, r.body)
	}
	if r := b.confirm(url.Values{"act": {"export"}, "id": {"owner005"}}, right); !strings.Contains(r.body, `{"table":"owners","row":{"owner":"owner005"}}`) || !strings.HasPrefix(r.head.Get("Content-Disposition"), "attachment") {
		t.Errorf("%d %s", r.status, r.body)
	}
	got := fmt.Sprint(s.people["owner000"].State, s.people["owner003"].State, s.people["owner009"].State, s.people["owner004"].Plan, len(s.tokens["owner005"]), len(s.tokens["owner006"]))
	if got != "erasedsuspendedactivepro0 1" {
		t.Error(got)
	}
	for name, values := range map[string]url.Values{
		"nobody": {"act": {"suspend"}}, "an unknown act": {"act": {"love"}, "id": {"owner007"}}, "an unknown person": {"act": {"suspend"}, "id": {"no"}}, "an export of two": {"act": {"export"}, "id": {"owner007", "owner008"}},
	} {
		before := s.state()
		if r := b.confirm(values, right); r.status < 400 || s.state() != before {
			t.Errorf("%s: %d", name, r.status)
		}
	}
}

func TestDesk_RefusesAttacks(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	in := s.browser().login()
	page := in.get("/host/").body
	ask := tokenFor(page, "/host/ask")
	values := url.Values{"token": {tokenFor(in.post("/host/ask", url.Values{"token": {ask}, "act": {"suspend"}, "id": {"owner000"}}).body, "/host/do")}, "act": {"suspend"}, "id": {"owner000"}}
	with := func(name, value string) url.Values {
		v := url.Values{}
		for key := range values {
			v[key] = values[key]
		}
		v.Set(name, value)
		return v
	}
	other := s.browser().login()
	before := s.state()
	refused := func(name string, r answer) {
		t.Helper()
		toLogin := r.status == http.StatusSeeOther && strings.HasPrefix(r.head.Get("Location"), "/host/login")
		if r.status < 400 && !toLogin || s.state() != before {
			t.Errorf("%s: %d %.200s", name, r.status, r.body)
		}
	}
	refused("no session", s.browser().post("/host/do", values))
	refused("a form of another session", other.post("/host/do", values))
	refused("a form for another path", in.post("/host/do", with("token", ask)))
	refused("a forged token", in.post("/host/do", with("token", "AAAA")))
	refused("no token", in.post("/host/do", with("token", "")))
	refused("another origin", in.post("/host/do", values, "Origin", "https://evil.example"))
	refused("another port", in.post("/host/do", values, "Origin", "http://127.0.0.1:9315"))
	refused("origin null", in.post("/host/do", values, "Origin", "null"))
	refused("no origin", in.post("/host/do", values, "Origin", ""))
	refused("another site", in.post("/host/do", values, "Sec-Fetch-Site", "cross-site"))
	refused("a name that leads here", in.post("/host/do", values, "Host", "evil.example:9400"))
	refused("JSON", in.send(http.MethodPost, "/host/do", `{"act":"suspend"}`, "Content-Type", "application/json"))
	refused("a long form", in.post("/host/do", with("x", strings.Repeat("y", 40<<10))))
	refused("GET", in.get("/host/do?"+values.Encode()))
	bearer := []string{"Authorization", "Bearer " + other.cookie, "Content-Type", "application/json"}
	refused("the interface with a cookie", in.send(http.MethodPost, "/host/api/acts", `{"act":"suspend","ids":["owner000"]}`, "Content-Type", "application/json"))
	refused("a page with a bearer token", s.browser().send(http.MethodGet, "/host/", "", bearer...))
	for _, body := range []string{"", "{}", `{"act":"suspend"}`, `{"act":"suspend","all":true}`, `{"act":"love","ids":["owner000"]}`, `{"act":"suspend","ids":["owner000"],"filter":{"plan":"pro"}}`, `[]`} {
		refused("body "+body, s.browser().send(http.MethodPost, "/host/api/acts", body, bearer...))
	}
	for _, path := range []string{"/host//api/people", "/host/../host/api/people", "/host/%2e%2e/api/people", "/host/api/people/..", "/host/api/people/%2e%2e%2fx", "/console/", "/mcp", "/host/static/x/host.css", "/host/static/../api/people", "/metrics", "/.env"} {
		r := s.browser().get(path)
		if r.status == http.StatusOK || strings.Contains(r.body, "owner000") {
			t.Errorf("%s: %d", path, r.status)
		}
	}
	if s.state() != before {
		t.Error("a path changed something")
	}
}

func TestDesk_BoundsGuessesAndReplays(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	b := s.browser()
	form := url.Values{"token": {tokenFor(b.get("/host/login").body, "/host/login")}, "passphrase": {oauthtest.Passphrase}, "who": {"x"}}
	if r := b.post("/host/login", form); r.status != http.StatusSeeOther {
		t.Fatalf("%d %s", r.status, r.body)
	}
	again := s.browser()
	if r := again.post("/host/login", form); r.status != http.StatusForbidden || again.cookie != "" {
		t.Errorf("a login was replayed: %d", r.status)
	}
	if r := again.post("/host/login", form, "Origin", "https://evil.example"); r.status != http.StatusForbidden {
		t.Errorf("a login of another site: %d", r.status)
	}
	guess := func(from, passphrase string) int {
		g := s.browser()
		g.address = from
		form.Set("token", tokenFor(g.get("/host/login").body, "/host/login"))
		form.Set("passphrase", passphrase)
		return g.post("/host/login", form).status
	}
	codes := map[int]int{}
	for range 20 {
		codes[guess("10.0.0.9:1", "wrong passphrase of a guesser")]++
	}
	if codes[http.StatusForbidden] != 5 || codes[http.StatusServiceUnavailable] != 15 {
		t.Errorf("20 guesses of one address: %v", codes)
	}
	if got := guess("10.0.0.9:1", oauthtest.Passphrase); got != http.StatusServiceUnavailable {
		t.Errorf("the right one after them: %d", got)
	}
	if got := guess("10.0.0.8:1", oauthtest.Passphrase); got != http.StatusSeeOther {
		t.Errorf("somebody else: %d", got)
	}
	clear(codes)
	for i := range 100 {
		codes[guess(fmt.Sprintf("10.0.1.%d:1", i), "wrong passphrase of a guesser")]++
	}
	if codes[http.StatusForbidden] > 30 {
		t.Errorf("100 addresses: %v", codes)
	}
	old := b.cookie
	if r := b.get("/host/"); r.status != http.StatusOK {
		t.Errorf("%d", r.status)
	}
	s.pass(31 * time.Minute)
	if r := b.get("/host/"); r.status != http.StatusSeeOther {
		t.Errorf("an unused session: %d", r.status)
	}
	b = s.browser().login()
	kept := b.cookie
	if b.cookie == old {
		t.Error("the session has the name of an old one")
	}
	b.post("/host/logout", url.Values{"token": {tokenFor(b.get("/host/more").body, "/host/logout")}})
	b.cookie = kept
	if r := b.get("/host/"); r.status != http.StatusSeeOther {
		t.Errorf("after the logout: %d", r.status)
	}
	secrets := map[string]bool{}
	for range 40 {
		s.pass(2 * time.Second)
		secrets[s.browser().login().cookie] = true
	}
	live := 0
	for secret := range secrets {
		b.cookie = secret
		if b.get("/host/").status == http.StatusOK {
			live++
		}
	}
	if live != 32 {
		t.Errorf("%d sessions live of %d", live, len(secrets))
	}
}
