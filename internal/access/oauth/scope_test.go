package oauth_test

import (
	"context"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/access/oauth"
	. "candela/internal/access/oauth/oauthtest" //nolint:revive // see scene_test.go
	"candela/internal/kit/principal"
	"candela/lib/fault"
)

func trading(kind oauth.Trading) func(*oauth.Config) {
	return func(c *oauth.Config) { c.Trading = kind }
}

// radios returns the values of the page's radio buttons of a name, and the checked one.
func radios(page Response, name string) (values []string, checked string) {
	var marked []string
	for _, found := range regexp.MustCompile(`type="radio" name="`+name+`" value="([^"]*)"( checked)?`).FindAllSubmatch(page.Body, -1) {
		if values = append(values, string(found[1])); len(found[2]) > 0 {
			marked = append(marked, string(found[1]))
		}
	}
	return values, strings.Join(marked, " and ")
}

func offered(page Response) []string {
	values, _ := radios(page, "scope")
	return values
}

// granted redeems the code of an approval and returns the token's caller and the answer.
func granted(t *testing.T, s *Scene, c Client, approved Response) (principal.Caller, Response) {
	t.Helper()
	r := s.Redeem(TokenForm(c, approved.Location(t).Query().Get("code")))
	caller, err := s.Server.Authorize(t.Context(), r.Text(t, "access_token"))
	if err != nil {
		t.Fatal(err)
	}
	return caller, r
}

func TestAuthorize_ScopeLimitsTheChoice(t *testing.T) {
	t.Parallel()
	all := []string{"charts", "read", "trade"}
	s := New(t, trading(oauth.PaperTrading))
	c, b := s.Known(), s.Browser()
	for asked, most := range map[string]int{
		"charts": 1, "read": 2, "trade": 3, "charts read": 2, "trade charts": 3, "openid read  email": 2,
		"": 3, "openid": 3, " ": 3, "none": 3, "Charts": 3, "charts,read": 3, strings.Repeat("charts ", 500): 1,
	} {
		page := b.Open(Query(c, "scope", asked))
		Documented(t, page)
		if got := offered(page); !slices.Equal(got, all[:most]) {
			t.Errorf("%.30q: offered are %v", asked, got)
		}
		if narrow := strings.Contains(string(page.Body), "asks for no more"); narrow != (most < 3) {
			t.Errorf("%.30q: the page says that no more is asked for: %v", asked, narrow)
		}
		for i, scope := range all {
			page := b.Open(Query(c, "scope", asked))
			r := b.Decide(page, "scope", scope)
			if i >= most {
				if r.Status != http.StatusBadRequest || r.Header.Get("Location") != "" {
					t.Errorf("%.30q, granted %s: %d", asked, scope, r.Status)
				}
				continue
			}
			if caller, _ := granted(t, s, c, r); caller.Scope.String() != scope {
				t.Errorf("%.30q, granted %s: the token has %s", asked, scope, caller.Scope)
			}
		}
		// A form without the field grants what was asked for.
		if caller, _ := granted(t, s, c, b.Decide(b.Open(Query(c, "scope", asked)))); caller.Scope.String() != all[most-1] {
			t.Errorf("%.30q: the token has %s", asked, caller.Scope)
		}
	}
}

