package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"candela/internal/config"
	"candela/internal/kit/lifecycle"
	"candela/internal/store/replica/natstest"
	"candela/lib/fault"
)

// natsServers are those of all tests that want some.
var natsServers natstest.Shared

func TestMain(m *testing.M) {
	if url := os.Getenv(noisyVar); url != "" {
		if err := noisyClient(url, os.Stdin, os.Stdout); err != nil {
			os.Exit(1)
		}
		return
	}
	os.Exit(natsServers.Main(m))
}

// unquoted returns an answer in which the JSON of its texts can be searched as it is.
func unquoted(answer string) string { return strings.ReplaceAll(answer, `\"`, `"`) }

func configure(tb testing.TB, args ...string) *config.Config {
	tb.Helper()
	cfg, err := LoadConfig(config.Input{Args: args})
	if err != nil {
		tb.Fatal(err)
	}
	return cfg
}

// ending is a service of one part that returns err.
func ending(err error) Service {
	return func(Runtime) ([]lifecycle.Part, error) {
		return []lifecycle.Part{{Name: "ending", Run: func(_, _ context.Context, ready func()) error {
			ready()
			return err
		}}}, nil
	}
}

func TestRun_ModeNotInBuild(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"--mcp", "--serve"} {
		home := filepath.Join(t.TempDir(), "state")
		err := Run(t.Context(), configure(t, mode, "--home", home), Deps{Stderr: &bytes.Buffer{}})
		if fault.KindOf(err) != fault.Unsupported || !strings.Contains(err.Error(), mode+" is not available in this build") {
			t.Errorf("%s: error is %v", mode, err)
		}
		if _, err := os.Stat(home); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: a refused start left a state directory", mode)
		}
	}
}

func TestRun_ServiceErrors(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	cases := map[string]Service{
		"a part fails":            ending(broken),
		"the parts are not built": func(Runtime) ([]lifecycle.Part, error) { return nil, broken },
	}
	for name, service := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := configure(t, "--serve", "--home", filepath.Join(t.TempDir(), "state"))
			err := Run(t.Context(), cfg, Deps{Stderr: &bytes.Buffer{}, Services: Services{Serve: service}})
			if !errors.Is(err, broken) {
				t.Errorf("error is %v", err)
			}
		})
	}
}

func TestRun_LogFormats(t *testing.T) {
	t.Parallel()
	var text, lines bytes.Buffer
	home := filepath.Join(t.TempDir(), "state")
	for format, out := range map[string]*bytes.Buffer{"text": &text, "json": &lines} {
		cfg := configure(t, "--mcp", "--home", home, "--log-format", format)
		if err := Run(t.Context(), cfg, Deps{Version: "v1", Stderr: out, Services: Services{MCP: ending(nil)}}); err != nil {
			t.Fatal(err)
		}
	}
	if !strings.Contains(text.String(), "msg=starting version=v1 mode=--mcp trade=false home="+home) {
		t.Errorf("text log: %s", &text)
	}
	for line := range strings.Lines(lines.String()) {
		if !json.Valid([]byte(line)) {
			t.Errorf("not JSON: %s", line)
		}
	}
	var silent bytes.Buffer
	cfg := configure(t, "--mcp", "--home", home, "--log-level", "error")
	if err := Run(t.Context(), cfg, Deps{Stderr: &silent, Services: Services{MCP: ending(nil)}}); err != nil || silent.Len() > 0 {
		t.Errorf("error %v, log %s", err, &silent)
	}
}

func TestRun_StateDirectory(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("no permission bits on Windows")
	}
	base := t.TempDir()
	wide := filepath.Join(base, "wide")
	if err := os.Mkdir(wide, 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(base, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct{ home, want string }{
		"made with its parents":      {filepath.Join(base, "a", "b"), ""},
		"open to others is refused":  {wide, "chmod 700"},
		"inside one open to others":  {filepath.Join(wide, "own"), ""},
		"a file is no directory":     {file, "not a directory"},
		"below a file is no place":   {filepath.Join(file, "x"), "not a directory"},
		"a second start finds it so": {filepath.Join(base, "a", "b"), ""},
	}
	for name, tc := range cases {
		cfg := configure(t, "--mcp", "--home", t.TempDir())
		cfg.Home = tc.home // Load would already refuse to read candela.toml below a file
		err := Run(t.Context(), cfg, Deps{Stderr: &bytes.Buffer{}, Services: Services{MCP: ending(nil)}})
		if tc.want != "" {
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: error is %v, want %q", name, err, tc.want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		info, err := os.Stat(tc.home)
		if err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: mode %v, error %v", name, info.Mode(), err)
		}
	}
	if info, err := os.Stat(wide); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("the permissions of a directory we did not make were changed: %v %v", info.Mode(), err)
	}
}

func TestRun_OneEnginePerStateDirectory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // who finds the lock taken waits two seconds for it
		home := filepath.Join(t.TempDir(), "state")
		nested := func(mode ...string) Service {
			return func(Runtime) ([]lifecycle.Part, error) {
				cfg := configure(t, append(mode, "--home", home)...)
				return nil, Run(t.Context(), cfg, Deps{Stderr: &bytes.Buffer{}, Services: Services{Serve: ending(nil)}})
			}
		}
		run := func(inner Service) error {
			cfg := configure(t, "--serve", "--trade", "--home", home)
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			return Run(ctx, cfg, Deps{Stderr: &bytes.Buffer{}, Services: Services{Serve: inner}})
		}
		if err := run(nested("--serve", "--trade")); fault.KindOf(err) != fault.Conflict || !strings.Contains(err.Error(), "another trading engine") {
			t.Errorf("second engine: %v", err)
		}
		if err := run(ending(nil)); err != nil {
			t.Errorf("the lock outlived its owner: %v", err)
		}
	})
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }
