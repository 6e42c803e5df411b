package oauth_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"log/slog"
	"net/http"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/access/oauth"
	. "candela/internal/access/oauth/oauthtest" //nolint:revive // see scene_test.go
	"candela/internal/kit/principal"
	"candela/internal/testkit/longtest"
)

// formerOwner is the owner of a passphrase that was replaced.
type formerOwner struct{}

func (formerOwner) Current() error { return oauth.ErrReplaced }

func (formerOwner) Authenticate(context.Context, string) (principal.Owner, error) {
	return "", oauth.ErrReplaced
}

// TestConsent_ReplacedPassphrase asks a replica whose passphrase is not the one that
// counts any more.
func TestConsent_ReplacedPassphrase(t *testing.T) {
	t.Parallel()
	s := NewWith(t, oauth.NewMemory(oauth.MaxTokens), formerOwner{}, nil)
	b := s.Browser()
	r := b.Decide(b.Open(Query(s.Known())))
	Documented(t, r)
	if !strings.Contains(string(r.Body), "passphrase was changed") || r.Header.Get("Retry-After") != "5" {
		t.Errorf("%v %s", r.Header, r.Body)
	}
	for _, cookie := range (&http.Response{Header: r.Header}).Cookies() {
		if strings.Contains(cookie.Name, "login") {
			t.Error("the passphrase logs in")
		}
	}
}

func TestConsent_WrongPass401(t *testing.T) {
	t.Parallel()
	s := New(t, nil)
	b := s.Browser()
	page := b.Open(Query(s.Known()))
	for _, wrong := range []string{"wrong", "", " " + Passphrase, strings.ToUpper(Passphrase)} {
		r := b.Decide(page, "passphrase", wrong)
		Documented(t, r)
		if !strings.Contains(string(r.Body), "Wrong passphrase") || !strings.Contains(string(r.Body), `role="alert"`) {
			t.Error("the page does not say so")
		}
		for _, cookie := range (&http.Response{Header: r.Header}).Cookies() {
			if strings.Contains(cookie.Name, "login") {
				t.Error("a wrong passphrase logs in")
			}
		}
		page = r // the form goes on working
	}
	if r := b.Decide(page); r.Status != http.StatusSeeOther {
		t.Errorf("the right one afterwards: %d", r.Status)
	}
}

// The page says how many tries are left, and counts none for the right passphrase.
func TestConsent_WrongPassCountsTries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := New(t, nil)
		b := s.Browser()
		page := b.Open(Query(s.Known()))
		for _, want := range []string{"4 tries left.", "3 tries left.", "2 tries left.", "1 try left.", "No tries left for now."} {
			r := b.Decide(page, "passphrase", "wrong")
			Documented(t, r)
			if !strings.Contains(string(r.Body), "Wrong passphrase. "+want) {
				t.Errorf("no %q in %s", want, r.Body)
			}
		}
	})
}

func TestConsent_Throttle429(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := New(t, nil)
		b := s.Browser()
		page := b.Open(Query(s.Known()))
		for range 5 {
			if r := b.Decide(page, "passphrase", "wrong"); r.Status != http.StatusUnauthorized {
				t.Fatalf("%d within the limit", r.Status)
			}
		}
		r := b.Decide(page) // even the right one must wait
		Documented(t, r)
		if got := r.Header.Get("Retry-After"); got != "180" || !strings.Contains(string(r.Body), "3 minutes") {
			t.Errorf("Retry-After is %q", got)
		}
		time.Sleep(3 * time.Minute)
		if r := b.Decide(page); r.Status != http.StatusSeeOther {
			t.Errorf("after the wait: %d", r.Status)
		}
	})
}

// counting is an owner that knows how many hashes were computed and how many at
// the same time.
type counting struct {
	oauth.OwnerAuth
	calls atomic.Int32
}

func (c *counting) Authenticate(ctx context.Context, passphrase string) (principal.Owner, error) {
	c.calls.Add(1)
	return c.OwnerAuth.Authenticate(ctx, passphrase)
}

// byHeader takes the address from a header of the test.
func byHeader(r *http.Request) netip.Addr {
	address, err := netip.ParseAddr(r.Header.Get("X-Test-Address"))
	if err != nil {
		return netip.MustParseAddr("192.0.2.1")
	}
	return address
}

