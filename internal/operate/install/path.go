package install

import (
	"path"
	"slices"
	"strings"
)

// System determines the paths of files.
type System struct {
	OS   string // as in runtime.GOOS
	Home string // the user's home directory
	// Env returns an environment variable, "" when it is not set.
	Env func(name string) string
	// Exists reports whether there is a file.
	Exists func(path string) bool
}

// Path returns the path of the client's user-wide configuration file: of several that it
// reads, the first that exists, and the last if none does.
func (c Client) Path(s System) string {
	all := c.files(s)
	if i := slices.IndexFunc(all, s.Exists); i >= 0 {
		return all[i]
	}
	return all[len(all)-1]
}

// under returns a path below a directory.
func (s System) under(dir string, rest ...string) string {
	sep := "/"
	if s.OS == "windows" {
		sep = `\`
	}
	return strings.Join(append([]string{strings.TrimRight(dir, sep)}, rest...), sep)
}

// dir returns the directory that a variable names, and otherwise one of the home directory.
func (s System) dir(variable string, rest ...string) string {
	if dir := s.Env(variable); dir != "" {
		return dir
	}
	return s.under(s.Home, rest...)
}

// xdg returns the directory for configuration files of the XDG standard, which some clients
// use on every system.
func (s System) xdg() string {
	if dir := s.Env("XDG_CONFIG_HOME"); path.IsAbs(dir) || s.OS == "windows" && dir != "" { // the standard ignores a relative one
		return dir
	}
	return s.under(s.Home, ".config")
}

// settings returns the system's directory for configuration files.
func (s System) settings() string {
	switch s.OS {
	case "darwin":
		return s.under(s.Home, "Library", "Application Support")
	case "windows":
		return s.dir("APPDATA", "AppData", "Roaming")
	}
	return s.xdg()
}

// zed returns the directory of Zed's settings: on macOS the one of Linux, whatever
// XDG_CONFIG_HOME says.
func (s System) zed() string {
	switch s.OS {
	case "darwin":
		return s.under(s.Home, ".config", "zed")
	case "windows":
		return s.under(s.settings(), "Zed")
	}
	return s.under(s.xdg(), "zed")
}

// goose returns the directory of Goose's settings.
func (s System) goose() string {
	switch root := s.Env("GOOSE_PATH_ROOT"); {
	case path.IsAbs(root) || s.OS == "windows" && root != "":
		return s.under(root, "config")
	case s.OS == "windows":
		return s.under(s.settings(), "Block", "goose", "config")
	}
	return s.under(s.xdg(), "goose")
}
