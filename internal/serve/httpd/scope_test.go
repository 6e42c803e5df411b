package httpd_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"candela/internal/access/oauth"
	"candela/internal/access/oauth/oauthtest"
	"candela/internal/kit/principal"
	"candela/internal/serve/httpd"
	"candela/internal/serve/httpd/httpdtest"
	"candela/internal/serve/mcp/mcptest"
	"candela/internal/serve/tool/tooltest"
)

// TestScopes_OfTokens approves clients on the page, and calls every tool with each token.
func TestScopes_OfTokens(t *testing.T) {
	t.Parallel()
	s, account := oauthtest.New(t, func(c *oauth.Config) { c.Trading = oauth.PaperTrading }), &tooltest.Account{}
	registry := tooltest.Extended(t, account.Parts(), tooltest.Sets()...)
	server, err := httpd.New(mcptest.Server(t, registry), s.Server, httpd.Config{
		BaseURL: oauthtest.Base, Name: "candela", Version: "test", OAuth: s.Server, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Handler = server.Handler()
	for _, scope := range principal.Scopes() {
		c, b := s.Known(), s.Browser()
		code := b.Decide(b.Open(oauthtest.Query(c)), "scope", scope.String()).Location(t).Query().Get("code")
		token := s.Redeem(oauthtest.TokenForm(c, code)).Text(t, "access_token")
		var batch []string
		for name, need := range tooltest.AllScopes() {
			arguments := `{}`
			if name == "generate_chart" {
				arguments = `{"format":"summary","bars":5,"indicators":[]}` // a picture takes long
			}
			body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, name, arguments)
			batch = append(batch, body)
			r := call(s, "/mcp", token, body)
			if got := strings.Contains(string(r.Body), `insufficient_scope`); r.Status != 200 || got != (scope < need) {
				t.Errorf("%s with %s: %d %.300s", name, scope, r.Status, r.Body)
			}
		}
		outside := 0
		for _, need := range tooltest.AllScopes() {
			if scope < need {
				outside++
			}
		}
		r := call(s, "/mcp", token, "["+strings.Join(batch, ",")+"]")
		var answers []struct {
			Result struct {
				IsError bool
				Content []struct{ Text string }
			}
		}
		if err := json.Unmarshal(r.Body, &answers); err != nil || len(answers) != len(batch) {
			t.Fatalf("%v in %.300s", err, r.Body)
		}
		for _, a := range answers {
			if len(a.Result.Content) > 0 && strings.Contains(a.Result.Content[0].Text, `"insufficient_scope"`) && a.Result.IsError {
				outside--
			}
		}
		if outside != 0 {
			t.Errorf("in a batch with %s %d more calls were carried out", scope, outside)
		}
		if scope == principal.Charts {
			if diff := cmp.Diff(tooltest.State{}, account.State()); diff != "" {
				t.Errorf("a charts token touched the account: %s", diff)
			}
		}
	}
}

// A client whose subscription was made with an earlier token gets its events back with a
// token that may read, and never with one for charts alone.
func TestScopes_NoEventsForChartsTokens(t *testing.T) {
	t.Parallel()
	// Inside the bubble the clock begins at another time, so the end of the first token is
	// set there.
	of := func(key string, scope principal.Scope) principal.Caller {
		return principal.Caller{Subject: "owner", Key: key, ClientKey: "the same client", Scope: scope}
	}
	tokens := httpdtest.Tokens{"charts": of("key-of-charts", principal.Charts), "read": of("key-of-read", principal.Read)}
	pushingTo(t, tokens, func(p *pushed) {
		first := of("key-of-first", principal.Trade)
		first.Expires = time.Now().Add(time.Minute)
		tokens["first"] = first
		if got := p.call("first", "subscribe_notifications", `{}`); !strings.Contains(got, `"subscribed"`) {
			p.t.Fatal(got)
		}
		time.Sleep(2 * time.Minute) // the token of the subscription ends
		p.fire("binance:BTCUSDT", 1)
		stream, conn := p.listen("charts", "")
		p.fire("binance:BTCUSDT", 1)
		for range 2 {
			if frame := readFrame(p.t, stream); frame != ": keep-alive\n" {
				p.t.Fatalf("a charts token gets %q", frame)
			}
		}
		_ = conn.Close()
		resumed, conn := p.listen("charts", "1")
		if frame := readFrame(p.t, resumed); frame != ": keep-alive\n" {
			p.t.Fatalf("a charts token that resumes gets %q", frame)
		}
		_ = conn.Close()
		stream, conn = p.listen("read", "")
		p.event(stream, 1)
		p.event(stream, 2)
		_ = conn.Close()
	})
}
