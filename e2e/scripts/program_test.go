package scripts

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
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

// memoryLimit is what the system gives the program: its private writable memory.
const memoryLimit = 512 << 20

// onLinux skips a test that measures a process where it cannot.
func onLinux(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("a process is measured by /proc")
	}
}

// policy lets the paper account trade freely.
const policy = `
max_order_notional = "none"
max_exposure = "none"
max_symbol_exposure = "none"
max_daily_notional = "none"
price_band_pct = "none"
resting_band_pct = "none"
`

// target is the program under attack.
type target struct {
	t    *testing.T
	base string
	home string
	cmd  *exec.Cmd
	over chan struct{} // closed when it has ended
}

// newVenue returns a venue whose prices a test sets.
func newVenue(t *testing.T) (*binance.Server, string) {
	t.Helper()
	venue := binance.New(binance.Config{Seed: 1, Step: 100 * time.Millisecond, Limit: 1_000_000})
	at := httptest.NewServer(venue)
	t.Cleanup(at.Close)
	return venue, at.URL
}

// start starts the program with a paper account and all tools.
func start(t *testing.T, venue string) *target {
	t.Helper()
	port, home := porttest.Free(t), build.Home(t)
	if err := os.MkdirAll(home, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "policy.toml"), []byte(policy), 0o600); err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	tg := &target{t: t, base: "http://localhost:" + port, home: home, over: make(chan struct{})}
	tg.cmd = exec.Command(programs.Path(t, build.Candela, ""), //nolint:noctx // it ends with the test
		"--serve", "--trade", "--toolsets", "all", "--home", home, "--binance-url", venue, "--port", port, "--oauth-auto-approve",
	)
	tg.cmd.Env = []string{"HOME=" + t.TempDir()}
	tg.cmd.Stderr = log
	if err := tg.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	limitMemory(t, tg.cmd.Process.Pid, memoryLimit)
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

// must calls a tool until it is carried out: the account is compared a moment after the program listens.
func must(t *testing.T, c *remote.Client, tool, arguments string) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; {
		_, err := c.Call(t.Context(), tool, arguments)
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s %s: %v", tool, arguments, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
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

// status returns a figure of the program that the system has, in bytes.
func (tg *target) status(name string) int64 {
	tg.t.Helper()
	select {
	case <-tg.over:
		tg.t.Fatal("the program has ended")
	default:
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", tg.cmd.Process.Pid))
	if err != nil {
		tg.t.Fatal(err)
	}
	_, rest, _ := bytes.Cut(status, []byte(name))
	var kilobytes int64
	if _, err := fmt.Sscan(string(rest), &kilobytes); err != nil {
		tg.t.Fatal(err)
	}
	return kilobytes << 10
}

// processor returns how long the program has kept processors busy.
func (tg *target) processor() time.Duration {
	tg.t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", tg.cmd.Process.Pid))
	if err != nil {
		tg.t.Fatal(err)
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	var ticks int64
	for _, field := range fields[11:13] { // utime and stime, in hundredths of a second
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			tg.t.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}