func TestConsent_ScopeAndDuration(t *testing.T) {
	t.Parallel()
	for _, kind := range []oauth.Trading{oauth.PaperTrading, oauth.LiveTrading} {
		s := New(t, trading(kind))
		c, b := s.Known(), s.Browser()
		for _, scope := range principal.Scopes() {
			for name, life := range map[string]time.Duration{"1h": time.Hour, "1d": 24 * time.Hour, "7d": oauth.TokenTTL} {
				r := b.Decide(b.Open(Query(c)), "scope", scope.String(), "ttl", name)
				Documented(t, r)
				caller, answer := granted(t, s, c, r)
				if left := time.Until(caller.Expires); caller.Scope != scope || left > life || left < life-time.Minute {
					t.Errorf("%s for %s: the token has %s for %v", scope, name, caller.Scope, left)
				}
				body := answer.JSON(t)
				if said, ok := body["scope"]; body["expires_in"] != life.Seconds() || ok != (scope < principal.Trade) || ok && said != scope.String() {
					t.Errorf("%s for %s: %s", scope, name, answer.Body)
				}
				list, err := s.Server.Tokens(t.Context(), oauth.SoleOwner)
				if i := slices.IndexFunc(list, func(t oauth.Token) bool { return t.Key == caller.Key }); err != nil || i < 0 || list[i].Grant.Access() != scope {
					t.Errorf("the list has %+v, %v", list, err)
				}
			}
		}
		if log := s.Log.String(); !strings.Contains(log, "scope=read ttl=1h0m0s") || !strings.Contains(log, "scope=charts expires=") {
			t.Error(log)
		}
	}
}

func TestConsent_Preselected(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		trading     oauth.Trading
		asked, want string
	}{
		{oauth.PaperTrading, "", "trade"},
		{oauth.PaperTrading, "read", "read"},
		{oauth.LiveTrading, "", "read"},
		{oauth.LiveTrading, "trade", "read"},
		{oauth.LiveTrading, "charts", "charts"},
		{oauth.NoTrading, "trade", ""},
	} {
		s := New(t, trading(tc.trading))
		page := s.Browser().Open(Query(s.Known(), "scope", tc.asked))
		Documented(t, page)
		if _, checked := radios(page, "scope"); checked != tc.want {
			t.Errorf("%v, %q asked for: %q is preselected", tc.trading, tc.asked, checked)
		}
		if values, checked := radios(page, "ttl"); checked != "7d" || !slices.Equal(values, []string{"1h", "1d", "7d"}) {
			t.Errorf("of %v %s is preselected", values, checked)
		}
	}
}

func TestConsent_ChoiceSurvivesAWrongPassphrase(t *testing.T) {
	t.Parallel()
	s := New(t, trading(oauth.LiveTrading))
	c, b := s.Known(), s.Browser()
	page := b.Decide(b.Open(Query(c)), "scope", "trade", "ttl", "1d", "passphrase", "wrong")
	Documented(t, page)
	_, scope := radios(page, "scope")
	_, ttl := radios(page, "ttl")
	if scope != "trade" || ttl != "1d" {
		t.Errorf("%s for %s is checked", scope, ttl)
	}
	if caller, _ := granted(t, s, c, b.Decide(page, "scope", "charts", "ttl", "1h")); caller.Scope != principal.Charts {
		t.Errorf("the token has %s, not the last choice", caller.Scope)
	}
}

func TestConsent_WrongChoice(t *testing.T) {
	t.Parallel()
	s := New(t, trading(oauth.PaperTrading))
	c, b := s.Known(), s.Browser()
	page := b.Open(Query(c))
	for field, values := range map[string][]string{
		"scope": {"admin", "none", "TRADE", "trade ", "read trade", "charts,read", "3", "*", "trade\x00", "\u202etrade", "<script>", strings.Repeat("trade", 2000), "{}"},
		"ttl":   {"8d", "0", "0h", "-1h", "1H", "7d ", "168h", "604800", "1h1h", "9999999999999h", "∞", "1h\n", "<b>", strings.Repeat("9", 9000)},
	} {
		for _, value := range values {
			r := b.Decide(page, field, value)
			Documented(t, r)
			if body := string(r.Body); !strings.Contains(body, "invalid_request: "+field+" is ") || len(body) > 20_000 || strings.Contains(body, "<script>") || strings.Contains(body, "<b>") {
				t.Errorf("%s %.20q: %s", field, value, body)
			}
		}
		twice := Form(t, page)
		twice[field] = []string{"trade", "charts"}
		Documented(t, b.Do(http.MethodPost, "/consent", twice.Encode(), nil))
	}
	if r := b.Decide(page, "decision", "deny", "scope", "admin"); r.Location(t).Query().Get("error") != "access_denied" {
		t.Errorf("deny: %v", r.Header)
	}
	if list, err := s.Server.Tokens(t.Context(), oauth.SoleOwner); err != nil || len(list) != 0 {
		t.Errorf("a wrong choice logs in: %v, %v", list, err)
	}
	if caller, _ := granted(t, s, c, b.Decide(page)); caller.Scope != principal.Trade {
		t.Errorf("the same form with no choice: %s", caller.Scope)
	}
}

func TestConsent_ChartsOnlyWithoutTrading(t *testing.T) {
	t.Parallel()
	s := New(t, nil)
	c, b := s.Known(), s.Browser()
	for _, asked := range []string{"", "charts", "trade", "openid"} {
		page := b.Open(Query(c, "scope", asked))
		if got := offered(page); got != nil {
			t.Errorf("offered are %v", got)
		}
		for _, scope := range []string{"read", "trade"} {
			if r := b.Decide(page, "scope", scope); r.Status != http.StatusBadRequest {
				t.Errorf("%s: %d", scope, r.Status)
			}
		}
		r := b.Decide(page, "ttl", "1d")
		Documented(t, r)
		if caller, answer := granted(t, s, c, r); caller.Scope != principal.Charts || answer.Text(t, "scope") != "charts" {
			t.Errorf("%q: %s, %s", asked, caller.Scope, answer.Body)
		}
	}
}

// An owner who is logged in gives no client real money without the passphrase, however
// the client and the form ask for it.
func TestConsent_RealMoneyNeedsThePassphrase(t *testing.T) {
	t.Parallel()
	s := New(t, trading(oauth.LiveTrading))
	c, b := s.Known(), s.Browser()
	if caller, _ := granted(t, s, c, b.Decide(b.Open(Query(c, "scope", "charts")))); caller.Scope != principal.Charts {
		t.Fatalf("the token has %s", caller.Scope)
	}
	for _, asked := range []string{"", "trade", "charts read trade"} {
		for _, chosen := range []string{"", "trade"} {
			page := b.Open(Query(c, "scope", asked))
			Documented(t, b.Decide(page, "scope", chosen, "passphrase", ""))
			if caller, _ := granted(t, s, c, b.Decide(page, "scope", chosen)); caller.Scope != principal.Trade {
				t.Errorf("with the passphrase: %s", caller.Scope)
			}
		}
	}
}

