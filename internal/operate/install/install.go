// Package install adds candela to the configuration file of an MCP client, and removes it.
// It finds the file and this program, edits the text, and replaces the file atomically with
// a backup beside it. It starts nothing and connects to no server.
//
// The rest of a file stays as it is, byte for byte: comments, order, indentation, line ends
// and unknown keys. A file that the client could not read is refused with the line and
// column, and so is one that cannot be edited without rewriting the user's text. Every
// result is read back and compared with the intended content before it is written.
package install

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"candela/internal/config"
	"candela/internal/kit/disk"
	"candela/internal/kit/loopback"
	"candela/lib/fault"
)

// Installation is a request to add candela to a client's file, or to remove it.
type Installation struct {
	Client  string
	Name    string   // of the server in the file
	URL     string   // of a remote server; "" for one that the client starts
	File    string   // "" for the client's own file
	Flags   []string // of candela, besides --mcp
	Remove  bool
	DryRun  bool // write nothing
	Environ []string
	Parts   config.Parts // the venues and brokers of this build
}

// Installed is the result of an installation, or of a dry run.
type Installed struct {
	Client  Client
	Path    string
	Backup  string // path of the previous file, "" when there was none or nothing was written
	Diff    string // "" when nothing changes
	Command string // the command that the client runs, or the URL
	// Unseen lists the settings of this environment that a client started elsewhere does
	// not have.
	Unseen []string
}

// maxClientFile bounds the memory. Claude Code keeps its history in the same file, so it
// can be large.
const maxClientFile = 64 << 20

// Install adds candela to a client's file, or removes it.
func Install(want Installation) (Installed, error) {
	client, err := Find(want.Client)
	if err != nil {
		return Installed{}, err
	}
	done := Installed{Client: client}
	if err := client.checkName(want.Name); err != nil {
		return done, err
	}
	if done.Path, err = want.path(client); err != nil {
		return done, err
	}
	var server Server
	if !want.Remove {
		if server, err = want.server(); err != nil {
			return done, err
		}
		done.Command = cmp.Or(server.URL, strings.Join(append([]string{server.Command}, server.Args...), " "))
		done.Unseen = want.unseen()
	}
	file, err := openClientFile(done.Path)
	if err != nil {
		return done, err
	}
	var after string
	if want.Remove {
		after, err = client.Remove(file.text, want.Name)
	} else {
		after, err = client.Set(file.text, want.Name, server)
	}
	if err != nil {
		if fault.Of(err) != nil {
			return done, err
		}
		return done, &fault.Error{
			Kind: fault.Conflict, Code: "client_file", Field: "file", Value: done.Path,
			Message: fmt.Sprintf("%s was not changed: %s", done.Path, err),
		}
	}
	done.Diff = Diff(done.Path, file.text, after)
	if done.Diff == "" || want.DryRun {
		return done, nil
	}
	done.Backup, err = file.replace(after, time.Now())
	return done, err
}

func (want Installation) env(name string) string {
	for _, entry := range slices.Backward(want.Environ) {
		if key, text, _ := strings.Cut(entry, "="); key == name || runtime.GOOS == "windows" && strings.EqualFold(key, name) {
			return text
		}
	}
	return ""
}

func (want Installation) path(client Client) (string, error) {
	if want.File != "" {
		return filepath.Abs(want.File)
	}
	home := want.env("HOME")
	if runtime.GOOS == "windows" {
		home = want.env("USERPROFILE")
	}
	if home == "" {
		return "", fault.Missing("--file", "the client's file, because the home directory is unknown")
	}
	return filepath.Abs(client.Path(System{OS: runtime.GOOS, Home: home, Env: want.env, Exists: exists}))
}

// server returns the command that the client should run, or the URL.
func (want Installation) server() (Server, error) {
	if want.URL != "" {
		if len(want.Flags) > 0 {
			return Server{}, &fault.Error{
				Kind: fault.Invalid, Code: "refused", Field: "--url",
				Message: fmt.Sprintf("--url and %s exclude each other: the server at the URL has its own flags", want.Flags[0]),
			}
		}
		address, err := remoteAddress(want.URL)
		return Server{URL: address}, err
	}
	args := append([]string{"--mcp"}, want.absolutePaths(slices.DeleteFunc(slices.Clone(want.Flags), func(f string) bool { return f == "--mcp" }))...)
	// Checked here, because in the client an invalid flag is a line of a log that nobody reads.
	if _, err := config.Load(config.Input{Args: args, Environ: want.Environ, Parts: want.Parts}); err != nil {
		return Server{}, err
	}
	command, err := ownCommand()
	if err != nil {
		return Server{}, err
	}
	return Server{Command: command[0], Args: append(command[1:], args...)}, nil
}

// absolutePaths makes file flags absolute, because a client starts programs in another
// directory.
func (want Installation) absolutePaths(flags []string) []string {
	files := make(map[string]bool)
	for _, s := range config.Settings(want.Parts) {
		files[s.Flag()] = s.Arg == "FILE" || s.Arg == "FOLDER"
	}
	all := slices.Clone(flags)
	for i, flag := range all {
		name, value, assigned := strings.Cut(flag, "=")
		switch {
		case !files[name]:
		case assigned:
			all[i] = name + "=" + absolute(value)
		case i+1 < len(all):
			all[i+1] = absolute(all[i+1])
		}
	}
	return all
}

