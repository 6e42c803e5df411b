package hostile

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"candela/e2e/build"
	"candela/e2e/remote"
	"candela/internal/testkit/fake/binance"
	"candela/internal/testkit/porttest"
)

var programs build.Programs

func TestMain(m *testing.M) { os.Exit(programs.Run(m)) }

// target is the program under attack.
type target struct {
	t    *testing.T
	base string
	home string
	cmd  *exec.Cmd
	over chan struct{} // closed when it has ended
}

// attackable starts the program with a paper account, a venue, and a bound on its
// memory where that is not zero.
func attackable(t *testing.T, memory uint64, environ ...string) *target {
	t.Helper()
	venue := httptest.NewServer(binance.New(binance.Config{Seed: 1, Step: 250 * time.Millisecond, Limit: 1_000_000}))
	t.Cleanup(venue.Close)
	port, home := porttest.Free(t), build.Home(t)
	if err := os.MkdirAll(home, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "policy.toml"), []byte(busyPolicy), 0o600); err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	tg := &target{t: t, base: "http://localhost:" + port, home: home, over: make(chan struct{})}
	tg.cmd = exec.Command(programs.Path(t, build.Candela, ""), //nolint:noctx // it ends with the test
		"--serve", "--trade", "--home", home, "--binance-url", venue.URL, "--port", port, "--oauth-auto-approve",
	)
	tg.cmd.Env = append(environ, "HOME="+t.TempDir())
	tg.cmd.Stderr = log
	if err := tg.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if memory > 0 {
		limitMemory(t, tg.cmd.Process.Pid, memory)
	}
	go func() {
		defer close(tg.over)
		_ = tg.cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = tg.cmd.Process.Kill()
		<-tg.over
		if t.Failed() {
			out, _ := os.ReadFile(log.Name())
			t.Logf("the end of the program's log:\n%s", out[max(0, len(out)-4<<10):])
		}
		_ = log.Close()
	})
	return tg
}

// client returns a client that was let in, as soon as the program listens.
func (tg *target) client(name string) *remote.Client {
	tg.t.Helper()
	c := &remote.Client{Base: tg.base, Name: name, HTTP: remote.Plain(&http.Transport{MaxIdleConnsPerHost: 64})}
	tg.t.Cleanup(c.HTTP.CloseIdleConnections)
	limit, cancel := context.WithTimeout(tg.t.Context(), 2*time.Minute)
	defer cancel()
	if err := c.EnterOnceUp(limit, tg.over); err != nil {
		tg.t.Fatal(err)
	}
	return c
}

// post sends a body, reads the answer, whatever it is, and returns its status.
func post(ctx context.Context, c *remote.Client, body string) (status int, err error) {
	status, _, err = exchange(ctx, c, body)
	return status, err
}

// exchange sends a body and returns the answer, whatever it is.
func exchange(ctx context.Context, c *remote.Client, body string) (status int, answer []byte, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.Base+"/mcp", strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+c.Token())
	response, err := c.HTTP.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = response.Body.Close() }()
	answer, err = io.ReadAll(response.Body)
	return response.StatusCode, answer, err
}

// change is a line of the audit log.
type change struct {
	At    time.Time `json:"at"`
	Kind  string    `json:"kind"`
	Token string    `json:"token"`
}

// changes lists what the program has written down so far.
func (tg *target) changes() []change {
	tg.t.Helper()
	out, err := exec.CommandContext(tg.t.Context(), programs.Path(tg.t, build.Candela, ""), "audit", "list", "--json", "--last", "100000", "--home", tg.home).Output()
	if err != nil {
		tg.t.Fatal(err)
	}
	var all []change
	for lines := json.NewDecoder(bytes.NewReader(out)); ; {
		var c change
		if err := lines.Decode(&c); err == io.EOF {
			return all
		} else if err != nil {
			tg.t.Fatal(err)
		}
		all = append(all, c)
	}
}
