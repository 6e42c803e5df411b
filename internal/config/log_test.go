package config

import (
	"bytes"
	"log/slog"
	"regexp"
	"strings"
	"testing"
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
