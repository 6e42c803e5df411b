package doctor

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"candela/internal/access/upstream"
)

// maxSignInSkew is by how much the clocks may differ: half of what a sign-in allows.
const maxSignInSkew = 30 * time.Second

// signIn checks what owners need who sign in at an identity provider. None of it needs a person.
func (x *examination) signIn(ctx context.Context) {
	const check = "sign-in"
	x.wait("asking the identity provider")
	idp, err := x.Provider(x.cfg)
	if err != nil {
		x.Report(newProblem(check, "correct --oidc-issuer and --oidc-client-id", "%s", err))
		return
	}
	if err := idp.CheckKeys(ctx); err != nil {
		x.Report(newProblem(check, "set --oidc-issuer to the issuer exactly as the provider names itself, and let this machine reach it over https; nobody can sign in until then", "%s", err))
		for _, check := range []string{"client secret", "sign-in clock"} {
			x.Report(newWarning(check, "correct the sign-in first", "not checked: the identity provider does not answer as it must"))
		}
		return
	}
	x.Report(NewOK(check, "%s answers with addresses and keys that can be used; allowed to sign in: %s", idp.Issuer(), strings.Join(x.cfg.Owners.Allow, ", ")))
	x.Report(x.clientSecret(ctx, idp))
	x.Report(signInClock(ctx, idp))
}

func (x *examination) clientSecret(ctx context.Context, idp *upstream.Provider) Finding {
	const check = "client secret"
	fix := "copy the client's secret from the provider into " + x.cfg.Owners.SecretFile + ", without other text, and compare --oidc-client-id; secrets expire at some providers"
	err := idp.CheckSecret(ctx)
	switch {
	case err == nil:
		return NewOK(check, "the provider accepts the client %s with its secret", x.cfg.Owners.ClientID)
	case errors.Is(err, upstream.ErrClientRefused):
		return newProblem(check, fix, "%s: the client %s with the secret of %s", err, x.cfg.Owners.ClientID, x.cfg.Owners.SecretFile)
	case errors.Is(err, upstream.ErrUnjudged):
		return newWarning(check, "sign in once; if that fails, "+fix, "%s", err)
	}
	return newProblem(check, "let this machine reach the provider's token endpoint", "%s", err)
}

// signInClock compares the clock with that of the provider, to a second.
func signInClock(ctx context.Context, idp *upstream.Provider) Finding {
	const check = "sign-in clock"
	client := &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment}}
	defer client.CloseIdleConnections()
	read, ok := TimeSource{Name: "the identity provider", URL: idp.Discovery()}.ask(ctx, client)
	switch {
	case !ok:
		return newWarning(check, "compare the clock by hand: timedatectl, chronyc tracking, w32tm /query /status", "the identity provider returned no time, so the clock is not compared")
	case read.skew.Abs() > maxSignInSkew+read.coarse:
		return newProblem(check, "synchronize the clock of this machine, or that of the provider: timedatectl set-ntp true on Linux; sign-ins are refused when they differ by more than a minute",
			"this machine's clock is %s by %s", read.direction(), read.from)
	}
	return NewOK(check, "within %v of the identity provider", (max(read.skew.Abs(), time.Second) + read.coarse).Round(time.Second))
}

// SentToProvider goes through the public address as far as a program can where people sign in: metadata, registration, and
// the page that sends a browser to the provider.
func (s *Server) SentToProvider(ctx context.Context) Finding {
	const check = "OAuth"
	begun, failed := s.begin(ctx)
	if failed == nil {
		failed = s.leaves(ctx, begun)
	}
	if failed != nil {
		return newProblem(check, failed.fix, "through %s, %s", s.BaseURL, failed.Error())
	}
	return NewOK(check, "registration works through %s, and browsers are sent to the identity provider, where %s/signin/callback must be registered as redirect address", s.BaseURL, s.BaseURL)
}

// leaves opens the page of an approval and demands that it leads to the provider, and from there back.
func (s *Server) leaves(ctx context.Context, b begun) *stepError {
	got, err := s.ask(ctx, http.MethodGet, b.authorize, http.Header{"Accept": {"text/html"}}, "")
	if err != nil {
		return &stepError{"sign-in page", err.Error(), pathsFix}
	}
	to, err := url.Parse(got.header.Get("Location"))
	switch {
	case got.status == http.StatusServiceUnavailable:
		return &stepError{"sign-in page", "the server does not reach the identity provider (HTTP 503)", "look at the sign-in check above and at candela_signin_up; the server asks again by itself"}
	case err != nil || got.status != http.StatusSeeOther || to.Query().Get("redirect_uri") != s.BaseURL+"/signin/callback":
		return &stepError{"sign-in page", "it does not send a browser to the identity provider and back to " + s.BaseURL + "/signin/callback", pathsFix}
	case !strings.Contains(strings.Join(got.header.Values("Set-Cookie"), "\n"), "candela_flow_"):
		return &stepError{"sign-in page", "its cookie is missing", "let the proxy pass Set-Cookie headers on unchanged"}
	}
	return nil
}
