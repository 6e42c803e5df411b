// Package oidc is an identity provider on the loopback that signs in the person a test names,
// and lies on demand: about issuers, audiences, nonces, signatures, clocks and addresses.
package oidc

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

// The client that the provider knows.
const (
	ClientID = "candela"
	Secret   = "candela-secret"
)

// Person is who sits in front of the browser.
type Person struct {
	Subject  string
	Session  string // "" sends no sid
	Name     string
	Email    string
	Verified bool
	Groups   []string
	Claims   map[string]any // more, or others
}

// Ann returns a person whose email is verified and who is a trader.
func Ann() Person {
	return Person{Subject: "0001", Session: "s-ann", Name: "Ann", Email: "ann@example.com", Verified: true, Groups: []string{"traders"}}
}

// Lies is what the provider does wrong. The zero value is honest.
type Lies struct {
	Claims     func(claims map[string]any) // changes the ID token
	Discovery  func(document map[string]any)
	Algorithm  string             // of the signature: ES256 unless another is named; none and HS256 are lies
	Answer     func(q url.Values) // changes what the browser brings back
	Error      string             // answered instead of a code
	SwapCodes  bool               // a code is redeemed as the one that was issued before it
	Down       bool               // every request is answered with 500
	Hang       <-chan struct{}    // requests of the token endpoint wait for it
	Redirect   string             // the token endpoint sends there
	Long       bool               // answers of more than 1 MiB
	Keys       []byte             // instead of the keys
	Now        func() time.Time
	ForeignKey bool // signs with a key that is not published
	NoAccounts bool // refuses prompt=select_account
	NoKeyID    bool
	IssuerSent string // value of the parameter iss; "-" for none
}

// Server is the provider.
type Server struct {
	tb     testing.TB
	server *httptest.Server
	signer *signer

	mu       sync.Mutex
	person   Person
	lies     Lies
	codes    map[string]pending
	order    []string // codes as issued
	requests map[string]int
	last     url.Values // of the last authorization request
}

// pending is a sign-in whose code was not redeemed.
type pending struct {
	person    Person
	nonce     string
	challenge string
	redirect  string
}

// New starts a provider, which ends with the test.
func New(tb testing.TB) *Server {
	tb.Helper()
	s := &Server{tb: tb, signer: newSigner(tb), codes: map[string]pending{}, requests: map[string]int{}, person: Ann()}
	s.server = httptest.NewServer(http.HandlerFunc(s.serve))
	tb.Cleanup(s.server.Close)
	return s
}

// Issuer returns the name of the provider.
func (s *Server) Issuer() string { return s.server.URL + "/idp" }

// SignIn decides who is in front of the next browser.
func (s *Server) SignIn(p Person) { s.change(func() { s.person = p }) }

// Lie makes the provider lie from now on.
func (s *Server) Lie(l Lies) { s.change(func() { s.lies = l }) }

// Rotate replaces the key that signs.
func (s *Server) Rotate() { s.change(func() { s.signer = newSigner(s.tb) }) }

// Requests returns how many requests a path has had: keys, token, authorize, discovery.
func (s *Server) Requests(path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests[path]
}

// Asked returns the parameters of the last authorization request.
func (s *Server) Asked() url.Values {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

func (s *Server) change(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	do()
}

func (s *Server) now() time.Time {
	if s.lies.Now != nil {
		return s.lies.Now()
	}
	return time.Now()
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.Path, "/idp/")
	s.mu.Lock()
	s.requests[path]++
	lies := s.lies
	s.mu.Unlock()
	if lies.Now != nil {
		w.Header().Set("Date", lies.Now().UTC().Format(http.TimeFormat))
	}
	switch {
	case lies.Down:
		http.Error(w, "down", http.StatusInternalServerError)
	case lies.Long:
		_, _ = w.Write([]byte(`{"issuer":"` + strings.Repeat("x", 1<<20) + `"}`))
	case path == ".well-known/openid-configuration":
		s.discovery(w)
	case path == "authorize":
		s.authorize(w, r)
	case path == "token":
		if lies.Hang != nil {
			select {
			case <-lies.Hang:
			case <-r.Context().Done():
				return
			}
		}
		s.token(w, r)
	case path == "keys":
		s.keys(w)
	default:
		http.NotFound(w, r)
	}
}

func (s *Server) discovery(w http.ResponseWriter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	base := s.Issuer()
	document := map[string]any{
		"issuer": base, "authorization_endpoint": base + "/authorize", "token_endpoint": base + "/token", "jwks_uri": base + "/keys",
		"authorization_response_iss_parameter_supported": true, "backchannel_logout_supported": true,
	}
	if s.lies.Discovery != nil {
		s.lies.Discovery(document)
	}
	writeJSON(w, http.StatusOK, document)
}

