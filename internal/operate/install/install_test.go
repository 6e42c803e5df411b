package install

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"candela/lib/fault"
)

func client(t *testing.T, name string) Client {
	t.Helper()
	c, err := Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

var (
	local  = Server{Command: "/usr/bin/candela", Args: []string{"--mcp", "--trade"}}
	remote = Server{URL: "https://charts.example.com/mcp"}
)

func TestSet(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		client string
		server Server
		before string
		after  string
	}{
		"no file": {
			"claude-code", local, "",
			"{\n  \"mcpServers\": {\n    \"candela\": {\n      \"type\": \"stdio\",\n      \"command\": \"/usr/bin/candela\",\n      \"args\": [\"--mcp\", \"--trade\"]\n    }\n  }\n}\n",
		},
		"an empty object": {
			"claude-desktop", local, "{}",
			"{\n  \"mcpServers\": {\n    \"candela\": {\n      \"command\": \"/usr/bin/candela\",\n      \"args\": [\"--mcp\", \"--trade\"]\n    }\n  }\n}",
		},
		"beside another server, with its indentation": {
			"cursor", remote,
			"{\n\t\"mcpServers\": {\n\t\t\"x\": {\"command\": \"x\"}\n\t},\n\t\"other\": 1.50\n}\n",
			"{\n\t\"mcpServers\": {\n\t\t\"x\": {\"command\": \"x\"},\n\t\t\"candela\": {\n\t\t\t\"url\": \"https://charts.example.com/mcp\"\n\t\t}\n\t},\n\t\"other\": 1.50\n}\n",
		},
		"comments and a trailing comma stay": {
			"vscode", remote,
			"// mine\n{\n  \"servers\": {\n    \"x\": {}, // a remark\n    // the end\n  },\n}\n",
			"// mine\n{\n  \"servers\": {\n    \"x\": {}, // a remark\n    \"candela\": {\n      \"type\": \"http\",\n      \"url\": \"https://charts.example.com/mcp\"\n    },\n    // the end\n  },\n}\n",
		},
		"a remark on the last server stays with it": {
			"vscode", remote,
			"{\n  \"servers\": {\n    \"x\": {} // a remark\n  }\n}\n",
			"{\n  \"servers\": {\n    \"x\": {}, // a remark\n    \"candela\": {\n      \"type\": \"http\",\n      \"url\": \"https://charts.example.com/mcp\"\n    }\n  }\n}\n",
		},
		"an object with nothing but a comment": {
			"vscode", remote,
			"{\n  \"servers\": {\n    // none yet\n  }\n}\n",
			"{\n  \"servers\": {\n    // none yet\n    \"candela\": {\n      \"type\": \"http\",\n      \"url\": \"https://charts.example.com/mcp\"\n    }\n  }\n}\n",
		},
		"one line stays one line": {
			"windsurf", remote,
			`{"mcpServers": {"x": {"command": "x"}}}`,
			`{"mcpServers": {"x": {"command": "x"}, "candela": {"serverUrl": "https://charts.example.com/mcp"}}}`,
		},
		"line ends of Windows": {
			"cursor", remote,
			"\uFEFF{\r\n  \"mcpServers\": {}\r\n}\r\n",
			"\uFEFF{\r\n  \"mcpServers\": {\r\n    \"candela\": {\r\n      \"url\": \"https://charts.example.com/mcp\"\r\n    }\r\n  }\r\n}\r\n",
		},
		"an entry keeps what is the user's": {
			"claude-code", remote,
			"{\n  \"mcpServers\": {\n    \"candela\": {\n      \"type\": \"stdio\",\n      \"command\": \"candela\",\n      \"args\": [],\n      \"env\": {\"A\": \"b\"}\n    }\n  }\n}\n",
			"{\n  \"mcpServers\": {\n    \"candela\": {\n      \"type\": \"http\",\n      \"env\": {\"A\": \"b\"},\n      \"url\": \"https://charts.example.com/mcp\"\n    }\n  }\n}\n",
		},
		"gemini, remote": {
			"gemini", remote, "{}",
			"{\n  \"mcpServers\": {\n    \"candela\": {\n      \"httpUrl\": \"https://charts.example.com/mcp\"\n    }\n  }\n}",
		},
		"zed, beside a comment": {
			"zed", local, "// Zed settings\n{\n  \"theme\": \"One\",\n}\n",
			"// Zed settings\n{\n  \"theme\": \"One\",\n  \"context_servers\": {\n    \"candela\": {\n      \"command\": \"/usr/bin/candela\",\n      \"args\": [\"--mcp\", \"--trade\"]\n    }\n  },\n}\n",
		},
		"opencode, the program and its arguments are one list": {
			"opencode", local, "",
			"{\n  \"mcp\": {\n    \"candela\": {\n      \"type\": \"local\",\n      \"command\": [\"/usr/bin/candela\", \"--mcp\", \"--trade\"]\n    }\n  }\n}\n",
		},
		"opencode, a server named servers": {
			"opencode", remote, "{\"mcp\": {\"servers\": {\"type\": \"local\"}}}",
			"{\"mcp\": {\"servers\": {\"type\": \"local\"}, \"candela\": {\"type\": \"remote\", \"url\": \"https://charts.example.com/mcp\"}}}",
		},
		"codex, no file": {
			"codex", local, "",
			"[mcp_servers.candela]\ncommand = \"/usr/bin/candela\"\nargs = [\"--mcp\", \"--trade\"]\n",
		},
		"codex, after what is there": {
			"codex", remote,
			"model = \"o\" # mine\n\n[mcp_servers.x]\ncommand = \"x\"\nargs = [ # two\n  \"[not.a.table]\",\n]",
			"model = \"o\" # mine\n\n[mcp_servers.x]\ncommand = \"x\"\nargs = [ # two\n  \"[not.a.table]\",\n]\n\n[mcp_servers.candela]\nurl = \"https://charts.example.com/mcp\"\n",
		},
		"codex, an entry keeps what is the user's": {
			"codex", local,
			"[mcp_servers.candela] # here\nurl = \"https://old/mcp\" # the old one\nstartup_timeout_sec = 20\n\n[mcp_servers.candela.env]\nA = \"b\"\n",
			"[mcp_servers.candela] # here\nargs = [\"--mcp\", \"--trade\"]\ncommand = \"/usr/bin/candela\"\nstartup_timeout_sec = 20\n\n[mcp_servers.candela.env]\nA = \"b\"\n",
		},
		"codex, paths of Windows": {
			"codex",
			Server{Command: `C:\Program Files\candela.exe`, Args: []string{"--mcp"}},
			"",
			"[mcp_servers.candela]\ncommand = 'C:\\Program Files\\candela.exe'\nargs = [\"--mcp\"]\n",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := client(t, tt.client)
			got, err := c.Set(tt.before, "candela", tt.server)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.after, got); diff != "" {
				t.Error(diff)
			}
			again, err := c.Set(got, "candela", tt.server)
			if err != nil || again != got {
				t.Errorf("a second time changes it: %v\n%s", err, again)
			}
		})
	}
}

