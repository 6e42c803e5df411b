package config

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"candela/internal/kit/secret"
)

func TestLoad_SinkRefusals(t *testing.T) {
	t.Parallel()
	const (
		trade  = "--trade"
		hook   = "--webhook-url=https://a.example/hunter2?key=hunter2"
		secret = "CANDELA_WEBHOOK_SECRET=hunter2-and-more-of-it"
		topic  = "--ntfy-url=https://ntfy.example/hunter2"
	)
	cases := starts{
		"a webhook":                        {args: []string{trade, hook}, env: []string{secret}},
		"a webhook over stdio":             {args: []string{trade, "--mcp", hook}, env: []string{secret}},
		"a webhook in the file":            {file: `webhook_url = "https://a.example/x"`, args: []string{trade}, env: []string{secret}},
		"a webhook without a secret":       {args: []string{trade, hook}, want: "needs a secret to sign with"},
		"a webhook with a short secret":    {args: []string{trade, hook}, env: []string{"CANDELA_WEBHOOK_SECRET=hunter2"}, want: "fewer than 16 characters"},
		"a webhook with two secrets":       {args: []string{trade, hook, "--webhook-secret-file=x"}, env: []string{secret}, want: "remove one"},
		"a secret without a webhook":       {args: []string{trade}, env: []string{secret}, want: "no alert would be sent"},
		"a secret as a flag":               {args: []string{trade, hook, "--webhook-secret=hunter2"}, env: []string{secret}, want: "--webhook-secret is no flag"},
		"a secret in the file":             {file: `webhook_secret = "hunter2"`, args: []string{trade}, want: "cannot stand in the file"},
		"a webhook without an engine":      {args: []string{"--serve", hook}, env: []string{secret}, want: "has no effect without --trade"},
		"a webhook for other days":         {args: []string{"--serve"}, env: []string{secret, "CANDELA_WEBHOOK_URL=https://a.example"}},
		"a webhook for a chart":            {args: []string{hook}, env: []string{secret}, want: "has no effect in this mode"},
		"a webhook over http":              {args: []string{trade, "--webhook-url=http://a.example/hunter2"}, env: []string{secret}, want: "--webhook-url is http and not on this machine"},
		"a webhook over http, near":        {args: []string{trade, "--webhook-url=http://nas.example/x", "--allow-private-sinks"}, env: []string{secret}},
		"a webhook over http, nearer":      {args: []string{trade, "--webhook-url=http://127.0.0.1:8080/x"}, env: []string{secret}},
		"a webhook with a user":            {args: []string{trade, "--webhook-url=https://me:hunter2@a.example/x"}, env: []string{secret}, want: `invalid value "(hidden)"; use an absolute https URL`},
		"a webhook with a slip":            {args: []string{trade, "--webhook-url=htps://a.example/hunter2"}, env: []string{secret}, want: "absolute https URL"},
		"a webhook without a scheme":       {args: []string{trade, "--webhook-url=a.example/hunter2"}, env: []string{secret}, want: "absolute https URL"},
		"a webhook with a fragment":        {args: []string{trade, "--webhook-url=https://a.example/#hunter2"}, env: []string{secret}, want: "absolute https URL"},
		"a webhook as a list":              {file: `webhook_url = ["https://a.example/hunter2"]`, args: []string{trade}, env: []string{secret}, want: "a string"},
		"a topic":                          {args: []string{trade, topic}},
		"a topic with a token":             {args: []string{trade, topic}, env: []string{"CANDELA_NTFY_TOKEN=hunter2"}},
		"a topic with two tokens":          {args: []string{trade, topic, "--ntfy-token-file=x"}, env: []string{"CANDELA_NTFY_TOKEN=hunter2"}, want: "remove one"},
		"a token without a topic":          {args: []string{trade}, env: []string{"CANDELA_NTFY_TOKEN=hunter2"}, want: "no alert would be sent"},
		"a topic over http":                {file: `ntfy_url = "http://ntfy.example/hunter2"`, args: []string{trade}, want: "candela.toml: ntfy_url is http"},
		"a topic without an engine":        {args: []string{"--mcp", topic}, want: "has no effect without --trade"},
		"a topic without an engine, named": {file: `ntfy_url = "https://ntfy.example/x"`, args: []string{"--mcp"}},
		"a size without a topic":           {args: []string{trade, "--ntfy-size=2"}, want: "--ntfy-size has no effect without --ntfy-url"},
		"a size for other days":            {args: []string{trade}, env: []string{"CANDELA_NTFY_SIZE=2"}},
		"a size that is refused":           {args: []string{trade, topic, "--ntfy-size=3"}, want: "three is too many"},
		"a channel":                        {args: []string{trade, "--mcp", "--claude-channel"}},
		"a channel without a handshake":    {args: []string{trade, "--mcp", "--claude-channel", "--mcp-revision=2026-07-28"}, want: "needs the handshake of 2025-03-26"},
		"a revision that is not served":    {args: []string{"--mcp", "--mcp-revision=2025-11-25"}, want: "2025-03-26, 2026-07-28"},
	}
	cases.check(t)
}

