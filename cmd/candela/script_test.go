package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image/png"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"candela/internal/app"
	"candela/internal/kit/lifecycle"
	"candela/internal/store/replica/natstest"
	"candela/internal/testkit/fake/alpaca"
	"candela/internal/testkit/fake/binance"
	"candela/internal/testkit/fake/coinbase"
	"candela/internal/testkit/fake/kraken"
	"candela/internal/testkit/fake/oidc"
	"candela/internal/testkit/fake/yahoo"
	"candela/internal/testkit/porttest"
)

// TestMain makes the test binary answer as the programs the scripts call:
// candela, and candela with services that only wait, for the scripts about
// starting and stopping.
func TestMain(m *testing.M) {
	stub := func(stop func(hard context.Context)) func() {
		log := &readyLog{said: make(chan struct{})}
		service := waiting(log.said, stop)
		return func() { os.Exit(process(app.Services{MCP: service, Serve: service}, log)) }
	}
	testscript.Main(m, map[string]func(){
		"candela":       main,
		"candela-waits": stub(func(context.Context) {}),
		"candela-slow":  stub(func(hard context.Context) { <-hard.Done() }),
		"candela-stuck": stub(func(context.Context) { select {} }),
		"store-writes":  storeWrites,
		"start-costs":   startCosts,
	})
}

// readyLog is stderr, and closes said when the log says that the program is ready.
type readyLog struct {
	said chan struct{}
	once sync.Once
}

func (l *readyLog) Write(p []byte) (int, error) {
	n, err := os.Stderr.Write(p)
	if bytes.Contains(p, []byte("msg=ready")) || bytes.Contains(p, []byte(`"msg":"ready"`)) {
		l.once.Do(func() { close(l.said) })
	}
	return n, err
}

// waiting returns a service that creates the files ready and stopping in its state directory when
// the program is ready and when it is stopping, and then calls stop.
func waiting(said <-chan struct{}, stop func(hard context.Context)) app.Service {
	return func(rt app.Runtime) ([]lifecycle.Part, error) {
		mark := func(name string) error {
			return os.WriteFile(filepath.Join(rt.Config.Home, name), nil, 0o600)
		}
		return []lifecycle.Part{{Name: "waiting", Run: func(ctx, hard context.Context, ready func()) error {
			ready()
			select {
			case <-said:
			case <-ctx.Done():
			}
			if err := mark("ready"); err != nil {
				return err
			}
			<-ctx.Done()
			if err := mark("stopping"); err != nil {
				return err
			}
			stop(hard)
			return nil
		}}}, nil
	}
}

func TestScripts(t *testing.T) {
	t.Parallel()
	// The servers close when the scripts are over, which run beside each other.
	venue := func(h http.Handler) string {
		server := httptest.NewServer(h)
		t.Cleanup(server.Close)
		return server.URL
	}
	venues := []string{
		"BINANCE=" + venue(binance.New(binance.Config{})), "COINBASE=" + venue(coinbase.New(coinbase.Config{})),
		"KRAKEN=" + venue(kraken.New(kraken.Config{})), "YAHOO=" + venue(yahoo.New(yahoo.Config{Now: time.Now})),
		"ALPACA=" + venue(alpaca.New(alpaca.Config{Now: time.Now})), "NOWHERE=http://127.0.0.1:1",
		"RECEIVER=" + venue(http.HandlerFunc(receive)),
	}
	nats, err := natstest.Start(t.TempDir(), 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nats.Stop)
	venues = append(venues, "NATS="+nats.URL(), "IDP="+oidc.New(t).Issuer(), "IDPSECRET="+oidc.Secret)
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			// Scripts have their own home and no settings of the environment.
			env.Vars = append(append(env.Vars, venues...), "HOME="+filepath.Join(env.WorkDir, "user"), "USERPROFILE="+filepath.Join(env.WorkDir, "user"),
				"GORACE=atexit_sleep_ms=0", // the race detector would add a second to every call
				// Calls that run when stdin ends have this long, and a busy machine draws a
				// chart in more than the usual 10 s.
				"CANDELA_SHUTDOWN_TIMEOUT=5m")
			port, release, err := porttest.Reserve()
			if err != nil {
				return err
			}
			env.Defer(release)
			env.Vars = append(env.Vars, "PORT="+strconv.Itoa(port))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"await": await, "capture": capture, "exits": exits, "ispng": isPNG, "letin": letIn, "revoke": revoke, "signal": sendSignal, "signin": signIn, "tamper": tamper, "works": works,
		},
	})
}

