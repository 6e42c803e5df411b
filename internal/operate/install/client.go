package install

import (
	"slices"
	"strings"

	"candela/internal/kit/fault"
)

// Client is an MCP client and the format of its configuration file, as documented by its
// vendor.
type Client struct {
	Name  string // on the command line
	Title string

	format format
	key    string // the object or table of servers
	stdio  string // the value of "type" for a local server, "" for no such key
	remote string // the same for a remote server
	urlKey string // "" when the file cannot have remote servers

	NoURL    string // why --url is not supported, and the alternative
	After    string // the next step after the file was written
	AfterURL string // the same for a remote server
}

type format uint8

const (
	plainJSON     format = iota
	commentedJSON        // with comments and trailing commas
	tomlFile
)

// Clients lists the clients in the order of --help.
func Clients() []Client {
	return []Client{
		{
			Name: "claude-code", Title: "Claude Code", format: plainJSON,
			key: "mcpServers", stdio: "stdio", remote: "http", urlKey: "url",
			After:    "Restart Claude Code; /mcp lists its servers.",
			AfterURL: "Restart Claude Code, run /mcp, choose the server and authenticate.",
		},
		{
			Name: "claude-desktop", Title: "Claude Desktop", format: plainJSON, key: "mcpServers",
			NoURL: "Claude Desktop does not read remote servers from its file. Add the URL under Settings, Connectors, Add custom connector.",
			After: "Quit and restart Claude Desktop; closing its window is not enough.",
		},
		{
			Name: "cursor", Title: "Cursor", format: commentedJSON, key: "mcpServers", urlKey: "url",
			After:    "Turn the server on in Cursor's settings, under MCP.",
			AfterURL: "Turn the server on in Cursor's settings, under MCP, and sign in there.",
		},
		{
			Name: "vscode", Title: "VS Code", format: commentedJSON,
			key: "servers", stdio: "stdio", remote: "http", urlKey: "url",
			After:    "Run the command MCP: List Servers in VS Code and start it.",
			AfterURL: "Run the command MCP: List Servers in VS Code, start it and sign in.",
		},
		{
			Name: "codex", Title: "Codex", format: tomlFile, key: "mcp_servers", urlKey: "url",
			After:    "Restart Codex; /mcp lists its servers.",
			AfterURL: "Run codex mcp login with the server's name to sign in.",
		},
		{
			Name: "windsurf", Title: "Windsurf", format: commentedJSON, key: "mcpServers", urlKey: "serverUrl",
			After:    "Refresh the servers in Windsurf's Cascade panel.",
			AfterURL: "Refresh the servers in Windsurf's Cascade panel and sign in.",
		},
	}
}

// Names returns the names of the clients.
func Names() []string {
	all := Clients()
	names := make([]string, len(all))
	for i := range all {
		names[i] = all[i].Name
	}
	return names
}

// Find returns the client of that name, or an error that lists the names.
func Find(name string) (Client, error) {
	all := Clients()
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
func checkName(name string) error {
	const allowed = "letters, digits, - and _, at most 64"
	other := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
	}
	if name == "" || len(name) > 64 || strings.ContainsFunc(name, other) {
		return fault.Field("--name", name, allowed)
	}
	return nil
}

// System determines the paths of files.
type System struct {
	OS   string // as in runtime.GOOS
	Home string // the user's home directory
	// Env returns an environment variable, "" when it is not set.
	Env func(name string) string
}

// Path returns the path of the client's user-wide configuration file.
func (c Client) Path(s System) string {
	under := func(base string, rest ...string) string {
		sep := "/"
		if s.OS == "windows" {
			sep = `\`
		}
		return strings.Join(append([]string{strings.TrimRight(base, sep)}, rest...), sep)
	}
	// settings returns the system's directory for configuration files.
	settings := func() string {
		switch s.OS {
		case "darwin":
			return under(s.Home, "Library", "Application Support")
		case "windows":
			if dir := s.Env("APPDATA"); dir != "" {
				return dir
			}
			return under(s.Home, "AppData", "Roaming")
		}
		if dir := s.Env("XDG_CONFIG_HOME"); strings.HasPrefix(dir, "/") { // the standard ignores a relative one
			return dir
		}
		return under(s.Home, ".config")
	}
	switch c.Name {
	case "claude-code":
		if dir := s.Env("CLAUDE_CONFIG_DIR"); dir != "" {
			return under(dir, ".claude.json")
		}
		return under(s.Home, ".claude.json")
	case "claude-desktop":
		return under(settings(), "Claude", "claude_desktop_config.json")
	case "cursor":
		return under(s.Home, ".cursor", "mcp.json")
	case "vscode":
		return under(settings(), "Code", "User", "mcp.json")
	case "codex":
		if dir := s.Env("CODEX_HOME"); dir != "" {
			return under(dir, "config.toml")
		}
		return under(s.Home, ".codex", "config.toml")
	default:
		return under(s.Home, ".codeium", "windsurf", "mcp_config.json")
	}
}

// Server is a command that the client runs, or a URL.
type Server struct {
	Command string
	Args    []string
	URL     string // if set, Command and Args are ignored
}

// field is one key of a server's entry.
type field struct {
	key  string
	text string
	list []string // if not nil, the value
}

// fields returns the server's entry, in the order of the client's documentation.
func (c Client) fields(s Server) []field {
	kind, rest := c.stdio, []field{{key: "command", text: s.Command}, {key: "args", list: append([]string{}, s.Args...)}}
	if s.URL != "" {
		kind, rest = c.remote, []field{{key: c.urlKey, text: s.URL}}
	}
	if kind == "" {
		return rest
	}
	return append([]field{{key: "type", text: kind}}, rest...)
}

// owned returns the keys of an entry that define the server. All others are the user's.
func (c Client) owned() []string {
	keys := []string{"type", "command", "args", "url"}
	if c.urlKey != "" && c.urlKey != "url" {
		keys = append(keys, c.urlKey)
	}
	if c.format == tomlFile {
		keys = slices.DeleteFunc(keys, func(k string) bool { return k == "type" }) // Codex has no such key
	}
	return keys
}

// Set returns text with the server under that name. An existing entry keeps the keys that
// do not say how the server is reached, such as its environment. The text is returned
// unchanged when nothing has to change.
func (c Client) Set(text, name string, s Server) (string, error) {
	if s.URL != "" && c.urlKey == "" {
		return "", &fault.Error{Kind: fault.Unsupported, Code: "no_remote_servers", Field: "--url", Message: c.NoURL}
	}
	return c.edit(text, func(text string) (string, error) {
		if c.format == tomlFile {
			return c.setTOML(text, name, s)
		}
		return c.setJSON(text, name, s)
	})
}

// Remove returns text without the server of that name. The text is returned unchanged when
// it does not have the server.
func (c Client) Remove(text, name string) (string, error) {
	return c.edit(text, func(text string) (string, error) {
		if c.format == tomlFile {
			return c.removeTOML(text, name)
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
