package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"testing"

	"candela/internal/kit/secret"
	"candela/internal/kit/setting"
)

// TestSettings_Sound checks what the table's readers take for granted.
func TestSettings_Sound(t *testing.T) {
	t.Parallel()
	name := regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`)
	seen := make(map[string]bool)
	c := &Config{userHome: "/home/me"}
	for _, s := range c.settings(parts()) {
		field := s.value
		switch {
		case seen[s.Name]:
			t.Errorf("%s stands twice", s.Name)
		case !name.MatchString(s.Name):
			t.Errorf("%s is not lower case with dashes", s.Name)
		case s.Doc == "" || s.Group == "" || s.Modes == 0 || field.Allowed == "":
			t.Errorf("%s is incomplete: %+v", s.Name, s)
		case s.Sources&fromEnv == 0:
			t.Errorf("%s has no environment name", s.Name)
		case field.Secret && s.Sources != fromEnv:
			t.Errorf("%s is a secret and must come from the environment alone", s.Name)
		case s.isBool() != (field.Shape == setting.ShapeBool):
			t.Errorf("%s: only a boolean has no placeholder", s.Name)
		}
		seen[s.Name] = true
		if s.Default == "" || s.derive != nil {
			continue
		}
		if !field.set(s.Default) || field.text() != s.Default {
			t.Errorf("%s: default %q comes back as %q", s.Name, s.Default, field.text())
		}
	}
	for _, r := range rules(parts()) {
		for _, read := range r.reads {
			if !seen[read] {
				t.Errorf("a rule reads %s, which is no setting", read)
			}
		}
	}
}

// TestSettings_TextRoundTrips checks that every value reads what it writes.
func TestSettings_TextRoundTrips(t *testing.T) {
	t.Parallel()
	samples := map[string]string{
		"mcp": "1", "serve": "true", "symbol": "binance:btcusdt", "interval": "60", "indicators": " rsi , macd ",
		"listen": "::ffff:127.0.0.1", "base-url": "https://a.example:8443", "admin-listen": "[::1]:9316",
		"trusted-proxies": "10.1.2.3/8, ::1", "allowed-origins": "https://a.example,http://b.example:80", "redirect-schemes": "myapp, com.example.app",
		"log-level": "error", "shutdown-timeout": "90s", "csv-dir": "~/x", "replay-from": "2025-01-31T09:30:00+01:00", "home": "/h", "output": "-",
	}
	c := &Config{userHome: "/home/me"}
	for _, s := range c.settings(parts()) {
		text, ok := samples[s.Name]
		if !ok {
			continue
		}
		field := s.value
		if !field.set(text) {
			t.Errorf("%s refuses %q", s.Name, text)
			continue
		}
		once := field.text()
		if !field.set(once) || field.text() != once {
			t.Errorf("%s: %q becomes %q", s.Name, once, field.text())
		}
	}
}

func TestWriteHelp_ShowsEverySetting(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := WriteHelp(&out, parts()); err != nil {
		t.Fatal(err)
	}
	for _, s := range Settings(parts()) {
		if !strings.Contains(out.String(), "  "+s.usage()+"\n") || !strings.Contains(out.String(), s.Env()) {
			t.Errorf("--help does not show %s and %s", s.usage(), s.Env())
		}
	}
	for line := range strings.Lines(out.String()) {
		if len(line) > 121 {
			t.Errorf("line is wider than 120: %s", line)
		}
	}
}

func TestSecret_NeverPrinted(t *testing.T) {
	t.Parallel()
	hidden := secret.New("hunter2")
	holder := struct{ Password secret.Text }{hidden}
	asJSON, err := json.Marshal(holder)
	if err != nil {
		t.Fatal(err)
	}
	var logged bytes.Buffer
	for _, handler := range []slog.Handler{slog.NewTextHandler(&logged, nil), slog.NewJSONHandler(&logged, nil)} {
		slog.New(handler).Info("start", "secret", hidden, "holder", holder, "pointer", &hidden)
	}
	texts := []string{
		string(asJSON), logged.String(), hidden.String(),
		fmt.Sprintf("%s %v %+v %#v %q %x", hidden, holder, holder, holder, hidden, hidden),
		fmt.Sprint(&hidden, []secret.Text{hidden}, map[string]secret.Text{"a": hidden}),
	}
	for _, text := range texts {
		if strings.Contains(text, "hunter2") || strings.Contains(text, fmt.Sprintf("%x", "hunter2")) {
			t.Errorf("the secret is printed: %s", text)
		}
		if !strings.Contains(text, "(set)") && !strings.Contains(text, fmt.Sprintf("%x", "(set)")) {
			t.Errorf("%s does not say that it is set", text)
		}
	}
	if got := (secret.Text{}).String(); got != "" {
		t.Errorf("no secret prints %q", got)
	}
}
