package install

import (
	"slices"
	"strings"

	"candela/internal/kit/fault"
)

// Client is a program that speaks MCP, and what its documentation says of the
// file in which it keeps servers.
type Client struct {
	Name  string // as it is given on the command line
	Title string // as people call it

	format format
	key    string // the object or table that has the servers
	stdio  string // the value of "type" for a server that is started, "" for no such key
	remote string // the same for a server at a URL
	urlKey string // the key of the URL; "" where the file cannot name a remote server

	NoURL    string // why there is no --url, and what to do in its place
	After    string // what to do when the file has been written
	AfterURL string // the same for a remote server, which wants to know who comes
}

// format is how a file is written.
type format uint8

const (
	plainJSON     format = iota // the client reads nothing but JSON
	commentedJSON               // comments and trailing commas are read too
	tomlFile
)

// Clients lists the clients in the order of --help.
func Clients() []Client {
	return []Client{
		{
			Name: "claude-code", Title: "Claude Code", format: plainJSON,
			key: "mcpServers", stdio: "stdio", remote: "http", urlKey: "url",
			After:    "Start Claude Code anew; /mcp lists its servers.",
			AfterURL: "Start Claude Code anew, call /mcp, choose the server and authenticate.",
		},
		{
			Name: "claude-desktop", Title: "Claude Desktop", format: plainJSON, key: "mcpServers",
			NoURL: "Claude Desktop connects to no remote server that its file names: add the URL under Settings, Connectors, Add custom connector",
			After: "Quit Claude Desktop and start it again; closing its window is not enough.",
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
			After:    "Start Codex anew; /mcp lists its servers.",
			AfterURL: "Run codex mcp login with the server's name to sign in.",
		},
		{
			Name: "windsurf", Title: "Windsurf", format: commentedJSON, key: "mcpServers", urlKey: "serverUrl",
			After:    "Refresh the servers in Windsurf's Cascade panel.",
			AfterURL: "Refresh the servers in Windsurf's Cascade panel and sign in.",
		},
	}
}

// Names lists the names of the clients.
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

// System is what decides where files are.
type System struct {
	OS   string // as runtime.GOOS names it
	Home string // the user's home directory
	// Env returns a variable of the environment, "" when it is not set.
	Env func(name string) string
}

// Path returns where the client keeps the servers that its user has everywhere.
func (c Client) Path(s System) string {
	under := func(base string, rest ...string) string {
		sep := "/"
		if s.OS == "windows" {
			sep = `\`
		}
		return strings.Join(append([]string{strings.TrimRight(base, sep)}, rest...), sep)
	}
	// settings is where the system wants programs to keep what users choose.
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
		if dir := s.Env("XDG_CONFIG_HOME"); strings.HasPrefix(dir, "/") { // a relative one is to be ignored
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

// Server is how the client reaches candela: by starting it, or at a URL.
type Server struct {
	Command string
	Args    []string
	URL     string // not empty: Command and Args count for nothing
}

// field is one key of a server's entry. The value is a string or a list of them.
type field struct {
	key  string
	text string
	list []string // not nil: the value is this list
}

// fields returns what the client wants to know of the server, in the order in
// which its documentation shows them.
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

// owned lists the keys of an entry that say how the server is reached. The others
// are the user's, whatever they are.
func (c Client) owned() []string {
	keys := []string{"type", "command", "args", "url"}
	if c.urlKey != "" && c.urlKey != "url" {
		keys = append(keys, c.urlKey)
	}
	if c.format == tomlFile {
		keys = slices.DeleteFunc(keys, func(k string) bool { return k == "type" }) // Codex tells by the others
	}
	return keys
}

// Set returns text with the server under that name. An entry that is there keeps
// the keys that say nothing of how the server is reached, such as its
// environment. The text comes back as it is when nothing has to change.
func (c Client) Set(text, name string, s Server) (string, error) {
	if s.URL != "" && c.urlKey == "" {
		return "", &fault.Error{Kind: fault.Unsupported, Code: "no_remote_servers", Field: "--url", Message: c.NoURL}
	}
	if c.format == tomlFile {
		return c.setTOML(text, name, s)
	}
	return c.setJSON(text, name, s)
}

// Remove returns text without the server of that name. The text comes back as it
// is when the server is not in it.
func (c Client) Remove(text, name string) (string, error) {
	if c.format == tomlFile {
		return c.removeTOML(text, name)
	}
	return c.removeJSON(text, name)
}