func (s *Server) keys(w http.ResponseWriter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lies.Keys != nil {
		_, _ = w.Write(s.lies.Keys)
		return
	}
	writeJSON(w, http.StatusOK, s.signer.public())
}

// authorize signs in the person and sends the browser back.
func (s *Server) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = q
	if q.Get("client_id") != ClientID || q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" || q.Get("nonce") == "" || q.Get("state") == "" {
		http.Error(w, "a parameter is missing", http.StatusBadRequest)
		return
	}
	answer := url.Values{"state": {q.Get("state")}, "iss": {s.Issuer()}}
	switch s.lies.IssuerSent {
	case "":
	case "-":
		answer.Del("iss")
	default:
		answer.Set("iss", s.lies.IssuerSent)
	}
	switch {
	case s.lies.Error != "":
		answer.Set("error", s.lies.Error)
	case s.lies.NoAccounts && q.Get("prompt") == "select_account":
		answer.Set("error", "invalid_request")
	default:
		code := random()
		person := s.person
		if name := r.Header.Get("X-Person"); name != "" { // a browser with somebody of its own
			person = Person{Subject: name, Name: name, Email: name + "@example.com", Verified: true}
		}
		s.codes[code] = pending{person: person, nonce: q.Get("nonce"), challenge: q.Get("code_challenge"), redirect: q.Get("redirect_uri")}
		s.order = append(s.order, code)
		answer.Set("code", code)
	}
	if s.lies.Answer != nil {
		s.lies.Answer(answer)
	}
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+answer.Encode(), http.StatusSeeOther) //nolint:gosec // G710: it knows one client, whose address it is
}

func (s *Server) token(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lies.Redirect != "" {
		http.Redirect(w, r, s.lies.Redirect, http.StatusTemporaryRedirect)
		return
	}
	id, secret, _ := r.BasicAuth()
	if id != ClientID || secret != Secret {
		writeJSON(w, http.StatusUnauthorized, map[string]string{"error": "invalid_client"})
		return
	}
	code := r.PostFormValue("code")
	given, ok := s.codes[code]
	if s.lies.SwapCodes && len(s.order) > 1 {
		// The sign-in of another flow, as if its code had been put in place of this one.
		given, ok = s.codes[s.order[len(s.order)-2]]
	}
	sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	challenge := base64.RawURLEncoding.EncodeToString(sum[:])
	if !ok || given.challenge != challenge && !s.lies.SwapCodes || given.redirect != r.PostFormValue("redirect_uri") {
		writeJSON(w, http.StatusBadRequest, map[string]string{"error": "invalid_grant"})
		return
	}
	delete(s.codes, code)
	writeJSON(w, http.StatusOK, map[string]any{
		"access_token": random(), "token_type": "Bearer", "expires_in": 300, "id_token": s.sign(s.idClaims(given)),
	})
}

// idClaims returns the claims of an ID token, with the lies.
func (s *Server) idClaims(of pending) map[string]any {
	now := s.now()
	claims := map[string]any{
		"iss": s.Issuer(), "aud": ClientID, "sub": of.person.Subject, "nonce": of.nonce,
		"iat": now.Unix(), "exp": now.Add(5 * time.Minute).Unix(), "auth_time": now.Unix(),
		"name": of.person.Name, "email": of.person.Email, "email_verified": of.person.Verified,
	}
	if of.person.Session != "" {
		claims["sid"] = of.person.Session
	}
	if len(of.person.Groups) > 0 {
		claims["groups"] = of.person.Groups
	}
	maps.Copy(claims, of.person.Claims)
	if s.lies.Claims != nil {
		s.lies.Claims(claims)
	}
	return claims
}

// IDToken returns an ID token of a person, as an attacker may have got one elsewhere.
func (s *Server) IDToken(p Person, nonce string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sign(s.idClaims(pending{person: p, nonce: nonce}))
}

// LogoutToken returns the message that a session ended. change may alter its claims.
func (s *Server) LogoutToken(p Person, change func(claims map[string]any)) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	claims := map[string]any{
		"iss": s.Issuer(), "aud": ClientID, "sub": p.Subject, "iat": now.Unix(), "exp": now.Add(2 * time.Minute).Unix(), "jti": random(),
		"events": map[string]any{"http://schemas.openid.net/event/backchannel-logout": map[string]any{}},
	}
	if p.Session != "" {
		claims["sid"] = p.Session
	}
	if change != nil {
		change(claims)
	}
	return s.sign(claims)
}

func random() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // documented never to fail
	return hex.EncodeToString(b[:])
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client may have disconnected
}