func absolute(path string) string {
	abs, err := filepath.Abs(path)
	if path == "" || strings.HasPrefix(path, "~/") || err != nil {
		return path
	}
	return abs
}

// CommandName returns how a shell runs this program: its name alone if it is in PATH.
func CommandName() string {
	own, err := os.Executable()
	if err != nil {
		return "candela"
	}
	if again := runner(own, runtime.GOOS); again != nil {
		return strings.TrimPrefix(strings.Join(again, " "), "cmd /c ")
	}
	if found, err := exec.LookPath("candela"); err == nil && sameFile(found, own) {
		return "candela"
	}
	if here, err := os.Getwd(); err == nil {
		if path, err := filepath.Rel(here, own); err == nil && filepath.IsLocal(path) {
			return "." + string(filepath.Separator) + path
		}
	}
	return own
}

// ownPath returns the path of this program. The path found in PATH is preferred to the file
// it links to: package managers keep the first and replace the second.
func ownPath() (string, error) {
	own, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find this program: %w", err)
	}
	if found, err := exec.LookPath("candela"); err == nil && sameFile(found, own) {
		own = found
	}
	if own, err = filepath.Abs(own); err != nil {
		return "", err
	}
	if strings.Contains(own, string(filepath.Separator)+"go-build") {
		return "", &fault.Error{
			Kind: fault.Conflict, Code: "temporary_program", Value: own,
			Message: own + " is deleted when this command ends. Build or install candela, and run that one.",
		}
	}
	return own, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func sameFile(a, b string) bool {
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(one, other)
}

// unseen lists the environment variables that are settings.
func (want Installation) unseen() []string {
	if want.URL != "" {
		return nil
	}
	var names []string
	for _, entry := range want.Environ {
		if name, text, _ := strings.Cut(entry, "="); strings.HasPrefix(name, "CANDELA_") && text != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// clientFile is a client's file as it was read.
type clientFile struct {
	path string // the target of links, so that they stay
	text string
	info fs.FileInfo // nil when there is no file
}

func openClientFile(path string) (*clientFile, error) {
	f := &clientFile{path: path}
	target, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(path); err == nil {
			return nil, fmt.Errorf("%s links to a file that does not exist", path)
		}
		return f, nil
	}
	if err != nil {
		return nil, err
	}
	f.path = target
	if f.info, err = os.Stat(target); err != nil {
		return nil, err
	}
	if !f.info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	f.text, err = readText(target)
	return f, err
}

func readText(path string) (string, error) {
	in, err := os.Open(path) //nolint:gosec // G304: the user's choice
	if err != nil {
		return "", err
	}
	data, err := io.ReadAll(io.LimitReader(in, maxClientFile+1))
	if err = errors.Join(err, in.Close()); err == nil && len(data) > maxClientFile {
		err = fmt.Errorf("%s is larger than %d MB", path, maxClientFile>>20)
	}
	return string(data), err
}

// replace replaces the file atomically and keeps the old one as a backup. It fails when
// another program changed the file meanwhile.
func (f *clientFile) replace(text string, now time.Time) (backup string, err error) {
	mode := fs.FileMode(0o600)
	if f.info == nil {
		if err := os.MkdirAll(filepath.Dir(f.path), 0o700); err != nil {
			return "", err
		}
	} else {
		mode = f.info.Mode().Perm()
		backup = f.path + ".before-candela-" + now.UTC().Format("20060102T150405.000Z")
		if err := f.write(backup, f.text, mode); err != nil {
			return "", fmt.Errorf("backup: %w", err)
		}
	}
	temp := fmt.Sprintf("%s.candela-%d", f.path, os.Getpid())
	if err := f.write(temp, text, mode); err != nil {
		return backup, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(temp))
		}
	}()
	present, err := readText(f.path)
	if f.info == nil && errors.Is(err, fs.ErrNotExist) {
		present, err = "", nil
	}
	if err != nil {
		return backup, err
	}
	if present != f.text {
		return backup, &fault.Error{
			Kind: fault.Conflict, Code: "client_file_changed", Value: f.path,
			Message: f.path + " was changed by another program at the same time. Nothing was written; try again.",
		}
	}
	if err := disk.Rename(temp, f.path); err != nil {
		return backup, err
	}
	return backup, disk.SyncDir(filepath.Dir(f.path))
}

// write creates a file with the owner of the one that was read, and syncs it to disk.
func (f *clientFile) write(path, text string, mode fs.FileMode) error {
	return disk.Create(path, func(out *os.File) error {
		if f.info != nil {
			keepOwner(out, f.info)
		}
		_, err := out.WriteString(text)
		return errors.Join(err, out.Chmod(mode))
	})
}

const urlAllowed = "the https address of a candela server, such as https://charts.example.com; http only on this machine"

// remoteAddress returns the MCP endpoint of a remote server. An address without a path gets
// that of the endpoint.
func remoteAddress(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Opaque != "" {
		return "", fault.Field("--url", text, urlAllowed)
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		// Hidden, because it may contain a password or a key.
		return "", fault.Field("--url", "(hidden)", urlAllowed+"; without a password, a query or a fragment")
	}
	if u.Scheme != "https" && (u.Scheme != "http" || !loopback.Host(strings.ToLower(u.Hostname()))) {
		return "", fault.Field("--url", text, urlAllowed)
	}
	if strings.Trim(u.Path, "/") == "" {
		u.Path = "/mcp"
	}
	return u.String(), nil
}
