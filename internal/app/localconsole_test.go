package app

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"candela/internal/operate/control"
)

// visitor is a browser at the console.
type visitor struct {
	t      *testing.T
	base   string
	client *http.Client
}

func newVisitor(t *testing.T, address string) visitor {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return visitor{t, strings.TrimSuffix(address, "/console"), &http.Client{Jar: jar}}
}

func (v visitor) do(method, path string, form url.Values) (int, string) {
	v.t.Helper()
	r, err := http.NewRequestWithContext(v.t.Context(), method, v.base+path, strings.NewReader(form.Encode()))
	if err != nil {
		v.t.Fatal(err)
	}
	r.Header.Set("Origin", v.base)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer, err := v.client.Do(r)
	if err != nil {
		v.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}

// post sends a form with its token on a page.
func (v visitor) post(page, path string, form url.Values) (int, string) {
	v.t.Helper()
	_, body := v.do(http.MethodGet, page, nil)
	m := regexp.MustCompile(`(?s)action="` + path + `".*?name="token" value="([^"]+)"`).FindStringSubmatch(body)
	if m == nil {
		v.t.Fatalf("no form in %s", body)
	}
	form.Set("token", m[1])
	return v.do(http.MethodPost, path, form)
}

// TestConsole_BesideStdio opens the console of a program on stdio, halts and resumes.
func TestConsole_BesideStdio(t *testing.T) {
	t.Parallel()
	home := filepath.Join(t.TempDir(), "home")
	c := openConsole(t, "--home", home, "--webhook-url", "http://127.0.0.1:9/hook")
	c.call("list_alerts", "{}") // trading has begun
	open := func() control.Console {
		pages, err := control.OpenConsole(t.Context(), home)
		if err != nil {
			t.Fatal(err)
		}
		return pages
	}
	pages := open()
	v := newVisitor(t, pages.URL)
	if status, body := v.post("/console/login", "/console/login", url.Values{"passphrase": {pages.Passphrase}}); status != http.StatusOK || !strings.Contains(body, "PAPER") {
		t.Fatalf("%d %s", status, body)
	}
	if status, body := v.post("/console/more", "/console/halt", url.Values{"reason": {"lunch"}}); status != http.StatusOK || !strings.Contains(body, "Trading is halted since") || !strings.Contains(body, "lunch") {
		t.Errorf("halt: %d %s", status, body)
	}
	if status, _ := v.post("/console/resume", "/console/resume", url.Values{"passphrase": {pages.Passphrase}}); status != http.StatusUnauthorized {
		t.Errorf("a passphrase that was used resumes: %d", status)
	}
	if status, body := v.post("/console/resume", "/console/resume", url.Values{"passphrase": {open().Passphrase}}); status != http.StatusOK || strings.Contains(body, "Trading is halted since") {
		t.Errorf("resume: %d %s", status, body)
	}
	v.client.CloseIdleConnections()
	if log := c.close(); strings.Contains(log, pages.Passphrase) {
		t.Error("the log has the passphrase")
	}
}
