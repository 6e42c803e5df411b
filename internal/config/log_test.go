package config

import (
	"bytes"
	"io"
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestLogger_LinesBeginWithTheirComponent(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := Log{}.Logger(&out)
	log.Info("ready")
	log.Info("[MCP] request", "tool", "a")
	log.With("x", 1).WithGroup("g").Warn("[OAuth] refused", "y", 2)
	log.Info("not [MCP] inside")
	for i, want := range []string{
		`^time=\S+ level=INFO msg=ready$`, `^\[MCP\] time=\S+ level=INFO msg=request tool=a$`,
		`^\[OAuth\] time=\S+ level=WARN msg=refused x=1 g\.y=2$`, `^time=\S+ level=INFO msg="not \[MCP\] inside"$`,
	} {
		if line := strings.Split(out.String(), "\n")[i]; !regexp.MustCompile(want).MatchString(line) {
			t.Errorf("%s\nwant %s", line, want)
		}
	}
}

func TestLogger_JSONHasTheComponentAsAField(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := Log{Format: "json"}.Logger(&out)
	log.LogAttrs(t.Context(), slog.LevelInfo, "[OAuth] approved", slog.String("client", "c"))
	log.Info("ready")
	lines := strings.Split(out.String(), "\n")
	if !strings.Contains(lines[0], `"msg":"approved","client":"c","component":"OAuth"}`) || strings.Contains(lines[1], "component") {
		t.Error(out.String())
	}
}

// TestLogger_LineTakesNoMemory is not parallel: it counts allocations. The race detector takes some
// buffers out of their pool.
func TestLogger_LineTakesNoMemory(t *testing.T) {
	handler, most := Log{}.Logger(io.Discard).Handler(), 0.0
	if raceDetector {
		most = 2
	}
	if n := testing.AllocsPerRun(100, func() { writeLine(t, handler) }); n > most {
		t.Errorf("%.0f allocations", n)
	}
}

// writeLine writes what a request writes.
func writeLine(tb testing.TB, handler slog.Handler) {
	tb.Helper()
	line := slog.NewRecord(time.Now(), slog.LevelInfo, "[MCP] request", 0)
	line.AddAttrs(slog.String("method", "tools/call"), slog.Bool("authorization", true), slog.Duration("took", time.Millisecond))
	if err := handler.Handle(tb.Context(), line); err != nil {
		tb.Error(err)
	}
}