// TestToken_ScopeCannotGrow tries to get more from a code and a form than the owner gave.
func TestToken_ScopeCannotGrow(t *testing.T) {
	t.Parallel()
	s := New(t, trading(oauth.PaperTrading))
	c, other, b := s.Known(), s.Register(postClient), s.Browser()
	approve := func(pairs ...string) string {
		t.Helper()
		return b.Decide(b.Open(Query(c)), pairs...).Location(t).Query().Get("code")
	}
	scope := func(r Response) principal.Scope {
		t.Helper()
		caller, err := s.Server.Authorize(t.Context(), r.Text(t, "access_token"))
		if err != nil {
			t.Fatal(err)
		}
		return caller.Scope
	}

	// A scope in the token request.
	form := TokenForm(c, approve("scope", "charts"), "scope", "trade", "ttl", "7d")
	first := s.Redeem(form)
	if got := scope(first); got != principal.Charts {
		t.Errorf("asked for at the token endpoint: %s", got)
	}
	// The same code again.
	Documented(t, s.Redeem(form))
	if _, err := s.Server.Authorize(t.Context(), first.Text(t, "access_token")); fault.KindOf(err) != fault.Unauthorized {
		t.Errorf("the token of a replayed code: %v", err)
	}
	// The code of one client at another one.
	code := approve("scope", "charts")
	Documented(t, s.Redeem(TokenForm(other, code, "client_secret", other.Secret, "scope", "trade")))
	Documented(t, s.Redeem(TokenForm(c, code, "scope", "trade")))
	// A form that is sent again with more, before its code is used.
	page := b.Open(Query(c))
	code = b.Decide(page, "scope", "charts", "ttl", "1h").Location(t).Query().Get("code")
	if again := b.Decide(page, "scope", "trade", "ttl", "7d").Location(t).Query().Get("code"); again != code {
		t.Error("a second code")
	}
	r := s.Redeem(TokenForm(c, code))
	if got := scope(r); got != principal.Charts || r.JSON(t)["expires_in"] != 3600.0 {
		t.Errorf("a form sent twice: %s", r.Body)
	}
	if r := b.Decide(page, "scope", "trade"); r.Status != http.StatusBadRequest {
		t.Errorf("a used form: %d", r.Status)
	}
	// A form of a request for less, with fields of another.
	narrow := b.Open(Query(c, "scope", "charts"))
	for _, forged := range [][]string{{"scope", "trade"}, {"scope", "read"}, {"scope", "trade", "m", "trade"}, {"scope", "trade", "most", "trade"}} {
		if r := b.Decide(narrow, forged...); r.Status != http.StatusBadRequest {
			t.Errorf("%v: %d", forged, r.Status)
		}
	}
	sealed := Form(t, narrow).Get("request")
	wide := Form(t, b.Open(Query(c))).Get("request")
	data, _, _ := strings.Cut(wide, ".")
	_, tag, _ := strings.Cut(sealed, ".")
	if r := b.Decide(narrow, "request", data+"."+tag); r.Status != http.StatusBadRequest {
		t.Errorf("a request with the seal of another: %d", r.Status)
	}
	// A wider grant leaves the narrow token as it was.
	narrowToken := s.Redeem(TokenForm(c, approve("scope", "charts")))
	if got := scope(s.Redeem(TokenForm(c, approve("scope", "trade")))); got != principal.Trade {
		t.Errorf("with consent: %s", got)
	}
	if got := scope(narrowToken); got != principal.Charts {
		t.Errorf("the earlier token grew to %s", got)
	}
}

func TestToken_ShortLife(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := New(t, trading(oauth.PaperTrading))
		c, b := s.Known(), s.Browser()
		code := b.Decide(b.Open(Query(c)), "ttl", "1h").Location(t).Query().Get("code")
		time.Sleep(4 * time.Minute) // the hour begins with the token
		r := s.Redeem(TokenForm(c, code))
		Documented(t, r)
		token := r.Text(t, "access_token")
		time.Sleep(time.Hour - time.Second)
		if _, err := s.Server.Authorize(t.Context(), token); err != nil {
			t.Errorf("within the hour: %v", err)
		}
		time.Sleep(time.Second)
		if _, err := s.Server.Authorize(t.Context(), token); fault.KindOf(err) != fault.Unauthorized {
			t.Errorf("after the hour: %v", err)
		}
	})
}

// otherVersion is a store that replicas of another version share: their grants differ.
type otherVersion struct {
	oauth.Store
	grant string // JSON, applied to each code
}

func (o otherVersion) PutCode(ctx context.Context, c oauth.Code, now time.Time) error {
	c.Grant.Scope, c.Grant.TTL = "", 0
	if err := json.Unmarshal([]byte(o.grant), &c.Grant); err != nil {
		return err
	}
	return o.Store.PutCode(ctx, c, now)
}

