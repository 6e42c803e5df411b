package research

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"candela/e2e/build"
	"candela/e2e/remote"
	"candela/internal/testkit/fake/binance"
	"candela/internal/testkit/porttest"
)

// programs are those that tests of this package run.
var programs build.Programs

func TestMain(m *testing.M) { os.Exit(programs.Run(m)) }

// site is the program at a fake venue.
type site struct {
	venue  *binance.Server
	base   string
	before []string // the command that starts the program, if it is not started directly

	mu    sync.Mutex
	reads map[string]int // requests of klines by symbol
	most  int            // symbols that are answered; the others wait
	more  chan struct{}  // closed when they need not wait any longer
	full  chan struct{}  // closed when one waits
}

// count counts a request of klines, which waits if there were too many symbols.
func (s *site) count(r *http.Request) {
	s.mu.Lock()
	s.reads[r.URL.Query().Get("symbol")]++
	wait := s.more != nil && len(s.reads) > s.most
	if wait && s.full != nil {
		close(s.full)
		s.full = nil
	}
	s.mu.Unlock()
	if wait {
		select {
		case <-s.more:
		case <-r.Context().Done():
		}
	}
}

// hold lets only so many symbols be read until more is called. reached is closed when another
// one is asked for.
func (s *site) hold(most int) (reached <-chan struct{}, more func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	full := make(chan struct{})
	s.most, s.more, s.full = most, make(chan struct{}), full
	return full, func() { close(s.more) }
}

// startSite starts the program at a venue with a limit of weight a minute.
func startSite(t *testing.T, limit int) *site {
	t.Helper()
	s := &site{reads: map[string]int{}, venue: binance.New(binance.Config{Seed: 3, Limit: limit, Variety: 16, Step: 250 * time.Millisecond, Knows: func(name string) bool { return name != "NONEUSDT" }})}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/klines") {
			s.count(r)
		}
		s.venue.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	s.start(t, server.URL)
	return s
}

// startProgram starts the program by another command at a venue that runs elsewhere.
func startProgram(t *testing.T, before []string, venue string, flags ...string) *site {
	t.Helper()
	s := &site{before: before}
	s.start(t, venue, flags...)
	return s
}

// start starts the program and ends it with the test.
func (s *site) start(t *testing.T, venue string, flags ...string) {
	t.Helper()
	port := porttest.Free(t)
	s.base = "http://localhost:" + port
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	command := slices.Concat(s.before, []string{
		programs.Path(t, build.Candela, ""), "--serve", "--trade", "--toolsets", "research", "--home", build.Home(t),
		"--binance-url", venue, "--port", port, "--oauth-auto-approve", "--log-level", "warn",
	}, flags)
	cmd := exec.Command(command[0], command[1:]...) //nolint:noctx // it is asked to stop; the flags are the test's own
	cmd.Env, cmd.Stderr = []string{"HOME=" + t.TempDir()}, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		guard := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
		defer guard.Stop()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the program ended with %v", err)
		}
		if text, _ := os.ReadFile(log.Name()); t.Failed() {
			t.Logf("%s", text)
		}
		_ = log.Close()
	})
}

// read returns how many symbols were read, and how many requests it took.
func (s *site) read() (symbols, requests int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.reads {
		requests += n
	}
	return len(s.reads), requests
}

// enter lets a client in.
func (s *site) enter(t *testing.T) *remote.Client {
	t.Helper()
	c := &remote.Client{Base: s.base, Name: "harness", HTTP: remote.Plain(&http.Transport{MaxIdleConnsPerHost: 16})}
	t.Cleanup(c.HTTP.CloseIdleConnections)
	if err := c.EnterOnceUp(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	return c
}

// notice is a progress notification.
type notice struct {
	Progress, Total int
	Message         string
}

// watch calls a tool with a progress token and passes each notification to seen. It returns the
// text of the answer, "" if there is none.
func watch(ctx context.Context, t *testing.T, c *remote.Client, id int, name, arguments string, seen func(notice)) string {
	t.Helper()
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"_meta":{"progressToken":%d},"arguments":%s}}`, id, name, id, arguments)
	response := post(ctx, t, c, body)
	defer func() { _ = response.Body.Close() }()
	answer := ""
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		line := bytes.TrimPrefix(lines.Bytes(), []byte("data: "))
		if len(line) == 0 || line[0] != '{' {
			continue
		}
		var m remote.Message
		if err := json.Unmarshal(line, &m); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if m.Method == "" {
			if len(m.Result.Content) > 0 {
				answer = m.Result.Content[0].Text
			}
			continue
		}
		var n notice
		if err := json.Unmarshal(m.Params, &n); err != nil {
			t.Error(err)
		}
		seen(n)
	}
	return answer
}

// post sends a message.
func post(ctx context.Context, t *testing.T, c *remote.Client, body string) *http.Response {
	t.Helper()
	response, err := send(ctx, c, body)
	if err != nil {
		t.Fatal(err)
	}
	return response
}

// send is post until ctx ends.
func send(ctx context.Context, c *remote.Client, body string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.Base+"/mcp", strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	request.Header.Set("Authorization", "Bearer "+c.Token())
	return c.HTTP.Do(request)
}