func TestConsent_ThrottleKeepsSession(t *testing.T) {
	t.Parallel()
	owner := &counting{OwnerAuth: Owner(t)}
	s := NewWith(t, oauth.NewMemory(oauth.MaxTokens), owner, func(c *oauth.Config) { c.Address = byHeader; c.Log = slog.New(slog.DiscardHandler) })
	c, mine := s.Known(), s.Browser()
	if r := mine.Decide(mine.Open(Query(c))); r.Status != http.StatusSeeOther {
		t.Fatalf("log in: %d", r.Status)
	}
	hashed, began := owner.calls.Load(), time.Now()
	each := longtest.Pick(100, 1000)
	attacker := s.Browser()
	form := Form(t, attacker.Open(Query(c)), "passphrase", "guess").Encode()
	var refused atomic.Int32
	var all sync.WaitGroup
	cookie := attacker.Cookie()
	for worker := range 10 {
		all.Go(func() {
			for i := range each {
				from := netip.AddrFrom4([4]byte{10, byte(worker), byte(i >> 8), byte(i)}) // each from another address
				r := s.Do(http.MethodPost, "/consent", "application/x-www-form-urlencoded", form,
					http.Header{"Cookie": {cookie}, "Origin": {Base}, "Accept": {"text/html"}, "X-Test-Address": {from.String()}})
				if r.Status == http.StatusTooManyRequests {
					refused.Add(1)
				}
			}
		})
	}
	all.Wait()
	hashes := owner.calls.Load() - hashed
	t.Logf("%d wrong passphrases: %d throttled, %d hashed", 10*each, refused.Load(), hashes)
	// Thirty at once, and one for every two seconds that the attack took.
	if allowed := 31 + int32(time.Since(began)/(2*time.Second)); hashes > allowed || refused.Load()+hashes != int32(10*each) {
		t.Errorf("%d hashes, at most %d allowed, %d throttled", hashes, allowed, refused.Load())
	}
	r := mine.Decide(mine.Open(Query(c)), "passphrase", "")
	Documented(t, r)
}

// TestPassphrase_OneHashAtATime holds the turn and sees that others wait for it.
func TestPassphrase_OneHashAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		owner := Owner(t)
		release := oauth.HoldTurn(owner)
		done := make(chan error, 2)
		for range 2 {
			go func() {
				_, err := owner.Authenticate(t.Context(), Passphrase)
				done <- err
			}()
		}
		synctest.Wait()
		if len(done) != 0 {
			t.Error("a second hash was computed at the same time")
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := owner.Authenticate(gone, Passphrase); err == nil {
			t.Error("a browser that left still gets its turn")
		}
		release()
		for range 2 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	})
}

func TestConsent_CrossOriginRefused(t *testing.T) {
	t.Parallel()
	s := New(t, nil)
	b := s.Browser()
	form := Form(t, b.Open(Query(s.Known()))).Encode()
	for _, header := range []http.Header{
		{"Sec-Fetch-Site": {"cross-site"}, "Origin": {"https://b.example"}},
		{"Sec-Fetch-Site": {"same-site"}, "Origin": {"https://b.example"}},
		{"Sec-Fetch-Site": {""}, "Origin": {"https://b.example"}},
		{"Sec-Fetch-Site": {""}, "Origin": {"null"}},
		{"Sec-Fetch-Site": {"cross-site"}, "Origin": {"null"}},
	} {
		Documented(t, b.Do(http.MethodPost, "/consent", form, header))
	}
}

func TestConsent_ForeignCookie(t *testing.T) {
	t.Parallel()
	s := New(t, nil)
	c, b, other := s.Known(), s.Browser(), s.Browser()
	page := b.Open(Query(c))
	other.Open(Query(c))
	Documented(t, other.Decide(page))
	Documented(t, s.Browser().Decide(page)) // no cookie at all
	if again := b.Open(Query(c)); b.Decide(page).Status != http.StatusSeeOther || b.Decide(again).Status != http.StatusSeeOther {
		t.Error("two tabs of one browser do not work side by side")
	}
}

func TestConsent_Expired(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := New(t, nil)
		b := s.Browser()
		page := b.Open(Query(s.Known()))
		time.Sleep(10*time.Minute + time.Second)
		Documented(t, b.Decide(page))
	})
}

func TestConsent_ForgedForm(t *testing.T) {
	t.Parallel()
	s := New(t, nil)
	c := s.Known()
	b := s.Browser()
	page := b.Open(Query(c))
	sealed := Form(t, page).Get("request")
	for _, forged := range []string{"x" + sealed, sealed + "x", sealed[:len(sealed)-1], c.ID, ""} {
		Documented(t, b.Decide(page, "request", forged))
	}
}

