package app

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"candela/internal/config"
	"candela/internal/testkit/porttest"
)

// Without an address there is no part, and so no goroutine and no socket.
func TestAdmin_OffIsNothing(t *testing.T) {
	t.Parallel()
	rt := Runtime{Config: configure(t, "--serve", "--home", t.TempDir())}
	if parts := rt.admin(nil); len(parts) != 0 {
		t.Errorf("%d parts", len(parts))
	}
}

// TestAdmin_ShowsTheWholeProgram runs the program with an engine and reads what an
// operator would.
func TestAdmin_ShowsTheWholeProgram(t *testing.T) {
	t.Parallel()
	admin := "127.0.0.1:" + porttest.Free(t)
	cfg, err := LoadConfig(config.Input{
		Args: []string{
			"--serve", "--trade", "--port", porttest.Free(t), "--home", filepath.Join(shortDir(t), "home"), "--admin-listen", admin, "--shutdown-timeout", "5m",
			"--webhook-url", "https://a.example/hunter2?key=hunter2",
		},
		Environ: []string{"CANDELA_OWNER_PASSWORD=correct horse hunter2", "CANDELA_WEBHOOK_SECRET=hunter2hunter2hunter2"},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done, ready := make(chan error, 1), make(chan struct{})
	go func() {
		done <- Run(ctx, cfg, Deps{Version: "v9.8.7 (commit 0123456789ab)", Stderr: &signalOn{text: "msg=ready", found: ready, to: io.Discard}, Services: Wired()})
	}()
	select {
	case <-ready:
	case err := <-done:
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	ask := func(path string) (int, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+admin+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close() //nolint:errcheck // read to its end
		data, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(data), "hunter2") {
			t.Errorf("%s shows a secret", path)
		}
		return answer.StatusCode, string(data)
	}
	if code, text := ask("/healthz"); code != http.StatusOK || !strings.Contains(text, `"version":"v9.8.7"`) {
		t.Errorf("%d %s", code, text)
	}
	var answer struct {
		Parts map[string]struct{ Reason string }
	}
	_, text := ask("/readyz")
	if err := json.Unmarshal([]byte(text), &answer); err != nil || len(answer.Parts) != 5 || answer.Parts["store"].Reason != "" || answer.Parts["server"].Reason != "" {
		t.Errorf("%v: %s", err, text)
	}
	_, text = ask("/metrics")
	for _, want := range []string{
		`candela_ready{part="server"} 1`, `candela_alerts_active 0`, `candela_sink_lag_seconds{sink="webhook"} 0`, `candela_store_writes_total `,
		`candela_tool_calls_total{tool="place_order",outcome="ok"} 0`, `candela_trading_cause{cause="owner_halt"} 0`, `go_goroutines `,
	} {
		if !strings.Contains(text, "\n"+want) {
			t.Errorf("%s is missing", want)
		}
	}
	for _, path := range []string{"/debug/pprof/goroutine?debug=2", "/debug/pprof/heap?debug=1"} {
		if code, _ := ask(path); code != http.StatusOK {
			t.Errorf("%s: %d", path, code)
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
