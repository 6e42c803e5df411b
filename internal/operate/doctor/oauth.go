package doctor

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
)

// clientName is what the doctor calls itself where the owner sees it.
const clientName = "candela doctor"

// redirectTo is where the browser would be sent. Nobody listens: the address is read
// off the answer.
const redirectTo = "http://127.0.0.1:9/candela-doctor"

// stepError is where a round trip ended.
type stepError struct{ step, what, fix string }

func (e *stepError) Error() string { return e.step + ": " + e.what }

// RoundTrip lets itself in through the public address as a client does: metadata,
// registration, the page with the passphrase, the code, the token, and a call with
// it. It returns the token, "" when it has none. The caller revokes it.
func (s *Server) RoundTrip(ctx context.Context, passphrase string) (Finding, string) {
	const check = "OAuth"
	token, err := s.letIn(ctx, passphrase)
	if err == nil {
		err = s.call(ctx, token)
	}
	if err != nil {
		return newProblem(check, err.fix, "through %s, %s", s.BaseURL, err.Error()), token
	}
	return NewOK(check, "registration, consent, token and a call with it work through %s", s.BaseURL), token
}

const pathsFix = "let the proxy pass every path on as it is, with its query, cookies and body: /.well-known/, /register, /authorize, /consent, /token and /mcp"

// begun is an authorization that a registered client may ask for.
type begun struct {
	authorize, token, client, verifier, state string
}

// begin reads the metadata and registers a client.
func (s *Server) begin(ctx context.Context) (b begun, _ *stepError) {
	var meta struct {
		Issuer    string `json:"issuer"`
		Authorize string `json:"authorization_endpoint"`
		Token     string `json:"token_endpoint"`
		Register  string `json:"registration_endpoint"`
	}
	if err := s.json(ctx, question{step: "metadata", address: s.BaseURL + "/.well-known/oauth-authorization-server"}, &meta); err != nil {
		return b, err
	}
	if meta.Issuer != s.BaseURL {
		return b, &stepError{"metadata", "the issuer is " + clean(meta.Issuer), "start the server with --base-url " + s.BaseURL}
	}
	var registered struct {
		ID string `json:"client_id"`
	}
	body := fmt.Sprintf(`{"client_name":%q,"redirect_uris":[%q],"token_endpoint_auth_method":"none"}`, clientName, redirectTo)
	if err := s.json(ctx, question{"registration", meta.Register, "application/json", body}, &registered); err != nil {
		return b, err
	}
	b = begun{token: meta.Token, client: registered.ID, verifier: randomText(), state: randomText()}
	sum := sha256.Sum256([]byte(b.verifier))
	b.authorize = meta.Authorize + "?" + url.Values{
		"client_id": {b.client}, "redirect_uri": {redirectTo}, "response_type": {"code"}, "state": {b.state}, "scope": {"charts"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"},
	}.Encode()
	return b, nil
}

func (s *Server) letIn(ctx context.Context, passphrase string) (string, *stepError) {
	b, err := s.begin(ctx)
	if err != nil {
		return "", err
	}
	code, err := s.consent(ctx, b.authorize, passphrase, b.state)
	if err != nil {
		return "", err
	}
	var issued struct {
		Token string `json:"access_token"`
	}
	form := url.Values{"grant_type": {"authorization_code"}, "code": {code}, "client_id": {b.client}, "redirect_uri": {redirectTo}, "code_verifier": {b.verifier}}
	if err := s.json(ctx, question{"token", b.token, "application/x-www-form-urlencoded", form.Encode()}, &issued); err != nil {
		return "", err
	}
	return issued.Token, nil
}

// consent opens the page and answers it, and returns the code.
func (s *Server) consent(ctx context.Context, address, passphrase, state string) (string, *stepError) {
	got, err := s.ask(ctx, http.MethodGet, address, http.Header{"Accept": {"text/html"}}, "")
	if err != nil {
		return "", &stepError{"consent page", err.Error(), pathsFix}
	}
	if got.status == http.StatusOK {
		field := regexp.MustCompile(`name="request" value="([^"]*)"`).FindSubmatch(got.body)
		if field == nil {
			return "", &stepError{"consent page", "the page is not candela's", pathsFix}
		}
		form := url.Values{"request": {html.UnescapeString(string(field[1]))}, "passphrase": {passphrase}, "decision": {"approve"}}
		header := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Accept": {"text/html"}}
		if got, err = s.ask(ctx, http.MethodPost, s.BaseURL+"/consent", header, form.Encode()); err != nil {
			return "", &stepError{"consent", err.Error(), pathsFix}
		}
	}
	to, bad := url.Parse(got.header.Get("Location"))
	if bad != nil || got.status < 300 || got.status >= 400 || to.Query().Get("code") == "" {
		return "", &stepError{"consent", fmt.Sprintf("no code came back (HTTP %d)", got.status), "let the proxy pass cookies and Location headers on unchanged; with several replicas, --nats-url makes them one"}
	}
	if to.Query().Get("state") != state {
		return "", &stepError{"consent", "another state came back", pathsFix}
	}
	return to.Query().Get("code"), nil
}

// call makes one call with the token: some proxies drop the header.
func (s *Server) call(ctx context.Context, token string) *stepError {
	header := http.Header{"Authorization": {"Bearer " + token}, "Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	got, err := s.ask(ctx, http.MethodPost, s.BaseURL+"/mcp", header, `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	switch {
	case err != nil:
		return &stepError{"call", err.Error(), pathsFix}
	case got.status == http.StatusUnauthorized:
		return &stepError{"call", "the token is not accepted (HTTP 401)", "let the proxy pass the Authorization header on; in Apache, CGIPassAuth or SetEnvIf"}
	case got.status != http.StatusOK:
		return &stepError{"call", fmt.Sprintf("HTTP %d", got.status), pathsFix}
	}
	return nil
}

// question is a request of one step, with a body to post or, without its kind, to get.
type question struct{ step, address, kind, body string }

// json sends a request and reads the answer's fields.
func (s *Server) json(ctx context.Context, q question, into any) *stepError {
	header, method := http.Header{"Accept": {"application/json"}}, http.MethodGet
	if q.kind != "" {
		method = http.MethodPost
		header.Set("Content-Type", q.kind)
	}
	if !strings.HasPrefix(q.address, s.BaseURL+"/") {
		return &stepError{q.step, "the address is elsewhere, at " + clean(q.address), "start the server with --base-url " + s.BaseURL}
	}
	got, err := s.ask(ctx, method, q.address, header, q.body)
	switch {
	case err != nil:
		return &stepError{q.step, err.Error(), pathsFix}
	case got.status == http.StatusTooManyRequests:
		return &stepError{q.step, "too many requests (HTTP 429)", "wait a minute; if all clients share an address, set --trusted-proxies to the proxy's"}
	case got.status >= 300 || json.Unmarshal(got.body, into) != nil:
		return &stepError{q.step, fmt.Sprintf("HTTP %d, and not what candela answers", got.status), pathsFix}
	}
	return nil
}

func randomText() string {
	b := make([]byte, 32)
	_, _ = rand.Read(b) // it never fails
	return base64.RawURLEncoding.EncodeToString(b)
}
