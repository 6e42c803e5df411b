package app

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"candela/internal/access/oauth"
	"candela/internal/access/oauth/oauthtest"
	"candela/internal/config"
	"candela/internal/operate/control"
	"candela/internal/testkit/fake/binance"
	"candela/internal/testkit/porttest"
	"candela/lib/fault"
)

// shortDir returns a folder whose path leaves room for a socket in it.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "c") //nolint:usetesting // t.TempDir has the test's name in it, which is too long
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// served runs the program with --serve and a passphrase, and returns its state
// directory, a scene in front of it and what stops it.
func served(t *testing.T, environ ...string) (home string, s *oauthtest.Scene, stop func()) {
	t.Helper()
	port := porttest.Free(t)
	home = filepath.Join(shortDir(t), "home")
	cfg, err := LoadConfig(config.Input{Args: []string{"--serve", "--port", port, "--home", home, "--shutdown-timeout", "5m"}, Environ: environ})
	if err != nil {
		t.Fatal(err)
	}
	s, end := inFront(t, cfg, port, "v9.8.7 (commit 0123456789ab, go1.26.0 linux/amd64)")
	return home, s, func() {
		if err := end(); err != nil {
			t.Error(err)
		}
	}
}

// beat is the time between two heartbeats of a server. It is short because a stream
// whose token has ended is closed with the next one, and the doctor waits for one too.
const beat = time.Second

// inFront runs the program and returns a scene in front of its port, and what ends it
// and returns how it ended.
func inFront(t *testing.T, cfg *config.Config, port, version string) (s *oauthtest.Scene, end func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	log := &oauthtest.Log{}
	done := untilReady(ctx, t, cfg, Deps{Version: version, Stderr: log, Services: Wired(), keepAlive: beat})
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: "127.0.0.1:" + port})
	proxy.Transport = &http.Transport{DisableKeepAlives: true}
	return &oauthtest.Scene{TB: t, Handler: proxy, Log: log}, sync.OnceValue(func() error {
		cancel()
		return <-done
	})
}

// untilReady runs the program, waits until it is ready, and returns the channel of its result. One that
// ends because the shared store did not answer is started again, as a service manager does.
func untilReady(ctx context.Context, t *testing.T, cfg *config.Config, deps Deps) <-chan error {
	t.Helper()
	log := deps.Stderr
	for began := time.Now(); ; {
		done, ready := make(chan error, 1), make(chan struct{})
		deps.Stderr = &signalOn{text: "msg=ready", found: ready, to: log}
		go func() { done <- Run(ctx, cfg, deps) }()
		select {
		case <-ready:
			return done
		case err := <-done:
			if f := fault.Of(err); f == nil || !f.Retryable || time.Since(began) > patience {
				t.Fatal(err)
			}
			t.Logf("started again: %v", err)
		}
	}
}

func TestServe_TheOwnerLetsAClientInAndThrowsItOut(t *testing.T) {
	t.Parallel()
	hash, err := oauth.HashPassphrase(oauthtest.Passphrase, oauthtest.Cost())
	if err != nil {
		t.Fatal(err)
	}
	home, s, stop := served(t, "CANDELA_OWNER_PASSWORD="+hash)
	defer stop()
	token := s.Token()
	list := func() int {
		r := s.Do(http.MethodPost, "/mcp", "application/json", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_indicators"}}`,
			http.Header{"Authorization": {"Bearer " + token}})
		return r.Status
	}
	if got := list(); got != http.StatusOK {
		t.Fatalf("with a token: %d", got)
	}
	clients, err := control.Clients(t.Context(), home, "")
	if err != nil || len(clients) != 2 || clients[1].Name != "browser login" || clients[0].Name != "A Client" || clients[0].Token == "" || strings.Contains(clients[0].Token, token) {
		t.Fatalf("%+v, %v", clients, err)
	}
	if runtime.GOOS != "windows" {
		info, err := os.Stat(filepath.Join(home, "control.sock"))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info, err)
		}
	}
	if err := control.Revoke(t.Context(), home, clients[0].ID); err != nil {
		t.Fatal(err)
	}
	if got := list(); got != http.StatusUnauthorized {
		t.Errorf("after its revocation: %d", got)
	}
	if err := control.Revoke(t.Context(), home, clients[0].ID); fault.KindOf(err) != fault.NotFound {
		t.Errorf("twice: %v", err)
	}
	log := s.Log.String()
	for what, secret := range map[string]string{"token": token, "passphrase": oauthtest.Passphrase, "hash": hash} {
		if strings.Contains(log, secret) {
			t.Errorf("the %s is in the log", what)
		}
	}
}

