package install

import (
	"slices"
	"strings"

	"candela/lib/fault"
)

// Client is an MCP client and the format of its configuration file, as documented by its
// vendor.
type Client struct {
	Name  string // on the command line
	Title string

	format format
	key    string // the object, table or mapping of servers
	files  func(System) []string
	// local and remote return the entry of a server. remote is nil when the file cannot
	// have remote servers.
	local, remote func(name string, s Server) []field
	lowerNames    bool   // it changes a name with capital letters
	later         string // an object of this name among the servers has those of a later layout of the file

	NoURL    string // why --url is not supported, and the alternative
	After    string // the next step after the file was written
	AfterURL string // the same for a remote server
}

type format uint8

const (
	plainJSON     format = iota
	commentedJSON        // with comments and trailing commas
	tomlFile
	yamlFile
)

// clients lists the clients in the order of --help.
func clients() []Client {
	return []Client{
		{
			Name: "claude-code", Title: "Claude Code", format: plainJSON, key: "mcpServers",
			files: func(s System) []string { return []string{s.under(s.dir("CLAUDE_CONFIG_DIR"), ".claude.json")} },
			local: typed("stdio", program), remote: typed("http", address("url")),
			After:    "Restart Claude Code; /mcp lists its servers.",
			AfterURL: "Restart Claude Code, run /mcp, choose the server and authenticate.",
		},
		{
			Name: "claude-desktop", Title: "Claude Desktop", format: plainJSON, key: "mcpServers",
			files: func(s System) []string {
				return []string{s.under(s.settings(), "Claude", "claude_desktop_config.json")}
			},
			local: program,
			NoURL: "Claude Desktop does not read remote servers from its file. Add the URL under Settings, Connectors, Add custom connector.",
			After: "Quit and restart Claude Desktop; closing its window is not enough.",
		},
		{
			Name: "cursor", Title: "Cursor", format: commentedJSON, key: "mcpServers",
			files: func(s System) []string { return []string{s.under(s.Home, ".cursor", "mcp.json")} },
			local: program, remote: address("url"),
			After:    "Turn the server on in Cursor's settings, under MCP.",
			AfterURL: "Turn the server on in Cursor's settings, under MCP, and sign in there.",
		},
		{
			Name: "vscode", Title: "VS Code", format: commentedJSON, key: "servers",
			files: func(s System) []string { return []string{s.under(s.settings(), "Code", "User", "mcp.json")} },
			local: typed("stdio", program), remote: typed("http", address("url")),
			After:    "Run the command MCP: List Servers in VS Code and start it.",
			AfterURL: "Run the command MCP: List Servers in VS Code, start it and sign in.",
		},
		{
			Name: "codex", Title: "Codex", format: tomlFile, key: "mcp_servers",
			files: func(s System) []string { return []string{s.under(s.dir("CODEX_HOME", ".codex"), "config.toml")} },
			local: program, remote: address("url"),
			After:    "Restart Codex; /mcp lists its servers.",
			AfterURL: "Run codex mcp login with the server's name to sign in.",
		},
		{
			Name: "windsurf", Title: "Windsurf", format: commentedJSON, key: "mcpServers",
			files: func(s System) []string { return []string{s.under(s.Home, ".codeium", "windsurf", "mcp_config.json")} },
			local: program, remote: address("serverUrl"),
			After:    "Refresh the servers in Windsurf's Cascade panel.",
			AfterURL: "Refresh the servers in Windsurf's Cascade panel and sign in.",
		},
		{
			Name: "gemini", Title: "Gemini CLI", format: commentedJSON, key: "mcpServers",
			files: func(s System) []string {
				return []string{s.under(s.dir("GEMINI_CLI_HOME"), ".gemini", "settings.json")}
			},
			local: program, remote: address("httpUrl"),
			After:    "Restart Gemini CLI; /mcp lists its servers.",
			AfterURL: "Restart Gemini CLI and run /mcp auth with the server's name to sign in.",
		},
		{
			Name: "zed", Title: "Zed", format: commentedJSON, key: "context_servers",
			files: func(s System) []string { return []string{s.under(s.zed(), "settings.json")} },
			local: program, remote: address("url"),
			After:    "Zed reads its settings again by itself; the settings of the Agent Panel list its servers.",
			AfterURL: "Zed reads its settings again by itself; sign in with the button of the server, in the settings of the Agent Panel.",
		},
		{
			Name: "opencode", Title: "OpenCode", format: commentedJSON, key: "mcp", later: "servers",
			files: func(s System) []string { // it reads both, and the first one wins
				dir := s.under(s.xdg(), "opencode")
				return []string{s.under(dir, "opencode.jsonc"), s.under(dir, "opencode.json")}
			},
			local: typed("local", commandLine), remote: typed("remote", address("url")),
			After:    "Restart OpenCode; opencode mcp list shows its servers.",
			AfterURL: "Run opencode mcp auth with the server's name to sign in.",
		},
		{
			Name: "goose", Title: "Goose", format: yamlFile, key: "extensions", lowerNames: true,
			files: func(s System) []string { return []string{s.under(s.goose(), "config.yaml")} },
			local: extension("stdio", gooseProgram), remote: extension("streamable_http", address("uri")),
			After:    "Start a new session of Goose; goose configure turns extensions on and off.",
			AfterURL: "Start a new session of Goose; a browser opens to sign in.",
		},
	}
}

