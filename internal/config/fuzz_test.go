package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// checkLoaded holds what must be true of any outcome of Load.
func checkLoaded(t *testing.T, c *Config, err error) {
	t.Helper()
	if err != nil {
		e, ok := errors.AsType[*Error](err)
		if !ok || len(e.Problems) == 0 {
			t.Fatalf("refused without a problem: %v", err)
		}
		return
	}
	if m := c.Mode(); m != ModeChart && m != ModeMCP && m != ModeServe {
		t.Fatalf("mode %b is not one mode", m)
	}
	if c.Mode() == ModeServe && !c.HTTP.Listen.IsLoopback() && !strings.HasPrefix(c.HTTP.BaseURL, "https://") {
		t.Fatalf("%v serves %s", c.HTTP.Listen, c.HTTP.BaseURL)
	}
	if c.Mode() == ModeServe && c.OAuth.AutoApprove && !c.HTTP.Listen.IsLoopback() {
		t.Fatalf("auto approve on %v", c.HTTP.Listen)
	}
	if strings.HasSuffix(c.HTTP.BaseURL, "/") {
		t.Fatalf("base URL %q ends with a slash", c.HTTP.BaseURL)
	}
	for _, s := range c.table {
		// The secret is left out: it is written as a digest.
		if field := s.value; s.Name != "owner-password" && field.text() != "" && !field.set(field.text()) {
			t.Fatalf("%s does not read back %q", s.Name, field.text())
		}
	}
}

func FuzzFlags(f *testing.F) {
	f.Add("--serve\x1f--listen\x1f0.0.0.0\x1f--base-url=https://a.example")
	f.Add("--mcp\x1f--trade=1")
	f.Add("--symbol\x1fbinance:BTCUSDT\x1f--bars=-5\x1f--output\x1f-")
	f.Add("--oauth-auto-approve\x1f--serve\x1f--base-url=http://[::1]:1")
	f.Add("-h\x1f--\x1f---\x1f--=\x1fx")
	home := f.TempDir()
	f.Fuzz(func(t *testing.T, line string) {
		args := append(strings.Split(line, "\x1f"), "--home="+home)
		c, err := Load(Input{Parts: parts(), Args: args, Environ: []string{"HOME=" + home}})
		checkLoaded(t, c, err)
	})
}

func FuzzEnviron(f *testing.F) {
	f.Add("CANDELA_SERVE=1\x1fCANDELA_LISTEN=::\x1fCANDELA_BASE_URL=https://a.example")
	f.Add("CANDELA_SERVICE_HOST=10.0.0.1\x1fCANDELA_PORT=tcp://10.0.0.1:9315")
	f.Add("=C:=x\x1fCANDELA_\x1fCANDELA_TRADE=true")
	home := f.TempDir()
	f.Fuzz(func(t *testing.T, lines string) {
		environ := append(strings.Split(lines, "\x1f"), "CANDELA_HOME="+home, "CANDELA_OWNER_PASSWORD_FILE=")
		c, err := Load(Input{Parts: parts(), Environ: environ})
		checkLoaded(t, c, err)
	})
}

func FuzzFile(f *testing.F) {
	f.Add("serve = true\nlisten = \"0.0.0.0\"\nbase_url = \"https://a.example\"\n")
	f.Add("indicators = [\"rsi\", \"macd\"]\nbars = 0x10\nlog_scale = 1\n")
	f.Add("a.b = 1\n[c]\nd = 2\n[[e]]\n")
	f.Add("bars = 1979-05-27T07:32:00Z\nwidth = 1e3\nheight = inf")
	home := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		if err := os.WriteFile(filepath.Join(home, FileName), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := Load(Input{Parts: parts(), Args: []string{"--home=" + home}})
		checkLoaded(t, c, err)
	})
}