func TestServe_AutoApproveShowsNoPassphrase(t *testing.T) {
	t.Parallel()
	_, s, stop := served(t, "CANDELA_OAUTH_AUTO_APPROVE=true")
	defer stop()
	c := s.Known()
	r := s.Do(http.MethodGet, "/authorize?"+oauthtest.Query(c).Encode(), "", "", nil)
	if r.Location(t).Query().Get("code") == "" {
		t.Error("no code")
	}
	if bytes.Contains([]byte(s.Log.String()), []byte("passphrase is set")) {
		t.Error("a passphrase that opens nothing is shown")
	}
}

// Anyone may ask for the version. Which toolchain and commit it was built from
// would show them where to look for vulnerabilities.
func TestServe_StrangersLearnTheVersionAlone(t *testing.T) {
	t.Parallel()
	_, s, stop := served(t, "CANDELA_OAUTH_AUTO_APPROVE=true")
	defer stop()
	for what, r := range map[string]oauthtest.Response{
		"discovery":  s.Do(http.MethodGet, "/", "", "", nil),
		"initialize": s.Do(http.MethodPost, "/mcp", "application/json", `{"jsonrpc":"2.0","id":1,"method":"initialize"}`, nil),
	} {
		if body := string(r.Body); !strings.Contains(body, `"version":"v9.8.7"`) || strings.Contains(body, "commit") {
			t.Errorf("%s says %s", what, body)
		}
	}
}

// Alerts over HTTP: a client subscribes, sets an alert that is true already, hears
// of it on its stream, and finds the same in the poll.
func TestServe_AnAlertReachesTheStreamAndThePoll(t *testing.T) {
	t.Parallel()
	venue := httptest.NewServer(binance.New(binance.Config{}))
	t.Cleanup(venue.Close)
	hash, err := oauth.HashPassphrase(oauthtest.Passphrase, oauthtest.Cost())
	if err != nil {
		t.Fatal(err)
	}
	home, s, stop := served(t, "CANDELA_OWNER_PASSWORD="+hash, "CANDELA_TRADE=true", "CANDELA_BINANCE_URL="+venue.URL)
	token := s.Token()
	call := func(tool, arguments string) string {
		t.Helper()
		body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + arguments + `}}`
		r := s.Do(http.MethodPost, "/mcp", "application/json", body, http.Header{"Authorization": {"Bearer " + token}})
		if r.Status != http.StatusOK {
			t.Fatalf("%s: %d %s", tool, r.Status, r.Body)
		}
		return unquoted(string(r.Body))
	}
	call("subscribe_notifications", `{"symbols":["BTCUSDT"],"alert_types":["price_above"]}`)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	request := httptest.NewRequestWithContext(ctx, http.MethodGet, "/mcp", nil)
	request.Host = "localhost"
	request.Header.Set("Authorization", "Bearer "+token)
	frames := &signalOn{text: "notifications/alert_triggered", found: make(chan struct{}), to: io.Discard}
	stream := make(chan struct{})
	go func() {
		defer close(stream)
		s.Handler.ServeHTTP(&frameRecorder{header: http.Header{}, to: frames}, request)
	}()
	set := call("set_alert", `{"symbol":"BTCUSDT","condition":{"price_above":1}}`)
	if !strings.Contains(set, `"alert_id"`) {
		t.Fatal(set)
	}
	select {
	case <-frames.found:
	case <-ctx.Done():
		t.Error("no frame came")
	}
	if got := call("get_notifications", `{"wait_seconds":5}`); !strings.Contains(got, `"type":"price_above","threshold":1}`) {
		t.Errorf("polled %s", got)
	}
	if got := call("list_alerts", `{}`); !strings.Contains(got, `"text":"[]"`) {
		t.Errorf("active %s", got)
	}
	cancel()
	<-stream
	stop()
	if _, err := os.Stat(filepath.Join(home, "candela.db-wal")); err == nil {
		t.Error("the store was not closed")
	}
}

// frameRecorder writes a stream on as it comes.
type frameRecorder struct {
	header http.Header
	to     io.Writer
}

func (f *frameRecorder) Header() http.Header         { return f.header }
func (f *frameRecorder) Write(p []byte) (int, error) { return f.to.Write(p) }
func (f *frameRecorder) WriteHeader(int)             {}
func (f *frameRecorder) Flush()                      {}
