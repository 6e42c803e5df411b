// Package oauthtest drives an authorization server the way clients and browsers
// do, for the tests of every layer above it, and compares what it answers with
// the tables of docs/oauth.md.
package oauthtest

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"

	"candela/internal/access/oauth"
)

// Values of the scenes.
const (
	Base       = "http://localhost:9315"
	Passphrase = "correct horse battery staple"
	Verifier   = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
	Redirect   = "http://localhost:3118/callback"
)

// Challenge returns the S256 challenge of a verifier.
func Challenge(verifier string) string {
	sum := sha256.Sum256([]byte(verifier))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// Cost makes a hash as cheap as argon2id allows.
func Cost() oauth.Cost { return oauth.Cost{Memory: 8, Passes: 1, Threads: 1} }

// Owner returns the owner of Passphrase.
func Owner(tb testing.TB) *oauth.Passphrase {
	tb.Helper()
	owner, err := oauth.NewOwner(Passphrase, Cost())
	if err != nil {
		tb.Fatal(err)
	}
	return owner
}

// Log keeps what was logged. It is safe for concurrent use.
type Log struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write appends p.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// String returns all of it.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// Scene is a server with its log and a handler in front of it.
type Scene struct {
	TB      testing.TB
	Server  *oauth.Server
	Handler http.Handler
	Log     *Log
}

// New returns a scene on Base. change may alter the configuration.
func New(tb testing.TB, change func(*oauth.Config)) *Scene {
	tb.Helper()
	return NewWith(tb, oauth.NewMemory(oauth.MaxTokens), Owner(tb), change)
}

// NewWith returns a scene over a store and an owner.
func NewWith(tb testing.TB, store oauth.Store, owner oauth.OwnerAuth, change func(*oauth.Config)) *Scene {
	tb.Helper()
	log := &Log{}
	cfg := oauth.Config{BaseURL: Base, Name: "candela", Log: slog.New(slog.NewTextHandler(log, nil))}
	if change != nil {
		change(&cfg)
	}
	server, err := oauth.New(store, owner, cfg)
	if err != nil {
		tb.Fatal(err)
	}
	return &Scene{TB: tb, Server: server, Handler: Handler(server), Log: log}
}

// Handler mounts the endpoints and nothing else.
func Handler(s *oauth.Server) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/oauth-authorization-server", s.ServeMetadata)
	mux.HandleFunc("GET /.well-known/oauth-protected-resource/", s.ServeResource)
	mux.HandleFunc("POST /register", s.ServeRegister)
	mux.HandleFunc("GET /authorize", s.ServeAuthorize)
	mux.HandleFunc("POST /consent", s.ServeConsent)
	mux.HandleFunc("POST /token", s.ServeToken)
	mux.HandleFunc("GET /signin/callback", s.ServeSignedIn)
	mux.HandleFunc("GET /signin/consent", s.ServeSignInConsent)
	mux.HandleFunc("POST /signin/logout", s.ServeSignOut)
	return mux
}

// Response is an answer that was read to its end.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
}

// Do sends one request.
func (s *Scene) Do(method, path, contentType, body string, header http.Header) Response {
	s.TB.Helper()
	r := httptest.NewRequestWithContext(s.TB.Context(), method, path, strings.NewReader(body))
	r.Host = "localhost:9315"
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	maps.Copy(r.Header, header)
	w := httptest.NewRecorder()
	s.Handler.ServeHTTP(w, r)
	result := w.Result()
	data, err := io.ReadAll(result.Body)
	if err != nil {
		s.TB.Fatal(err)
	}
	return Response{result.StatusCode, result.Header, data}
}

// JSON returns the body as an object.
func (r Response) JSON(tb testing.TB) map[string]any {
	tb.Helper()
	var object map[string]any
	if err := json.Unmarshal(r.Body, &object); err != nil {
		tb.Fatalf("%v in %s", err, r.Body)
	}
	return object
}

// Text returns a field of the JSON body.
func (r Response) Text(tb testing.TB, field string) string {
	tb.Helper()
	text, ok := r.JSON(tb)[field].(string)
	if !ok {
		tb.Fatalf("no text %s in %s", field, r.Body)
	}
	return text
}

// Location returns where the answer sends the browser.
func (r Response) Location(tb testing.TB) *url.URL {
	tb.Helper()
	u, err := url.Parse(r.Header.Get("Location"))
	if err != nil || r.Status != http.StatusSeeOther {
		tb.Fatalf("no redirect but %d %s", r.Status, r.Body)
	}
	return u
}

// Client is a registration.
type Client struct{ ID, Secret string }

// Register posts metadata and demands success.
func (s *Scene) Register(metadata string) Client {
	s.TB.Helper()
	r := s.PostRegister(metadata)
	if r.Status != http.StatusCreated {
		s.TB.Fatalf("registration: %d %s", r.Status, r.Body)
	}
	return Client{r.Text(s.TB, "client_id"), r.Text(s.TB, "client_secret")}
}

