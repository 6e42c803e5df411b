package oauth_test

import (
	"net/http"
	"strings"
	"testing"

	. "candela/internal/access/oauth/oauthtest" //nolint:revive // see scene_test.go
)

// TestLog_SaysWhatTheAnswerWas holds that a refusal that goes back to the client is
// logged with the status of the answer.
func TestLog_SaysWhatTheAnswerWas(t *testing.T) {
	t.Parallel()
	s := New(t, nil)
	c, b := s.Known(), s.Browser()
	b.Decide(b.Open(Query(c))) // logged in, so that a refusal goes back
	r := b.Do(http.MethodGet, "/authorize?"+Query(c, "response_type", "token").Encode(), "", nil)
	if r.Status != http.StatusSeeOther {
		t.Fatalf("the answer is %d", r.Status)
	}
	if log := s.Log.String(); !strings.Contains(log, "refused") || !strings.Contains(log, "status=303") || strings.Contains(log, "status=400") {
		t.Errorf("the log says %s", log)
	}
}
