package app

import (
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"candela/internal/operate/doctor"
	"candela/internal/testkit/fake/oidc"
)

// signsIn lets many people sign in at a provider instead of one with a passphrase.
func (p *patient) signsIn(secret string) *oidc.Server {
	p.t.Helper()
	idp, file := oidc.New(p.t), filepath.Join(p.t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte(secret+"\n"), 0o600); err != nil {
		p.t.Fatal(err)
	}
	p.environ = nil
	p.args = append(p.args, "--owners", "oidc", "--oidc-issuer", idp.Issuer(), "--oidc-client-id", oidc.ClientID, "--oidc-client-secret-file", file, "--oidc-allow", "group:traders")
	return idp
}

// A sound server for many has no problem, and its sign-in is checked as far as that needs no person.
func TestExamine_ManyOwnersSound(t *testing.T) {
	t.Parallel()
	p := newPatient(t)
	p.signsIn(oidc.Secret)
	p.args = append(p.args, "--base-url", p.proxy(false))
	p.start()
	var sound []string
	for _, f := range p.examine() {
		if f.Status == doctor.OK {
			sound = append(sound, f.Check)
		} else if f.Check != "events" {
			t.Errorf("%+v", f)
		}
	}
	for _, check := range []string{"sign-in", "client secret", "sign-in clock", "base URL", "OAuth"} {
		if !slices.Contains(sound, check) {
			t.Errorf("%s is not among %q", check, sound)
		}
	}
	if slices.Contains(sound, "passphrase") {
		t.Error("a passphrase is looked for")
	}
}

// Each broken sign-in is named, with what to do, and nothing else is said to be wrong.
func TestExamine_ManyOwnersBroken(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		secret           string
		breaks           func(*oidc.Server)
		check, what, fix string
	}{
		"another secret": {"candela-secre", nil, "client secret", `refuses the client: "invalid_client"`, "copy the client's secret"},
		"no answer":      {oidc.Secret, func(s *oidc.Server) { s.Lie(oidc.Lies{Down: true}) }, "sign-in", "answers 500", "set --oidc-issuer"},
		"another issuer": {oidc.Secret, func(s *oidc.Server) {
			s.Lie(oidc.Lies{Discovery: func(d map[string]any) { d["issuer"] = "https://other.example.com" }})
		}, "sign-in", `names the issuer "https://other.example.com"`, "exactly as the provider names itself"},
		"no keys": {oidc.Secret, func(s *oidc.Server) { s.Lie(oidc.Lies{Keys: []byte(`{"keys":`)}) }, "sign-in", "keys", "set --oidc-issuer"},
		"another clock": {oidc.Secret, func(s *oidc.Server) {
			s.Lie(oidc.Lies{Now: func() time.Time { return time.Now().Add(3 * time.Minute) }})
		}, "sign-in clock", "is 3m0s behind by the identity provider", "synchronize"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPatient(t)
			idp := p.signsIn(tt.secret)
			if tt.breaks != nil {
				tt.breaks(idp)
			}
			found := false
			for _, f := range p.examine() {
				switch {
				case f.Status != doctor.Problem:
				case f.Check == tt.check && strings.Contains(f.What, tt.what) && strings.Contains(f.Fix, tt.fix):
					found = true
				default:
					t.Errorf("%+v", f)
				}
				if strings.Contains(f.What+f.Fix, tt.secret+`"`) {
					t.Errorf("the secret is in %+v", f)
				}
			}
			if !found {
				t.Errorf("%s is not named", tt.check)
			}
		})
	}
}

// A proxy that drops cookies lets nobody sign in.
func TestExamine_ManyOwnersBehindAProxyWithoutCookies(t *testing.T) {
	t.Parallel()
	p := newPatient(t)
	p.signsIn(oidc.Secret)
	straight := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: "127.0.0.1:" + p.port})
	straight.Transport = &http.Transport{DisableKeepAlives: true}
	straight.ModifyResponse = func(r *http.Response) error {
		r.Header.Del("Set-Cookie")
		return nil
	}
	p.args = append(p.args, "--base-url", p.web(straight))
	p.start()
	found := false
	for _, f := range p.examine() {
		if f.Check == "OAuth" && strings.Contains(f.What, "its cookie is missing") {
			found = true
		} else if f.Status == doctor.Problem {
			t.Errorf("%+v", f)
		}
	}
	if !found {
		t.Error("the proxy is not found")
	}
}
