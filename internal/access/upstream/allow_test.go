package upstream_test

import (
	"regexp"
	"testing"

	"candela/internal/access/upstream"
	"candela/internal/kit/principal"
	"candela/internal/testkit/fake/oidc"
)

func TestAllow(t *testing.T) {
	t.Parallel()
	eve := oidc.Person{Subject: "0003", Email: "eve@example.com"} // not verified
	for text, want := range map[string]struct{ ann, eve bool }{
		"anyone":                {true, true},
		"group:traders":         {true, false},
		"group:trader":          {false, false},
		"domain:example.com":    {true, false},
		"domain:EXAMPLE.com":    {true, false},
		"domain:ample.com":      {false, false},
		"sub:0001":              {true, false},
		"sub:0003":              {false, true},
		"claim:desk=7":          {true, false},
		"claim:staff=true":      {true, false},
		"claim:email=eve@x.com": {false, false},
		"claim:groups=traders":  {true, false},
	} {
		allow, err := upstream.ParseAllow([]string{"sub:nobody", text})
		if err != nil {
			t.Fatal(err)
		}
		s := newScene(t, nil)
		ann := oidc.Ann()
		ann.Claims = map[string]any{"desk": 7, "staff": true}
		for name, tc := range map[string]struct {
			person oidc.Person
			want   bool
		}{"ann": {ann, want.ann}, "eve": {eve, want.eve}} {
			s.idp.SignIn(tc.person)
			who, err := s.signIn(name)
			if err != nil {
				t.Fatal(err)
			}
			rule, ok := allow.Fits(who)
			if ok != tc.want || ok && rule != text {
				t.Errorf("%s, %s: %t by %q", text, name, ok, rule)
			}
		}
	}
}

// TestAllow_DomainNeedsOneAddress refuses what is no address of the domain, and a claim that is
// not exactly true.
func TestAllow_DomainNeedsOneAddress(t *testing.T) {
	t.Parallel()
	allow, err := upstream.ParseAllow([]string{"domain:example.com"})
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		email    any
		verified any
		want     bool
	}{
		"an address":         {"ann@example.com", true, true},
		"two @":              {"x@evil.com@example.com", true, false},
		"two @ in a row":     {"x@@example.com", true, false},
		"a quoted @":         {`"x@evil.com"@example.com`, true, false},
		"nobody":             {"@example.com", true, false},
		"no @":               {"example.com", true, false},
		"verified as a text": {"ann@example.com", "true", false},
		"verified as 1":      {"ann@example.com", 1, false},
		"verified in a list": {"ann@example.com", []any{true}, false},
		"not verified":       {"ann@example.com", false, false},
	} {
		s := newScene(t, nil)
		ann := oidc.Ann()
		ann.Claims = map[string]any{"email": tc.email, "email_verified": tc.verified}
		s.idp.SignIn(ann)
		who, err := s.signIn(name)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if _, ok := allow.Fits(who); ok != tc.want {
			t.Errorf("%s: admitted is %t", name, ok)
		}
	}
}

func TestParseAllow_Refuses(t *testing.T) {
	t.Parallel()
	for _, texts := range [][]string{nil, {""}, {"everyone"}, {"group:"}, {"email:ann@example.com"}, {"claim:x"}, {"claim:=x"}, {"claim:x="}, {"anyone", "sub"}} {
		if _, err := upstream.ParseAllow(texts); err == nil {
			t.Errorf("%q is accepted", texts)
		}
	}
}

func TestOwnerID(t *testing.T) {
	t.Parallel()
	seen := map[principal.Owner]string{}
	for _, pair := range [][2]string{
		{"https://a.example", "owner"},
		{"https://a.example", "owner/alpaca-live"},
		{"https://b.example", "owner"},
		{"https://a.example", "ann@example.com"},
		{"https://a.examplea", "nn@example.com"},
		{"https://a.example", ""},
	} {
		id := upstream.OwnerID(pair[0], pair[1])
		if !regexp.MustCompile(`^[a-z2-7]{26}$`).MatchString(string(id)) {
			t.Errorf("%q is %q", pair, id)
		}
		if before, twice := seen[id]; twice {
			t.Errorf("%q and %q are one owner", before, pair)
		}
		seen[id] = pair[0] + " " + pair[1]
	}
	// It is stored, so it never changes: printf 'https://a.example\0owner' | sha256sum | xxd -r -p | base32
	if id := upstream.OwnerID("https://a.example", "owner"); id != "ko3zlcjycyttuqgihjwjxahxol" {
		t.Errorf("the owner is %s now", id)
	}
}