// Names returns the names of the clients.
func Names() []string {
	all := clients()
	names := make([]string, len(all))
	for i := range all {
		names[i] = all[i].Name
	}
	return names
}

// Find returns the client of that name, or an error that lists the names.
func Find(name string) (Client, error) {
	all := clients()
	if i := slices.IndexFunc(all, func(c Client) bool { return c.Name == name }); i >= 0 {
		return all[i], nil
	}
	names := Names()
	if name == "" {
		return Client{}, fault.Missing("CLIENT", "one of "+strings.Join(names, ", "))
	}
	return Client{}, fault.Field("CLIENT", name, strings.Join(names, ", "), fault.Nearest(name, names)...)
}

// checkName refuses a server name that some client does not accept.
func (c Client) checkName(name string) error {
	const allowed = "letters, digits, - and _, at most 64"
	other := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
	}
	if name == "" || len(name) > 64 || strings.ContainsFunc(name, other) {
		return fault.Field("--name", name, allowed)
	}
	if c.lowerNames && name != strings.ToLower(name) {
		return fault.Field("--name", name, allowed+"; for "+c.Title+" without capital letters", strings.ToLower(name))
	}
	return nil
}

// Set returns text with the server under that name. An existing entry keeps the keys that
// do not say how the server is reached, such as its environment. The text is returned
// unchanged when nothing has to change.
func (c Client) Set(text, name string, s Server) (string, error) {
	entry := c.local
	if s.URL != "" {
		entry = c.remote
	}
	if entry == nil {
		return "", &fault.Error{Kind: fault.Unsupported, Code: "no_remote_servers", Field: "--url", Message: c.NoURL}
	}
	want := entry(name, s)
	return c.edit(text, func(text string) (string, error) {
		switch c.format {
		case tomlFile:
			return c.setTOML(text, name, want)
		case yamlFile:
			return c.setYAML(text, name, want)
		case plainJSON, commentedJSON:
		}
		return c.setJSON(text, name, want)
	})
}

// Remove returns text without the server of that name. The text is returned unchanged when
// it does not have the server.
func (c Client) Remove(text, name string) (string, error) {
	return c.edit(text, func(text string) (string, error) {
		switch c.format {
		case tomlFile:
			return c.removeTOML(text, name)
		case yamlFile:
			return c.removeYAML(text, name)
		case plainJSON, commentedJSON:
		}
		return c.removeJSON(text, name)
	})
}

// edit applies an edit behind the byte order mark that a file may begin with.
func (c Client) edit(text string, edit func(string) (string, error)) (string, error) {
	rest, marked := strings.CutPrefix(text, byteOrderMark)
	if err := checkUTF8(rest); err != nil {
		return "", err
	}
	after, err := edit(rest)
	if err == nil && marked {
		after = byteOrderMark + after
	}
	return after, err
}