func TestConsent_NoDecision(t *testing.T) {
	t.Parallel()
	s := New(t, nil)
	b := s.Browser()
	page := b.Open(Query(s.Known()))
	Documented(t, b.Decide(page, "decision", ""))
	Documented(t, b.Decide(page, "decision", "maybe"))
}

func TestConsent_Deny(t *testing.T) {
	t.Parallel()
	s := New(t, nil)
	b := s.Browser()
	r := b.Decide(b.Open(Query(s.Known())), "decision", "deny", "passphrase", "")
	Documented(t, r)
	if to := r.Location(t).Query(); to.Get("state") != "xyz" || to.Get("code") != "" {
		t.Errorf("sent back with %v", to)
	}
}

// A form that is sent twice gives the code twice, as a double click does, until the
// client has used it; it never gives two codes.
func TestConsent_OneCodeForAForm(t *testing.T) {
	t.Parallel()
	s := New(t, nil)
	c, b := s.Known(), s.Browser()
	page := b.Open(Query(c))
	code := b.Decide(page).Location(t).Query().Get("code")
	if again := b.Decide(page).Location(t).Query().Get("code"); code == "" || again != code {
		t.Fatalf("the second time the code is %q, at first %q", again, code)
	}
	if r := s.Redeem(TokenForm(c, code)); r.Status != http.StatusOK {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	if r := b.Decide(page); r.Status != http.StatusBadRequest || r.Header.Get("Location") != "" {
		t.Errorf("after the code was used: %d to %s", r.Status, r.Header.Get("Location"))
	}
}

// Guesses of others do not keep out an owner who is at the machine.
func TestConsent_PassBeforeTheLimits(t *testing.T) {
	t.Parallel()
	pass := "a one-time pass"
	s := New(t, func(c *oauth.Config) {
		c.Pass = func(text string) bool {
			good := text == pass
			if good {
				pass = "" // once
			}
			return good && text != ""
		}
	})
	c, b := s.Known(), s.Browser()
	page := b.Open(Query(c))
	for range 60 {
		b.Decide(page, "passphrase", "a guess")
	}
	if r := b.Decide(page); r.Status != http.StatusTooManyRequests {
		t.Errorf("guesses are not limited: %d", r.Status)
	}
	for range 2 { // a double click
		if r := b.Decide(page, "passphrase", "a one-time pass"); r.Status != http.StatusSeeOther {
			t.Errorf("the pass: %d %s", r.Status, r.Body)
		}
	}
	if list, err := s.Server.Tokens(t.Context(), oauth.SoleOwner); err != nil || len(list) != 0 {
		t.Errorf("it leaves a login: %v, %v", list, err)
	}
}

// Automatic approval is for programs on this machine that no website has started.
func TestConsent_AutoApproveForNoWebsite(t *testing.T) {
	t.Parallel()
	s := New(t, func(c *oauth.Config) { c.AutoApprove = true })
	c := s.Register(uris("http://localhost/cb", "https://site.example/cb", "cursor://cb"))
	for _, try := range []struct {
		redirect, site string
		status         int
	}{
		{"http://localhost:4711/cb", "", http.StatusSeeOther},
		{"http://localhost:4711/cb", "none", http.StatusSeeOther},
		{"http://localhost:4711/cb", "cross-site", http.StatusForbidden},
		{"https://site.example/cb", "none", http.StatusForbidden},
		{"cursor://cb", "none", http.StatusForbidden},
	} {
		header := http.Header{}
		if try.site != "" {
			header.Set("Sec-Fetch-Site", try.site)
		}
		r := s.Browser().Do(http.MethodGet, "/authorize?"+Query(c, "redirect_uri", try.redirect).Encode(), "", header)
		if r.Status != try.status {
			t.Errorf("%s from %q: %d %s", try.redirect, try.site, r.Status, r.Body)
		}
	}
}

func TestConsent_NameSanitised(t *testing.T) {
	t.Parallel()
	s := New(t, nil)
	for name, want := range map[string]string{
		`Evil\u202egnp.exe`:                     "<q>Evilgnp.exe</q>",
		`a\u0000b\u0007c\u001b[31m`:             "<q>abc[31m</q>",
		`<b>x</b>`:                              "<q>&lt;b&gt;x&lt;/b&gt;</q>",
		`  two\n\nlines `:                       "<q>two lines</q>",
		`\u200b\u2066\u2069`:                    "a program without a name",
		strings.Repeat("ä", 100):                "<q>" + strings.Repeat("ä", 40) + "</q>",
		`\ud800`:                                "<q>\ufffd</q>",
		`</style><script>alert(1)</script>`:     "&lt;script&gt;",
		`{{.Request}}`:                          "<q>{{.Request}}</q>",
		`\u061cAdmin\u2028approved\u2029\u00ad`: "<q>Admin",
	} {
		c := s.Register(`{"client_name":"` + name + `","redirect_uris":["` + Redirect + `"]}`)
		r := s.Browser().Open(Query(c))
		Documented(t, r)
		if !strings.Contains(string(r.Body), want) {
			t.Errorf("%s is not shown as %s", name, want)
		}
	}
}

func TestConsent_NoFormAction(t *testing.T) {
	t.Parallel()
	s := New(t, nil)
	r := s.Browser().Open(Query(s.Known()))
	Documented(t, r)
	policy := r.Header.Get("Content-Security-Policy")
	if strings.Contains(policy, "form-action") || strings.Contains(policy, "unsafe") || strings.Contains(string(r.Body), "<script") {
		t.Errorf("the policy is %s", policy)
	}
	style := regexp.MustCompile(`(?s)<style>(.*)</style>`).FindSubmatch(r.Body)
	sum := sha256.Sum256(style[1])
	if want := "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"; !strings.Contains(policy, want) {
		t.Errorf("the style's hash is %s, the policy %s", want, policy)
	}
}

func TestConsent_NotFramable(t *testing.T) {
	t.Parallel()
	s := New(t, nil)
	r := s.Browser().Open(Query(s.Known()))
	Documented(t, r)
	for name, want := range map[string]string{
		"X-Frame-Options": "DENY", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin", "Cache-Control": "no-store",
		"Cross-Origin-Opener-Policy": "", "Cross-Origin-Resource-Policy": "same-origin",
	} {
		if got := r.Header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if !strings.Contains(r.Header.Get("Content-Security-Policy"), "frame-ancestors 'none'") {
		t.Error("the policy allows framing")
	}
}

func TestConsent_303NotBody(t *testing.T) {
	t.Parallel()
	s := New(t, nil)
	b := s.Browser()
	r := b.Decide(b.Open(Query(s.Known())))
	Documented(t, r)
	if len(r.Body) != 0 || r.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("%q, %v", r.Body, r.Header)
	}
}

func TestConsent_AutoApprove(t *testing.T) {
	t.Parallel()
	s := New(t, func(c *oauth.Config) { c.AutoApprove = true })
	r := s.Do(http.MethodGet, "/authorize?"+Query(s.Known()).Encode(), "", "", nil)
	Documented(t, r)
}

func TestConsent_AutoApproveRefusedOffLoopback(t *testing.T) {
	t.Parallel()
	for _, base := range []string{"https://candela.example", "http://10.0.0.1:9315", "https://localhost.example"} {
		_, err := oauth.New(oauth.NewMemory(oauth.MaxTokens), Owner(t), oauth.Config{BaseURL: base, AutoApprove: true, Log: slog.New(slog.DiscardHandler)})
		if err == nil || !strings.Contains(err.Error(), "loopback") {
			t.Errorf("%s: %v", base, err)
		}
	}
}

// TestLimits_RememberABoundedNumberOfAddresses throttles one address while many
// others pass by, and forgets it only when they fill the memory.
func TestLimits_RememberABoundedNumberOfAddresses(t *testing.T) {
	t.Parallel()
	s := New(t, func(c *oauth.Config) {
		c.Address = byHeader
		c.Limits = oauth.Limits{Register: oauth.Rate{Burst: 1, Every: time.Hour}, Addresses: 8}
	})
	from := func(address string) int {
		return s.Do(http.MethodPost, "/register", "application/json", uris("https://a.example/cb"), http.Header{"X-Test-Address": {address}}).Status
	}
	if from("2001:db8::1") != http.StatusCreated || from("2001:db8::2") != http.StatusTooManyRequests {
		t.Error("two addresses of one /64 are not one")
	}
	for i := range 3 {
		from("10.0.0." + strconv.Itoa(i))
	}
	if from("2001:db8::3") != http.StatusTooManyRequests {
		t.Error("forgotten though there is room")
	}
	for i := range 20 {
		from("10.0.1." + strconv.Itoa(i))
	}
	if from("2001:db8::4") != http.StatusCreated {
		t.Error("remembered beyond the bound")
	}
}
