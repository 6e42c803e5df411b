package oauth_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"candela/internal/oauth"
	. "candela/internal/oauth/oauthtest" //nolint:revive // the tests read as sentences of it
	"candela/internal/oauth/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestMemory(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(*testing.T) oauth.Store { return oauth.NewMemory() })
}

// registers demands that each metadata is answered as documented.
func registers(t *testing.T, metadata ...string) Response {
	t.Helper()
	t.Parallel()
	s := New(t, nil)
	var last Response
	for _, m := range metadata {
		last = s.PostRegister(m)
		Documented(t, last)
	}
	return last
}

// uris returns metadata with these redirect URIs.
func uris(list ...string) string {
	quoted := make([]string, 0, len(list))
	for _, uri := range list {
		quoted = append(quoted, `"`+uri+`"`)
	}
	return `{"redirect_uris":[` + strings.Join(quoted, ",") + `]}`
}

// each returns metadata with each of the URIs alone.
func each(list ...string) []string {
	all := make([]string, 0, len(list))
	for _, uri := range list {
		all = append(all, uris(uri))
	}
	return all
}

// program asks for authorization as a program does, and demands the documented
// answer.
func program(t *testing.T, s *Scene, query url.Values) Response {
	t.Helper()
	r := s.Do(http.MethodGet, "/authorize?"+query.Encode(), "", "", nil)
	Documented(t, r)
	return r
}
