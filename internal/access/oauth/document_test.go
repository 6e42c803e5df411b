package oauth_test

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"candela/internal/access/cimd"
	"candela/internal/access/oauth"
	. "candela/internal/access/oauth/oauthtest" //nolint:revive // see scene_test.go
	"candela/lib/fault"
)

const documentID = "https://client.example/oauth/client.json"

// shelf holds documents by their ids and counts fetches.
type shelf struct {
	documents map[string]cimd.Document
	fetched   int
}

func (s *shelf) Document(_ context.Context, id string, _ netip.Addr) (cimd.Document, error) {
	s.fetched++
	d, ok := s.documents[id]
	if !ok {
		return d, fault.New(fault.Invalid, "client_document", "the document of the client cannot be used: the host answered with status 404 instead of 200")
	}
	d.ID = id
	return d, nil
}

func onShelf(redirects ...string) *shelf {
	return &shelf{documents: map[string]cimd.Document{documentID: {Name: "A Client", Redirects: redirects, Digest: "d1"}}}
}

func withDocuments(t *testing.T, d oauth.Documents, change func(*oauth.Config)) *Scene {
	t.Helper()
	return New(t, func(c *oauth.Config) {
		c.Documents = d
		if change != nil {
			change(c)
		}
	})
}

var loginField = regexp.MustCompile(`name="login" value="([^"]+)"`)

// logIn posts the login form of a page.
func logIn(t *testing.T, b *Browser, page Response, passphrase string) Response {
	t.Helper()
	found := loginField.FindSubmatch(page.Body)
	if found == nil {
		t.Fatalf("no login form: %d %s", page.Status, page.Body)
	}
	return b.Do(http.MethodPost, "/consent", url.Values{"login": {string(found[1])}, "passphrase": {passphrase}}.Encode(), nil)
}

// TestDocument_FromLoginToToken goes the whole way twice: the second time at a server that
// has restarted, with the same client id.
func TestDocument_FromLoginToToken(t *testing.T) {
	t.Parallel()
	documents := onShelf(Redirect)
	client := Client{ID: documentID}
	for range 2 {
		s := withDocuments(t, documents, nil)
		before := documents.fetched
		b := s.Browser()
		page := b.Open(Query(client))
		if page.Status != http.StatusOK || documents.fetched != before || !strings.Contains(string(page.Body), "client.example") {
			t.Fatalf("before the login: %d, %d fetches, %s", page.Status, documents.fetched-before, page.Body)
		}
		if again := logIn(t, b, page, "a wrong passphrase"); again.Status != http.StatusUnauthorized || documents.fetched != before || !strings.Contains(string(again.Body), "Wrong passphrase.") {
			t.Fatalf("a wrong passphrase: %d, %d fetches", again.Status, documents.fetched-before)
		}
		consent := logIn(t, b, page, Passphrase)
		for _, want := range []string{"Allow the client of client.example to access candela?", "A Client", "Any program on this device can pretend", "Logged in as the owner"} {
			if !strings.Contains(string(consent.Body), want) {
				t.Fatalf("the page lacks %q: %d %s", want, consent.Status, consent.Body)
			}
		}
		code := b.Decide(consent, "passphrase", "").Location(t).Query().Get("code")
		token := s.Redeem(TokenForm(client, code)).Text(t, "access_token")
		caller, err := s.Server.Authorize(t.Context(), token)
		if err != nil || caller.Client != "A Client (client.example)" {
			t.Errorf("%+v, %v", caller, err)
		}
	}
}

func TestDocument_OwnerIsLoggedIn(t *testing.T) {
	t.Parallel()
	for trading, asks := range map[oauth.Trading]bool{oauth.PaperTrading: false, oauth.LiveTrading: true} {
		documents := onShelf("https://client.example/callback")
		s := withDocuments(t, documents, func(c *oauth.Config) { c.Trading = trading })
		b := s.Browser()
		known := s.Known()
		b.Decide(b.Open(Query(known)))
		query := Query(Client{ID: documentID}, "redirect_uri", "https://client.example/callback")
		page := b.Open(query)
		if got := strings.Contains(string(page.Body), `name="passphrase"`); got != asks || !strings.Contains(string(page.Body), "Allow the client of client.example to access candela?") {
			t.Errorf("trading %d: the page asks for a passphrase: %v", trading, got)
		}
		if strings.Contains(string(page.Body), "Any program on this device") || strings.Contains(string(page.Body), "It is not client.example") {
			t.Errorf("the page warns: %s", page.Body)
		}
		if location := b.Decide(page).Location(t); location.Host != "client.example" || location.Query().Get("code") == "" {
			t.Errorf("sent to %s", location)
		}
	}
}

