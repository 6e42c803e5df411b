package app

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"candela/internal/config"
	"candela/internal/kit/lifecycle"
	"candela/internal/serve/httpd"
	"candela/internal/serve/httpd/httpdtest"
	"candela/internal/testkit/porttest"
)

func ask(t *testing.T, method, url, token, body string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	transport := &http.Transport{DisableKeepAlives: true}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, unquoted(string(text))
}

func TestServeMCP_AnswersToThoseTheAuthorizerKnows(t *testing.T) {
	t.Parallel()
	port := porttest.Free(t)
	cfg, err := LoadConfig(config.Input{Args: []string{"--serve", "--port", port, "--home", filepath.Join(t.TempDir(), "home"), "--shutdown-timeout", "5m"}})
	if err != nil {
		t.Fatal(err)
	}
	services := Wired()
	services.Serve = ServeMCP(func(Runtime) (httpd.Authorizer, error) { return httpdtest.One(), nil })
	ctx, stop := context.WithCancel(t.Context())
	done, ready := make(chan error, 1), make(chan struct{})
	deps := Deps{Version: "test", Stderr: &signalOn{text: "msg=ready", found: ready}, Services: services}
	go func() { done <- Run(ctx, cfg, deps) }()
	select {
	case <-ready:
	case err := <-done:
		t.Fatal(err)
	}
	url := "http://127.0.0.1:" + port
	if status, text := ask(t, http.MethodGet, url+"/", "", ""); status != http.StatusOK || !strings.Contains(text, `"tools":15,"trading":false`) {
		t.Errorf("GET /: %d %s", status, text)
	}
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"generate_chart","arguments":{"format":"summary","bars":10}}}`
	if status, text := ask(t, http.MethodPost, url+"/mcp", "", call); status != http.StatusUnauthorized {
		t.Errorf("without a token: %d %s", status, text)
	}
	if status, text := ask(t, http.MethodPost, url+"/mcp", "good", call); status != http.StatusOK || !strings.Contains(text, `"symbol":"SAMPLE"`) || !strings.Contains(text, `"source":"sample"`) {
		t.Errorf("with a token: %d %s", status, text)
	}
	stop()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// signalOn closes found when text was written, and passes everything on.
type signalOn struct {
	text  string
	found chan struct{}
	to    io.Writer // nil: what is written is dropped
	done  bool
}

func (s *signalOn) Write(p []byte) (int, error) {
	if !s.done && strings.Contains(string(p), s.text) {
		s.done = true
		close(s.found)
	}
	if s.to != nil {
		return s.to.Write(p)
	}
	return len(p), nil
}

func TestServeMCP_WithoutAnAuthorizerDoesNotStart(t *testing.T) {
	t.Parallel()
	rt := Runtime{Config: &config.Config{}, Log: slog.New(slog.DiscardHandler)}
	if _, err := ServeMCP(func(Runtime) (httpd.Authorizer, error) { return nil, errors.New("none") })(rt); err == nil {
		t.Error("started though there is no authorizer")
	}
}

// The stop over stdio counts from the end of the input.
func TestSpeakMCP_SaysSinceWhenItEnds(t *testing.T) {
	t.Parallel()
	cfg, err := LoadConfig(config.Input{Args: []string{"--mcp", "--home", t.TempDir()}})
	if err != nil {
		t.Fatal(err)
	}
	deps := Deps{Version: "test", Stdin: strings.NewReader(""), Stdout: io.Discard, Services: Wired()}
	parts, err := speakMCP(Runtime{Config: cfg, Log: quiet(), Deps: deps, node: &node{}})
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	err = lifecycle.Run(t.Context(), parts, time.Hour, quiet())
	if since := parts[len(parts)-1].Ending(); err != nil || since.Before(began) || since.After(time.Now()) {
		t.Errorf("%v; the stop began at %v", err, since)
	}
}