// PostRegister posts metadata.
func (s *Scene) PostRegister(metadata string) Response {
	s.TB.Helper()
	return s.Do(http.MethodPost, "/register", "application/json", metadata, nil)
}

// Known registers a client with the one address Redirect.
func (s *Scene) Known() Client {
	s.TB.Helper()
	return s.Register(`{"client_name":"A Client","redirect_uris":["` + Redirect + `"]}`)
}

// Query returns a good authorization request, changed by pairs; an empty value
// takes a parameter away.
func Query(c Client, pairs ...string) url.Values {
	values := url.Values{
		"client_id": {c.ID}, "redirect_uri": {Redirect}, "response_type": {"code"}, "state": {"xyz"},
		"code_challenge": {Challenge(Verifier)}, "code_challenge_method": {"S256"},
	}
	return change(values, pairs)
}

func change(values url.Values, pairs []string) url.Values {
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] == "" {
			values.Del(pairs[i])
		} else {
			values.Set(pairs[i], pairs[i+1])
		}
	}
	return values
}

// Browser keeps cookies.
type Browser struct {
	Person string // who signs in at a provider; "" for the provider's own choice

	s       *Scene
	cookies map[string]string
}

// Browser returns a fresh one.
func (s *Scene) Browser() *Browser { return &Browser{s: s, cookies: map[string]string{}} }

// At returns the same browser, with the same cookies, at another server.
func (b *Browser) At(s *Scene) *Browser { return &Browser{Person: b.Person, s: s, cookies: b.cookies} }

// Do sends a request with the browser's cookies and keeps those of the answer.
func (b *Browser) Do(method, path, body string, header http.Header) Response {
	b.s.TB.Helper()
	all := http.Header{"Accept": {"text/html,application/xhtml+xml"}}
	if len(b.cookies) > 0 {
		all.Set("Cookie", b.Cookie())
	}
	kind := ""
	if method == http.MethodPost {
		kind = "application/x-www-form-urlencoded"
		all.Set("Origin", Base)
		all.Set("Sec-Fetch-Site", "same-origin")
	}
	maps.Copy(all, header)
	response := b.s.Do(method, path, kind, body, all)
	for _, c := range (&http.Response{Header: response.Header}).Cookies() {
		if c.MaxAge < 0 {
			delete(b.cookies, c.Name)
			continue
		}
		b.cookies[c.Name] = c.Value
	}
	return response
}

// Open asks for authorization.
func (b *Browser) Open(query url.Values) Response {
	b.s.TB.Helper()
	return b.Do(http.MethodGet, "/authorize?"+query.Encode(), "", nil)
}

// Form returns what the consent page would post, changed by pairs.
func Form(tb testing.TB, page Response, pairs ...string) url.Values {
	tb.Helper()
	found := regexp.MustCompile(`name="request" value="([^"]+)"`).FindSubmatch(page.Body)
	if found == nil {
		tb.Fatalf("no form in %d %s", page.Status, page.Body)
	}
	values := url.Values{"request": {string(found[1])}, "decision": {"approve"}, "passphrase": {Passphrase}}
	return change(values, pairs)
}

// Decide posts the page's form, changed by pairs.
func (b *Browser) Decide(page Response, pairs ...string) Response {
	b.s.TB.Helper()
	return b.Do(http.MethodPost, "/consent", Form(b.s.TB, page, pairs...).Encode(), nil)
}

// Code takes a client through the consent page and returns its code.
func (s *Scene) Code(c Client, pairs ...string) string {
	s.TB.Helper()
	b := s.Browser()
	code := b.Decide(b.Open(Query(c, pairs...))).Location(s.TB).Query().Get("code")
	if code == "" {
		s.TB.Fatal("no code")
	}
	return code
}

// TokenForm returns a good token request, changed by pairs.
func TokenForm(c Client, code string, pairs ...string) url.Values {
	return change(url.Values{
		"grant_type": {"authorization_code"}, "client_id": {c.ID}, "code": {code},
		"redirect_uri": {Redirect}, "code_verifier": {Verifier},
	}, pairs)
}

// Redeem posts a token request.
func (s *Scene) Redeem(form url.Values) Response {
	s.TB.Helper()
	return s.Do(http.MethodPost, "/token", "application/x-www-form-urlencoded", form.Encode(), nil)
}

// Token takes a fresh client through the whole flow.
func (s *Scene) Token() string {
	s.TB.Helper()
	c := s.Known()
	return s.Redeem(TokenForm(c, s.Code(c))).Text(s.TB, "access_token")
}

// Cookie returns the browser's cookies as it would send them.
func (b *Browser) Cookie() string {
	pairs := make([]string, 0, len(b.cookies))
	for name, value := range b.cookies {
		pairs = append(pairs, name+"="+value)
	}
	return strings.Join(pairs, "; ")
}

// Cookies returns the browser's cookies.
func (b *Browser) Cookies() map[string]string { return maps.Clone(b.cookies) }

// SetCookie changes a cookie of the browser, as somebody who sits in front of it can.
func (b *Browser) SetCookie(name, value string) { b.cookies[name] = value }