func TestDocument_Refusals(t *testing.T) {
	t.Parallel()
	documents := onShelf(Redirect, "https://elsewhere.example/callback")
	documents.documents["https://client.example/bad"] = cimd.Document{Name: "Bad", Redirects: []string{"http://elsewhere.example/"}, Digest: "d2"}
	s := withDocuments(t, documents, nil)
	b := s.Browser()
	b.Decide(b.Open(Query(s.Known()))) // logs in
	for name, tc := range map[string]struct {
		query url.Values
		want  string
	}{
		"a redirect that is not listed":      {Query(Client{ID: documentID}, "redirect_uri", "https://evil.example/"), "redirect_uri is not one"},
		"a longer redirect":                  {Query(Client{ID: documentID}, "redirect_uri", Redirect+"/x"), "redirect_uri is not one"},
		"no redirect of several":             {Query(Client{ID: documentID}, "redirect_uri", ""), "redirect_uri is missing"},
		"a document that is not there":       {Query(Client{ID: "https://client.example/none"}), "status 404"},
		"a document with a wrong redirect":   {Query(Client{ID: "https://client.example/bad"}), "http is only for localhost"},
		"an id over http":                    {Query(Client{ID: "http://client.example/x"}), "cannot be used"},
		"a redirect of another registration": {Query(Client{ID: documentID}, "redirect_uri", "http://localhost:3118/other"), "redirect_uri is not one"},
	} {
		page := b.Open(tc.query)
		if page.Status != http.StatusBadRequest || page.Header.Get("Location") != "" || !strings.Contains(string(page.Body), tc.want) {
			t.Errorf("%s: %d %s", name, page.Status, page.Body)
		}
	}
	if page := b.Open(Query(Client{ID: documentID}, "redirect_uri", "http://localhost:9/callback")); page.Status != http.StatusOK {
		t.Errorf("another port on loopback: %d %s", page.Status, page.Body)
	}
	page := b.Open(Query(Client{ID: documentID}, "redirect_uri", "https://elsewhere.example/callback"))
	if !strings.Contains(string(page.Body), "It is not client.example") {
		t.Errorf("the page does not warn: %s", page.Body)
	}
}

func TestDocument_ConsentIsForWhatWasShown(t *testing.T) {
	t.Parallel()
	documents := onShelf(Redirect)
	s := withDocuments(t, documents, nil)
	b := s.Browser()
	page := logIn(t, b, b.Open(Query(Client{ID: documentID})), Passphrase)
	d := documents.documents[documentID]
	d.Digest = "d2"
	documents.documents[documentID] = d
	if r := b.Decide(page, "passphrase", ""); r.Status != http.StatusBadRequest || !strings.Contains(string(r.Body), "has changed") {
		t.Errorf("%d %s", r.Status, r.Body)
	}
}

func TestDocument_FormsBelongToABrowser(t *testing.T) {
	t.Parallel()
	documents := onShelf(Redirect)
	s := withDocuments(t, documents, nil)
	page := s.Browser().Open(Query(Client{ID: documentID}))
	if r := logIn(t, s.Browser(), page, Passphrase); r.Status != http.StatusBadRequest || documents.fetched != 0 {
		t.Errorf("another browser: %d, %d fetches", r.Status, documents.fetched)
	}
	b := s.Browser()
	consent := logIn(t, b, b.Open(Query(Client{ID: documentID})), Passphrase)
	if r := s.Browser().Decide(consent, "passphrase", ""); r.Status != http.StatusBadRequest {
		t.Errorf("the approval in another browser: %d", r.Status)
	}
}

func TestDocument_TokenEndpoint(t *testing.T) {
	t.Parallel()
	s := withDocuments(t, onShelf(Redirect), nil)
	b := s.Browser()
	consent := logIn(t, b, b.Open(Query(Client{ID: documentID})), Passphrase)
	code := b.Decide(consent, "passphrase", "").Location(t).Query().Get("code")
	if r := s.Redeem(TokenForm(Client{ID: documentID}, code, "client_secret", "s")); r.Status != http.StatusUnauthorized {
		t.Errorf("with a secret: %d %s", r.Status, r.Body)
	}
	if r := s.Redeem(TokenForm(Client{ID: "https://client.example/other"}, code)); r.Status != http.StatusBadRequest || r.Text(t, "error") != "invalid_grant" {
		t.Errorf("another client: %d %s", r.Status, r.Body)
	}
	if r := s.Redeem(TokenForm(Client{ID: documentID}, code)); r.Status == http.StatusOK {
		t.Error("a code that another client tried still works")
	}
}

func TestDocument_Off(t *testing.T) {
	t.Parallel()
	s := New(t, nil)
	page := s.Browser().Open(Query(Client{ID: documentID}))
	if page.Status != http.StatusBadRequest || !strings.Contains(string(page.Body), "register instead") {
		t.Errorf("%d %s", page.Status, page.Body)
	}
	const field = `"client_id_metadata_document_supported":true`
	metadata := s.Do(http.MethodGet, "/.well-known/oauth-authorization-server", "", "", nil)
	with := withDocuments(t, onShelf(Redirect), nil).Do(http.MethodGet, "/.well-known/oauth-authorization-server", "", "", nil)
	if strings.Contains(string(metadata.Body), field) || !strings.Contains(string(with.Body), field) {
		t.Errorf("without documents %s, with documents %s", metadata.Body, with.Body)
	}
}

// TestRemedy_NamesWhatToDoInTheProgram shows the page of a registration that a restart ended
// and that the owner cannot approve: the program changed its address, or approval is automatic.
func TestRemedy_NamesWhatToDoInTheProgram(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"Claude Code (candela)": "claude mcp logout NAME", "Codex": "codex mcp logout NAME", "MCP CLI Proxy": "Stop mcp-remote", "Another": "in the settings of the program",
	} {
		old := New(t, nil).Register(fmt.Sprintf(`{"client_name":%q,"redirect_uris":[%q,"https://client.example/callback"]}`, name, Redirect))
		for redirect, s := range map[string]*Scene{
			Redirect + "/2":                   New(t, nil),
			"https://client.example/other":    New(t, nil),
			Redirect:                          New(t, func(c *oauth.Config) { c.AutoApprove = true }),
			"https://client.example/callback": New(t, func(c *oauth.Config) { c.AutoApprove = true }),
		} {
			page := s.Browser().Open(Query(old, "redirect_uri", redirect))
			if page.Status != http.StatusBadRequest || !strings.Contains(string(page.Body), want) {
				t.Errorf("%s, %s: %d %s", name, redirect, page.Status, page.Body)
			}
		}
	}
}
