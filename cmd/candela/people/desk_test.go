package people

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"candela/internal/testkit/porttest"
)

// TestHostDesk_NothingOfAnOwnerOpensIt runs the program with the host's desk. Neither the token nor the cookies of an owner open any of it,
// in any place, and the server for people does not serve it. Who has its passphrase suspends that owner.
func TestHostDesk_NothingOfAnOwnerOpensIt(t *testing.T) {
	t.Parallel()
	const passphrase = "unrelated words of a host"
	file, address := filepath.Join(t.TempDir(), "host"), "127.0.0.1:"+porttest.Free(t)
	if err := os.WriteFile(file, []byte(passphrase+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h := host(t, 20, "--host-desk", address, "--host-password-file", file)
	desk := "http://" + address
	token := h.signIn(h.scene.Known(), 1)
	send := func(method, url, body string, head map[string]string) (int, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range head {
			r.Header.Set(name, value)
		}
		answer, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = answer.Body.Close() }()
		text, _ := io.ReadAll(answer.Body)
		return answer.StatusCode, string(text)
	}
	id := string(h.id(1))
	act := `{"act":"erase","ids":["` + id + `"]}`
	for _, path := range []string{"/host/", "/host/people/" + id, "/host/plans", "/host/health", "/host/api/people", "/host/api/figures", "/host/api/people/" + id + "/export", "/host/api/acts", "/host/do", "/host/ask", "/host/names"} {
		for what, head := range map[string]map[string]string{
			"nothing": {}, "the token": {"Authorization": "Bearer " + token}, "the token as a cookie": {"Cookie": "candela_host=" + token + "; candela_console=" + token},
			"the passphrase": {"Authorization": "Bearer " + passphrase, "Cookie": "candela_host=" + strings.ReplaceAll(passphrase, " ", "_")},
		} {
			for _, method := range []string{http.MethodGet, http.MethodPost} {
				head["Content-Type"], head["Origin"] = "application/json", desk
				status, text := send(method, desk+path, act, head)
				if status < 300 || strings.Contains(text, id) {
					t.Errorf("%s %s with %s: %d %.200s", method, path, what, status, text)
				}
				if status, text := send(method, h.url+path, act, head); status < 400 || strings.Contains(text, id) {
					t.Errorf("%s %s at the server with %s: %d %.200s", method, path, what, status, text)
				}
			}
		}
	}
	for _, path := range []string{"/mcp", "/authorize", "/token", "/metrics", "/console/"} {
		if status, _ := send(http.MethodPost, desk+path, "{}", map[string]string{"Authorization": "Bearer " + token, "Content-Type": "application/json"}); status < 400 {
			t.Errorf("the desk serves %s: %d", path, status)
		}
	}
	if got := fmt.Sprint(h.standings()); strings.Count(got, "active") != 20 {
		t.Fatal(got)
	}
	_, text := send(http.MethodPost, desk+"/host/api/login", `{"passphrase":"`+passphrase+`","who":"m.weber"}`, map[string]string{"Content-Type": "application/json"})
	var in struct{ Token string }
	if err := json.Unmarshal([]byte(text), &in); err != nil || in.Token == "" {
		t.Fatal(text)
	}
	mine := map[string]string{"Authorization": "Bearer " + in.Token, "Content-Type": "application/json"}
	for name, at := range map[string]string{"the host's token at the server": h.url + "/mcp"} {
		if status, _ := send(http.MethodPost, at, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, mine); status != http.StatusUnauthorized {
			t.Errorf("%s: %d", name, status)
		}
	}
	if status, text := send(http.MethodGet, desk+"/host/api/health", "", mine); status != http.StatusOK || !strings.Contains(text, "sign-in") {
		t.Errorf("%d %s", status, text)
	}
	if status, text := send(http.MethodPost, desk+"/host/api/acts", `{"act":"halt","reason":"too fast","ids":["`+id+`"]}`, mine); status != http.StatusOK || strings.Contains(text, "error") {
		t.Errorf("%d %s", status, text)
	}
	if status, text := h.call(token, "place_order", `{"symbol":"BTCUSDT","side":"buy","type":"market","quantity":0.001}`); status != http.StatusOK || !strings.Contains(text, "host_owner_halt") {
		t.Errorf("%d %s", status, text)
	}
	if status, text := send(http.MethodPost, desk+"/host/api/acts", `{"act":"suspend","ids":["`+id+`","`+string(h.id(2))+`"]}`, mine); status != http.StatusOK || strings.Count(text, `"state":"suspended"`) != 2 {
		t.Errorf("%d %s", status, text)
	}
	if status, _ := h.call(token, "list_alerts", "{}"); status != http.StatusUnauthorized {
		t.Errorf("a suspended person calls: %d", status)
	}
	if log := h.scene.Log.String(); strings.Contains(log, passphrase) || strings.Contains(log, in.Token) {
		t.Error("the log has a secret")
	}
}