// receive accepts alerts, except under /refuse.
func receive(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/refuse") {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// exits CODE PROGRAM ARGUMENTS runs a program and demands that exit code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM [ARGUMENT...]")
	}
	code := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("%v", err)
		}
		code = exit.ExitCode()
	}
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("exit code %d, want %s", code, args[0])
	}
}

// isPNG FILE WIDTH HEIGHT decodes the whole file and demands that size.
func isPNG(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: ispng FILE WIDTH HEIGHT")
	}
	picture, err := png.Decode(strings.NewReader(ts.ReadFile(args[0])))
	ts.Check(err)
	size := picture.Bounds().Size()
	if got, want := fmt.Sprint(size.X, size.Y), args[1]+" "+args[2]; got != want {
		ts.Fatalf("size is %s, want %s", got, want)
	}
}

// sendSignal sends INT or TERM to the program last started in the background;
// the built-in kill knows no TERM.
func sendSignal(ts *testscript.TestScript, neg bool, args []string) {
	known := map[string]os.Signal{"INT": os.Interrupt, "TERM": syscall.SIGTERM, "KILL": os.Kill}
	if neg || len(args) != 1 || known[args[0]] == nil {
		ts.Fatalf("usage: signal INT|TERM|KILL")
	}
	running := ts.BackgroundCmds()
	if len(running) == 0 {
		ts.Fatalf("nothing runs in the background")
	}
	ts.Check(running[len(running)-1].Process.Signal(known[args[0]]))
}

// there reports whether a file exists, or something answers at a socket or URL.
func there(ts *testscript.TestScript, what string) bool {
	if !strings.HasPrefix(what, "http://") {
		path := ts.MkAbs(what)
		info, err := os.Stat(path)
		if err != nil || info.Mode()&fs.ModeSocket == 0 {
			return err == nil
		}
		// A socket has its name a moment before anybody listens there.
		conn, err := new(net.Dialer).DialContext(context.Background(), "unix", path)
		return err == nil && conn.Close() == nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, what, http.NoBody)
	ts.Check(err)
	answer, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
	if err != nil {
		return false
	}
	_ = answer.Body.Close()
	return true
}

// await FILE|URL waits until the file exists, or something answers at the URL.
func await(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: await FILE|URL")
	}
	deadline := time.NewTimer(3 * time.Minute)
	defer deadline.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if there(ts, args[0]) {
			return
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			ts.Fatalf("%s did not appear", args[0])
		}
	}
}

func TestDescribeBuild(t *testing.T) {
	t.Parallel()
	info := &debug.BuildInfo{GoVersion: "go1.26.0", Settings: []debug.BuildSetting{
		{Key: "vcs.revision", Value: "0123456789abcdef"},
		{Key: "vcs.modified", Value: "true"},
		{Key: "vcs.time", Value: "2026-01-02T03:04:05Z"},
	}}
	info.Main.Version = "v0.0.0-2026"
	if got := describeBuild("v1.2.3", info); !strings.HasPrefix(got, "v1.2.3 (commit 0123456789ab, modified, 2026-01-02T03:04:05Z, go1.26.0 ") {
		t.Error(got)
	}
	if got := describeBuild("", info); !strings.HasPrefix(got, "v0.0.0-2026 (") {
		t.Error(got)
	}
	if got := describeBuild("", &debug.BuildInfo{}); !strings.HasPrefix(got, "(devel) (go1.") {
		t.Error(got)
	}
}