func TestRemove(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ client, before, after string }{
		"not there":     {"cursor", `{"mcpServers": {"x": 1}}`, `{"mcpServers": {"x": 1}}`},
		"no file":       {"cursor", "", ""},
		"the only one":  {"cursor", "{\n  \"mcpServers\": {\n    \"candela\": {}\n  }\n}", "{\n  \"mcpServers\": {}\n}"},
		"the first":     {"cursor", "{\"mcpServers\": {\"candela\": {}, \"x\": 1}}", "{\"mcpServers\": { \"x\": 1}}"},
		"the last":      {"cursor", "{\"mcpServers\": {\"x\": 1, \"candela\": {}}}", "{\"mcpServers\": {\"x\": 1}}"},
		"line comments": {"vscode", "{\"servers\": {\n  \"x\": 1, // one\n  // ours\n  \"candela\": {} }}", "{\"servers\": {\n  \"x\": 1 // one\n  // ours\n }}"},
		"codex": {
			"codex",
			"a = 1\n\n[mcp_servers.candela]\ncommand = \"x\"\n[mcp_servers.candela.env]\nB = \"c\"\n\n# of the next\n[mcp_servers.x]\ncommand = \"y\"\n",
			"a = 1\n\n# of the next\n[mcp_servers.x]\ncommand = \"y\"\n",
		},
		"codex, not there": {"codex", "a = 1\n", "a = 1\n"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := client(t, tt.client).Remove(tt.before, "candela")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.after, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSet_RefusesUnreadableFilesWithThePlace(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		client, before string
		line, column   int
		reason         string
	}{
		"a comment where there may be none": {"claude-desktop", "{\n  // x\n}", 2, 3, "neither comments"},
		"a trailing comma, likewise":        {"claude-code", "{\n  \"a\": 1,\n}", 3, 1, "nor trailing commas"},
		"half a file":                       {"cursor", "{\n  \"mcpServers\": {", 2, 18, "unexpected EOF"},
		"two values":                        {"cursor", "{} {}", 1, 4, "after top-level value"},
		"servers in a list":                 {"cursor", "{\"mcpServers\": []}", 1, 16, `"mcpServers" must be an object`},
		"an entry that is none":             {"cursor", "{\"mcpServers\": {\"candela\": 1}}", 1, 28, `"candela" must be an object`},
		"a list as the file":                {"cursor", "[]", 1, 1, "the file must be an object"},
		"a key twice":                       {"cursor", "{\"mcpServers\": {},\n\"mcpServers\": {}}", 2, 1, `"mcpServers" occurs a second time`},
		"bytes that are no text":            {"cursor", "{\"a\": \"é\xff\"}", 1, 9, "not UTF-8"},
		"a wrong escape":                    {"cursor", `{"a": "\q"}`, 1, 7, "invalid literal"},
		"a comment without an end":          {"vscode", "{ /* }", 1, 3, "parsing comment: unexpected EOF"},
		"opencode, a later layout":          {"opencode", "{\"mcp\": {\"servers\": {}}}", 1, 21, "a later OpenCode"},
		"codex, a broken line":              {"codex", "a = 1\nb = \n", 2, 0, "expected value"},
		"codex, an inline table":            {"codex", "a = 1\nmcp_servers = {x = {command = \"x\"}}\n", 2, 1, "table of its own"},
		"codex, dots":                       {"codex", "[mcp_servers]\ncandela.command = \"x\"\n", 2, 1, "table of its own"},
		"codex, a list of tables":           {"codex", "[[mcp_servers]]\na = 1\n", 1, 1, "list of tables"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := client(t, tt.client).Set(tt.before, "candela", local)
			bad, ok := errors.AsType[*SyntaxError](err)
			if !ok {
				t.Fatalf("%v", err)
			}
			if bad.Line != tt.line || tt.column > 0 && bad.Column != tt.column || !strings.Contains(bad.Reason, tt.reason) {
				t.Error(bad)
			}
		})
	}
}