func TestGrant_OfOtherVersions(t *testing.T) {
	t.Parallel()
	for grant, want := range map[string]struct {
		scope principal.Scope
		life  time.Duration
	}{
		`{}`:                                  {principal.Trade, oauth.TokenTTL},
		`{"Scope":"","TTL":0}`:                {principal.Trade, oauth.TokenTTL},
		`{"Scope":"read"}`:                    {principal.Read, oauth.TokenTTL},
		`{"Scope":"charts","TTL":1000000000}`: {principal.Charts, time.Second},
		`{"Scope":"withdraw"}`:                {principal.NoScope, oauth.TokenTTL},
		`{"Scope":"none"}`:                    {principal.NoScope, oauth.TokenTTL},
		`{"Scope":"Trade"}`:                   {principal.NoScope, oauth.TokenTTL},
		`{"TTL":-1}`:                          {principal.Trade, oauth.TokenTTL},
		`{"TTL":604800000000001}`:             {principal.Trade, oauth.TokenTTL},
	} {
		s := NewWith(t, otherVersion{oauth.NewMemory(oauth.MaxTokens), grant}, Owner(t), trading(oauth.PaperTrading))
		c, b := s.Known(), s.Browser()
		caller, r := granted(t, s, c, b.Decide(b.Open(Query(c)), "scope", "read"))
		if caller.Scope != want.scope || r.JSON(t)["expires_in"] != want.life.Seconds() || time.Until(caller.Expires) > want.life {
			t.Errorf("%s: %s until %v, %s", grant, caller.Scope, caller.Expires, r.Body)
		}
	}
	if login := (oauth.Grant{Login: true, Scope: "trade"}); login.Access() != principal.NoScope {
		t.Error("a browser session may call tools")
	}
}

// Automatic approval has no owner who chooses: a client gets what it asks for.
func TestAutoApprove_GrantsWhatIsAskedFor(t *testing.T) {
	t.Parallel()
	s := New(t, func(c *oauth.Config) { c.AutoApprove, c.Trading = true, oauth.PaperTrading })
	c := s.Known()
	for asked, want := range map[string]principal.Scope{"": principal.Trade, "read": principal.Read, "charts": principal.Charts} {
		caller, _ := granted(t, s, c, s.Do(http.MethodGet, "/authorize?"+Query(c, "scope", asked).Encode(), "", "", nil))
		if caller.Scope != want {
			t.Errorf("%q: %s", asked, caller.Scope)
		}
	}
}

// TestScope_PaperNeverBecomesRealMoney starts servers over one store, as replicas that
// restart with another account: a token trades with real money only where the owner
// approved that.
func TestScope_PaperNeverBecomesRealMoney(t *testing.T) {
	t.Parallel()
	store := oauth.NewMemory(oauth.MaxTokens)
	at := func(kind oauth.Trading, account string) *Scene {
		return NewWith(t, store, Owner(t), func(c *oauth.Config) { c.Trading, c.Account = kind, account })
	}
	paper, live, other := at(oauth.PaperTrading, ""), at(oauth.LiveTrading, "binance/live"), at(oauth.LiveTrading, "alpaca/live")
	for approved, want := range map[*Scene][3]principal.Scope{
		paper: {principal.Trade, principal.Read, principal.Read},
		live:  {principal.Trade, principal.Trade, principal.Read},
		other: {principal.Trade, principal.Read, principal.Trade},
	} {
		c, b := approved.Known(), approved.Browser()
		_, answer := granted(t, approved, c, b.Decide(b.Open(Query(c)), "scope", "trade"))
		token := answer.Text(t, "access_token")
		for i, s := range []*Scene{paper, live, other} {
			caller, err := s.Server.Authorize(t.Context(), token)
			if err != nil || caller.Scope != want[i] {
				t.Errorf("server %d: %s %v, want %s", i, caller.Scope, err, want[i])
			}
			list, err := s.Server.Tokens(t.Context(), oauth.SoleOwner)
			for _, listed := range list {
				if listed.Key == caller.Key && listed.Grant.Scope != want[i].String() {
					t.Errorf("server %d lists %s, want %s; %v", i, listed.Grant.Scope, want[i], err)
				}
			}
		}
	}
}
