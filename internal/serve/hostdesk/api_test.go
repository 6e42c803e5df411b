package hostdesk_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"candela/internal/access/oauth/oauthtest"
)

func TestAPI_ServesProgramsWithATokenOfTheirOwn(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	b := s.browser()
	asJSON := []string{"Content-Type", "application/json"}
	r := b.send(http.MethodPost, "/host/api/login", `{"passphrase":"`+oauthtest.Passphrase+`","who":"billing"}`, asJSON...)
	var in struct{ Token string }
	if err := json.Unmarshal([]byte(r.body), &in); err != nil || in.Token == "" || b.cookie != "" {
		t.Fatalf("%d %s", r.status, r.body)
	}
	bearer := append([]string{"Authorization", "Bearer " + in.Token}, asJSON...)
	for path, want := range map[string]string{
		"/host/api/figures": `"total":120`, "/host/api/people?state=suspended": `"owner":"owner001"`, "/host/api/people/owner002": `"plan":"pro"`, "/host/api/people/owner002/clients": `"scope":"trade"`,
		"/host/api/plans": `"alerts":2000`, "/host/api/health": `"broken"`, "/host/api/people/owner003/export": `{"table":"owners"`,
	} {
		r := b.send(http.MethodGet, path, "", bearer...)
		if r.status != http.StatusOK || !strings.Contains(r.body, want) || strings.Contains(r.body, "Secret Name") {
			t.Errorf("%s: %d %.300s", path, r.status, r.body)
		}
	}
	if r := b.send(http.MethodGet, "/host/api/people?personal=true", "", bearer...); !strings.Contains(r.body, "Secret Name 3") {
		t.Errorf("%d %.300s", r.status, r.body)
	}
	r = b.send(http.MethodPost, "/host/api/acts", `{"act":"suspend","filter":{"plan":"pro"}}`, bearer...)
	if lines := strings.Count(r.body, "\n"); r.status != http.StatusOK || lines != 12 || strings.Contains(r.body, `"error"`) {
		t.Errorf("%d %s", r.status, r.body)
	}
	if n := len(s.noted); n != 3 || !strings.Contains(s.noted[0], `host_login {"by":"billing"}`) || !strings.Contains(strings.Join(s.noted, " "), `host_names {"by":"billing","people":100}`) {
		t.Errorf("noted %q", s.noted)
	}
	b.send(http.MethodPost, "/host/api/logout", "{}", bearer...)
	if r := b.send(http.MethodGet, "/host/api/people", "", bearer...); r.status != http.StatusUnauthorized {
		t.Errorf("after the logout: %d", r.status)
	}
	if r := b.send(http.MethodPost, "/host/api/login", `{"passphrase":"wrong"}`, asJSON...); r.status != http.StatusForbidden {
		t.Errorf("%d %s", r.status, r.body)
	}
}