func TestSet_ClaudeDesktopHasNoRemoteServers(t *testing.T) {
	t.Parallel()
	_, err := client(t, "claude-desktop").Set("{}", "candela", remote)
	if fault.KindOf(err) != fault.Unsupported || !strings.Contains(err.Error(), "Connectors") {
		t.Error(err)
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	if _, err := Find("claude"); err == nil || !strings.Contains(err.Error(), "claude-code, claude-desktop, cursor, vscode, codex, windsurf, gemini, zed, opencode, goose") {
		t.Error(err)
	}
	if _, err := Find(""); err == nil || !strings.Contains(err.Error(), "CLIENT is required: one of claude-code") {
		t.Error(err)
	}
}

func TestPath(t *testing.T) {
	t.Parallel()
	none := map[string]string{}
	tests := []struct {
		client, os, home string
		env              map[string]string
		want             string
	}{
		{"claude-code", "linux", "/home/a", none, "/home/a/.claude.json"},
		{"claude-code", "windows", `C:\Users\a`, none, `C:\Users\a\.claude.json`},
		{"claude-code", "darwin", "/Users/a", map[string]string{"CLAUDE_CONFIG_DIR": "/x/"}, "/x/.claude.json"},
		{"claude-desktop", "darwin", "/Users/a", none, "/Users/a/Library/Application Support/Claude/claude_desktop_config.json"},
		{"claude-desktop", "windows", `C:\Users\a`, map[string]string{"APPDATA": `D:\Roaming`}, `D:\Roaming\Claude\claude_desktop_config.json`},
		{"claude-desktop", "windows", `C:\Users\a`, none, `C:\Users\a\AppData\Roaming\Claude\claude_desktop_config.json`},
		{"claude-desktop", "linux", "/home/a", none, "/home/a/.config/Claude/claude_desktop_config.json"},
		{"cursor", "linux", "/home/a", none, "/home/a/.cursor/mcp.json"},
		{"cursor", "windows", `C:\Users\a`, none, `C:\Users\a\.cursor\mcp.json`},
		{"vscode", "linux", "/home/a", map[string]string{"XDG_CONFIG_HOME": "/cfg"}, "/cfg/Code/User/mcp.json"},
		{"vscode", "linux", "/home/a", map[string]string{"XDG_CONFIG_HOME": "relative"}, "/home/a/.config/Code/User/mcp.json"},
		{"vscode", "darwin", "/Users/a", none, "/Users/a/Library/Application Support/Code/User/mcp.json"},
		{"vscode", "windows", `C:\Users\a`, map[string]string{"APPDATA": `C:\Users\a\AppData\Roaming`}, `C:\Users\a\AppData\Roaming\Code\User\mcp.json`},
		{"codex", "linux", "/home/a", none, "/home/a/.codex/config.toml"},
		{"codex", "windows", `C:\Users\a`, map[string]string{"CODEX_HOME": `D:\codex`}, `D:\codex\config.toml`},
		{"windsurf", "linux", "/home/a", none, "/home/a/.codeium/windsurf/mcp_config.json"},
		{"windsurf", "windows", `C:\Users\a`, none, `C:\Users\a\.codeium\windsurf\mcp_config.json`},
		{"gemini", "linux", "/home/a", none, "/home/a/.gemini/settings.json"},
		{"gemini", "windows", `C:\Users\a`, none, `C:\Users\a\.gemini\settings.json`},
		{"gemini", "darwin", "/Users/a", map[string]string{"GEMINI_CLI_HOME": "/x"}, "/x/.gemini/settings.json"},
		{"zed", "linux", "/home/a", map[string]string{"XDG_CONFIG_HOME": "/cfg"}, "/cfg/zed/settings.json"},
		{"zed", "darwin", "/Users/a", map[string]string{"XDG_CONFIG_HOME": "/cfg"}, "/Users/a/.config/zed/settings.json"},
		{"zed", "windows", `C:\Users\a`, none, `C:\Users\a\AppData\Roaming\Zed\settings.json`},
		{"opencode", "linux", "/home/a", none, "/home/a/.config/opencode/opencode.json"},
		{"opencode", "darwin", "/Users/a", map[string]string{"XDG_CONFIG_HOME": "/cfg"}, "/cfg/opencode/opencode.json"},
		{"opencode", "windows", `C:\Users\a`, none, `C:\Users\a\.config\opencode\opencode.json`},
		{"opencode", "linux", "/with", none, "/with/.config/opencode/opencode.jsonc"},
		{"goose", "linux", "/home/a", none, "/home/a/.config/goose/config.yaml"},
		{"goose", "darwin", "/Users/a", none, "/Users/a/.config/goose/config.yaml"},
		{"goose", "windows", `C:\Users\a`, none, `C:\Users\a\AppData\Roaming\Block\goose\config\config.yaml`},
		{"goose", "linux", "/home/a", map[string]string{"GOOSE_PATH_ROOT": "/g"}, "/g/config/config.yaml"},
		{"goose", "linux", "/home/a", map[string]string{"GOOSE_PATH_ROOT": "g"}, "/home/a/.config/goose/config.yaml"},
	}
	for _, tt := range tests {
		got := client(t, tt.client).Path(System{
			OS: tt.os, Home: tt.home, Env: func(name string) string { return tt.env[name] },
			Exists: func(path string) bool { return path == "/with/.config/opencode/opencode.jsonc" },
		})
		if got != tt.want {
			t.Errorf("%s on %s: %s, want %s", tt.client, tt.os, got, tt.want)
		}
	}
}

func TestCheckName(t *testing.T) {
	t.Parallel()
	cursor, goose := client(t, "cursor"), client(t, "goose")
	if err := cursor.checkName("Candela_2-x"); err != nil {
		t.Error(err)
	}
	if err := goose.checkName("Candela"); err == nil || !strings.Contains(err.Error(), "without capital letters") {
		t.Error(err)
	}
	for _, bad := range []string{"", "a b", "a.b", "é", strings.Repeat("a", 65)} {
		if cursor.checkName(bad) == nil {
			t.Errorf("%q passes", bad)
		}
	}
}

func TestDiff(t *testing.T) {
	t.Parallel()
	if got := Diff("f", "a\n", "a\n"); got != "" {
		t.Error(got)
	}
	got := Diff("f", "a\nb\nc\nd\ne\n", "a\nb\nX\nd\nY\nZ\ne\n")
	want := "--- f\n+++ f\n@@ -2,4 +2,6 @@\n b\n-c\n+X\n d\n+Y\n+Z\n e\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := Diff("f", "", "a\n"); got != "--- f\n+++ f\n@@ -0,0 +1,1 @@\n+a\n" {
		t.Error(got)
	}
}
