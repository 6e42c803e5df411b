package oauth_test

import (
	"strconv"
	"strings"
	"testing"

	"candela/internal/access/oauth"
	. "candela/internal/access/oauth/oauthtest" //nolint:revive // see scene_test.go
)

// An owner sees the limits in force, and what a client can never do.
func TestConsent_ShowsTheLimits(t *testing.T) {
	t.Parallel()
	for kind, want := range map[oauth.Trading]string{
		oauth.PaperTrading: "orders without real money: 400 loss a day; BTCUSDT<",
		oauth.LiveTrading:  "orders at binance: 400 loss a day; BTCUSDT<",
		oauth.NoTrading:    "trading is disabled",
	} {
		s := New(t, func(c *oauth.Config) {
			c.Trading, c.Account, c.InForce, c.ClientsPage = kind, "owner/binance/live", func() string { return "400 loss a day; BTCUSDT" }, "/console/clients"
		})
		page := s.Browser().Open(Query(s.Known()))
		Documented(t, page)
		for _, want := range []string{want, "Never: read your keys", `<a href="/console/clients">Clients</a>`} {
			if !strings.Contains(string(page.Body), want) {
				t.Errorf("no %q in %s", want, page.Body)
			}
		}
	}
}

// TestConsent_Says reads the page for each kind of client and of trading.
func TestConsent_Says(t *testing.T) {
	t.Parallel()
	for i, tc := range []struct {
		trading  oauth.Trading
		redirect string
		want     []string
		not      string
	}{
		{oauth.NoTrading, "http://localhost:3118/callback", []string{`<span>http://</span><strong>localhost:3118</strong>`, "on the device you are using", "trading is disabled"}, "orders"},
		{oauth.PaperTrading, "https://claude.ai/api/mcp/auth_callback", []string{`<span>https://</span><strong>claude.ai</strong>`, "A website", ">PAPER<", "on paper"}, "trading is disabled"},
		{oauth.LiveTrading, "cursor://anysphere.cursor-mcp/oauth/callback", []string{`<p class="host"><strong>cursor:</strong></p>`, "An app on your device", ">LIVE<", "real money"}, "on paper"},
	} {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			t.Parallel()
			s := New(t, func(c *oauth.Config) { c.Trading = tc.trading })
			page := string(s.Browser().Open(Query(s.Register(uris(tc.redirect)), "redirect_uri", tc.redirect)).Body)
			for _, want := range tc.want {
				if !strings.Contains(page, want) {
					t.Errorf("no %q in %s", want, page)
				}
			}
			if strings.Contains(page, tc.not) {
				t.Errorf("%q is in %s", tc.not, page)
			}
		})
	}
}