func TestLoad_SinkSecretFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, tc := range map[string]struct {
		text string
		mode os.FileMode
		want string // in the only problem; "" when the secret is read
	}{
		"one line":           {"hunter2-and-more-of-it\n", 0o600, ""},
		"read only":          {"hunter2-and-more-of-it", 0o400, ""},
		"too short":          {"hunter2\n", 0o600, "fewer than 16"},
		"two lines":          {"hunter2-and-more-of-it\nhunter2\n", 0o600, "more than one line"},
		"nothing":            {"", 0o600, "is empty"},
		"others may read it": {"hunter2-and-more-of-it\n", 0o640, "chmod 600"},
	} {
		path := filepath.Join(dir, strings.ReplaceAll(name, " ", "_"))
		if err := os.WriteFile(path, []byte(tc.text), tc.mode); err != nil {
			t.Fatal(err)
		}
		args := []string{"--home", dir, "--trade", "--webhook-url=https://a.example", "--webhook-secret-file", path}
		cfg, err := Load(Input{Parts: parts(), Args: args})
		if tc.want == "" {
			if err != nil || cfg.Values.Secret("webhook-secret").Reveal() != strings.TrimSpace(tc.text) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if runtime.GOOS == "windows" && tc.mode == 0o640 {
			continue
		}
		if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
	token := filepath.Join(dir, "token")
	if err := os.WriteFile(token, []byte("tk_1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := Load(Input{Parts: parts(), Args: []string{"--home", dir, "--trade", "--ntfy-url=https://a.example/t", "--ntfy-token-file", token}})
	if err != nil || cfg.Values.Secret("ntfy-token").Reveal() != "tk_1" {
		t.Errorf("%v", err)
	}
	if _, err := Load(Input{Parts: parts(), Args: []string{"--home", dir, "--trade", "--ntfy-url=https://a.example/t", "--ntfy-token-file", token + "x"}}); err == nil {
		t.Error("a file that is not there is no problem")
	}
}

func TestEndpoint_ShowsTheHostAlone(t *testing.T) {
	t.Parallel()
	var e secret.URL
	if !endpointField(&e).set("https://a.example:8443/hunter2?key=hunter2") {
		t.Fatal("refused")
	}
	asJSON, err := json.Marshal(struct{ URL secret.URL }{e})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		string(asJSON), fmt.Sprintf("%s %v %+v %#v", e, []secret.URL{e}, struct{ URL secret.URL }{e}, e), e.LogValue().String(), endpointField(&e).text(),
	} {
		if strings.Contains(text, "hunter2") || !strings.Contains(text, "https://a.example:8443/...") {
			t.Errorf("printed as %s", text)
		}
	}
	if e.Reveal() != "https://a.example:8443/hunter2?key=hunter2" || (secret.URL{}).String() != "" {
		t.Errorf("%s, %q", e.Reveal(), secret.URL{})
	}
}

func TestLoad_NewestRevision(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"stdio":                     {[]string{"--mcp"}, "2026-07-28"},
		"http":                      {[]string{"--serve"}, "2026-07-28"},
		"the older one":             {[]string{"--mcp", "--mcp-revision=2025-03-26"}, "2025-03-26"},
		"a channel":                 {[]string{"--mcp", "--trade", "--claude-channel"}, "2025-03-26"},
		"a channel that is off":     {[]string{"--mcp", "--trade", "--claude-channel=false"}, "2026-07-28"},
		"a channel and the old one": {[]string{"--mcp", "--trade", "--claude-channel", "--mcp-revision=2025-03-26"}, "2025-03-26"},
	} {
		c, err := Load(Input{Parts: parts(), Args: append([]string{"--home", t.TempDir()}, tc.args...)})
		if err != nil || c.MCPRevision != tc.want {
			t.Errorf("%s: %v, %v; want %s", name, c, err, tc.want)
		}
	}
}
