package oauth

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// FuzzRedirect checks what is accepted with rules written from the standard and
// not from the code: an accepted address equals a registered one, or both are
// http on the same loopback host and differ in the port alone.
func FuzzRedirect(f *testing.F) {
	for _, pair := range [][2]string{
		{"http://localhost:3118/cb", "http://localhost:1/cb"},
		{"https://a.example/cb", "https://a.example/cb"},
		{"http://127.0.0.1/", "http://127.0.0.1:80/"},
		{"http://[::1]:1/x?a", "http://[::1]/x?a"},
		{"cursor://x/y", "cursor://x/y"},
		{"http://localhost/", `http://localhost\@b.example/`},
		{"http://localhost:1/a", "http://localhost:1@b.example/a"},
		{"http://127.0.0.1:/", "http://127.0.0.1"},
		{"http://loCAlhost:000000", "http://localhost:65536"},
	} {
		f.Add(pair[0], pair[1])
	}
	loopbackHTTP := regexp.MustCompile(`^http://(?i:(localhost)|(127\.\d{1,3}\.\d{1,3}\.\d{1,3})|(\[[0-9:]+\]))(:\d{0,5})?([/?].*)?$`)
	f.Fuzz(func(t *testing.T, registered, asked string) {
		if checkRedirects([]string{registered}, nil) != nil {
			return
		}
		u, err := url.Parse(registered)
		if err != nil || u.Scheme == "" || u.User != nil || u.Fragment != "" || strings.ContainsAny(registered, "\\\r\n\t \"<>#\x00") {
			t.Fatalf("%q can be registered", registered)
		}
		if slices.Contains([]string{"javascript", "data", "file", "blob", "about", "ftp"}, u.Scheme) || u.Scheme == "http" && !loopbackHTTP.MatchString(registered) && u.Scheme+"://" == registered[:7] {
			t.Fatalf("%q can be registered", registered)
		}
		if !matchRedirect([]string{registered}, asked) || asked == registered {
			return
		}
		a, b := loopbackHTTP.FindStringSubmatch(registered), loopbackHTTP.FindStringSubmatch(asked)
		if a == nil || b == nil || a[1]+a[2]+a[3] != b[1]+b[2]+b[3] || a[5] != b[5] {
			t.Fatalf("%q is taken for %q", asked, registered)
		}
		to, err := url.Parse(asked)
		if err != nil || to.Scheme != "http" || !slices.Contains([]string{"localhost", "127", "::1"}, strings.SplitN(strings.ToLower(to.Hostname()), ".", 2)[0]) {
			t.Fatalf("%q leads to %v", asked, to)
		}
	})
}

// FuzzParams reads any text as a form and as JSON: no panic, no parameter twice.
func FuzzParams(f *testing.F) {
	for _, s := range []string{"a=b&c=d", "a=1&a=2", "resource=a&resource=b", "%zz", "a;b", `{"a":"b"}`, `{"a":"b","a":"c"}`, `{"resource":["a","b"],"x":null}`, `{"a":[]}`, `{"a"`, "[", `{"a":"b"} `} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, body string) {
		for _, parse := range []func(string) (params, *Error){
			parseForm, func(s string) (params, *Error) { return parseObject([]byte(s)) },
		} {
			p, e := parse(body)
			if e != nil {
				if e.Status != http.StatusBadRequest || e.Code != "invalid_request" || len(e.Description) > 200 {
					t.Fatalf("%q is answered with %+v", body, e)
				}
				continue
			}
			if _, ok := p.values["resource"]; ok {
				t.Fatalf("%q has a resource among the plain parameters", body)
			}
		}
		values, err := url.ParseQuery(body)
		if p, e := parseForm(body); err == nil && e == nil {
			for name, all := range values {
				if name != "resource" && (len(all) != 1 || p.get(name) != all[0]) {
					t.Fatalf("%q: %s is %q", body, name, p.get(name))
				}
			}
		}
	})
}

// FuzzSeal opens any text as a sealed client id: nothing opens but what was
// sealed, for the purpose it was sealed for.
func FuzzSeal(f *testing.F) {
	key := sealer{func() SealKey { return SealKey{1} }}
	s := &Server{seal: key, clients: key}
	good := s.clients.seal(clientPurpose, client{Name: "A", Redirects: []string{"https://a.example"}})
	form := s.seal.seal(formPurpose, request{Client: "x"})
	for _, text := range []string{good, form, "", ".", "a.b", good + "A", good[1:], strings.Replace(good, ".", "..", 1), good + "\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if _, ok := s.findClient(text); ok && text != good {
			t.Fatalf("%q opens", text)
		}
		var q request
		if s.seal.open(formPurpose, text, &q) == nil && text != form {
			t.Fatalf("%q opens as a form", text)
		}
	})
}

// FuzzCookie sends any text as cookies: nobody is logged in by chance.
func FuzzCookie(f *testing.F) {
	store := NewMemory(8)
	s := &Server{store: store}
	const good, browser = "a login", "0123456789012345678901"
	now := time.Now()
	if err := store.PutToken(f.Context(), Token{
		Hash: HashOf(good), Generation: store.Seal().Generation(), Issued: now, Expires: now.Add(loginTTL),
		Grant: Grant{Login: true, Subject: SoleOwner, ClientKey: fingerprint(browser)},
	}, now); err != nil {
		f.Fatal(err)
	}
	in := browserCookie + "=" + browser + "; " + loginCookie
	for _, text := range []string{
		in + "=" + good, in + `="` + good + `"`, loginCookie + "=x; " + in + "=" + good, loginCookie + "=" + good,
		"__Host-" + loginCookie + "=" + good, browserCookie + "=0123456789012345678901", ";;=", loginCookie + "=", "a=\x00",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, header string) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.Header["Cookie"] = []string{header}
		if subject := s.loggedIn(r); subject != "" && (!strings.Contains(header, good) || !strings.Contains(header, browser)) {
			t.Fatalf("%q logs %s in", header, subject)
		}
		if value := s.browserValue(r); value != "" && (len(value) != 22 || !strings.Contains(header, value)) {
			t.Fatalf("%q is the browser %q", header, value)
		}
	})
}
