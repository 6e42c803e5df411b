// Package setup writes candela into the file of an MCP client on this machine, or takes
// it out: it finds the file and this program, has package install make the new text,
// and exchanges the file at once, with the old one kept beside it. It starts nothing
// and speaks to no server.
package setup

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"candela/internal/config"
	"candela/internal/kit/disk"
	"candela/internal/kit/fault"
	"candela/internal/operate/install"
)

// Installation says what to write into the file of which client.
type Installation struct {
	Client  string
	Name    string   // of the server in that file
	URL     string   // of a remote server; "" for one that the client starts
	File    string   // "" for the one that the client's documentation names
	Flags   []string // that the client starts candela with, besides --mcp
	Remove  bool     // take it out
	DryRun  bool     // change nothing
	Environ []string
}

// Installed is what an installation has done, or would do.
type Installed struct {
	Client  install.Client
	Path    string
	Backup  string // of the file as it was, "" when there was none or nothing is written
	Diff    string // "" when nothing changes
	Command string // how the client starts candela, or the URL
	// Unseen are the settings in this environment that a client which is not started
	// from here does not see.
	Unseen []string
}

// maxClientFile bounds what is read into memory. Claude Code keeps its history in
// the same file, so it can be large.
const maxClientFile = 64 << 20

// Install writes candela into the file of a client, or takes it out of it. A file
// that cannot be read is left alone, with its place in the error.
func Install(want Installation) (Installed, error) {
	client, err := install.Find(want.Client)
	if err != nil {
		return Installed{}, err
	}
	done := Installed{Client: client}
	if err := install.CheckName(want.Name); err != nil {
		return done, err
	}
	if done.Path, err = want.path(client); err != nil {
		return done, err
	}
	var server install.Server
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
			Message: fmt.Sprintf("%s is left as it is: %s", done.Path, err),
		}
	}
	done.Diff = install.Diff(done.Path, file.text, after)
	if done.Diff == "" || want.DryRun {
		return done, nil
	}
	done.Backup, err = file.replace(after, time.Now())
	return done, err
}

// env returns one variable of the environment, "" when it is not set.
func (want Installation) env(name string) string {
	for _, entry := range slices.Backward(want.Environ) {
		if key, text, _ := strings.Cut(entry, "="); key == name || runtime.GOOS == "windows" && strings.EqualFold(key, name) {
			return text
		}
	}
	return ""
}

func (want Installation) path(client install.Client) (string, error) {
	if want.File != "" {
		return filepath.Abs(want.File)
	}
	home := want.env("HOME")
	if runtime.GOOS == "windows" {
		home = want.env("USERPROFILE")
	}
	if home == "" {
		return "", fault.Missing("--file", "the client's file, because the user's home directory is not known")
	}
	return filepath.Abs(client.Path(install.System{OS: runtime.GOOS, Home: home, Env: want.env}))
}

// server returns what the client is to start, or where it is to go.
func (want Installation) server() (install.Server, error) {
	if want.URL != "" {
		if len(want.Flags) > 0 {
			return install.Server{}, &fault.Error{
				Kind: fault.Invalid, Code: "refused", Field: "--url",
				Message: fmt.Sprintf("--url and %s exclude each other: the server at the URL has been started with its own flags", want.Flags[0]),
			}
		}
		address, err := remoteAddress(want.URL)
		return install.Server{URL: address}, err
	}
	args := append([]string{"--mcp"}, absolutePaths(slices.DeleteFunc(slices.Clone(want.Flags), func(f string) bool { return f == "--mcp" }))...)
	// What the client will start is checked here: in the client, a refusal is a line
	// of a log that nobody looks at.
	if _, err := config.Load(config.Input{Args: args, Environ: want.Environ}); err != nil {
		return install.Server{}, err
	}
	program, err := ownPath()
	return install.Server{Command: program, Args: args}, err
}

// absolutePaths makes the values of flags that name files absolute: a client
// starts programs in a folder of its own.
func absolutePaths(flags []string) []string {
	files := make(map[string]bool)
	for _, s := range config.Settings() {
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

// CommandName is what to type to run this program again: its name alone where a shell
// finds it by that.
func CommandName() string {
	own, err := os.Executable()
	if err != nil {
		return "candela"
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

// ownPath returns where this program is. The name by which a shell finds it comes
// before the file that it leads to: package managers keep the first and exchange
// the second.
func ownPath() (string, error) {
	own, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("where this program is: %w", err)
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
			Message: own + " goes away when this command ends: build candela or install it, and run that",
		}
	}
	return own, nil
}

func sameFile(a, b string) bool {
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(one, other)
}

// unseen lists the variables that decide something here.
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

// clientFile is the file of a client as it was read.
type clientFile struct {
	path string // what links lead to, so that they stay
	text string
	info fs.FileInfo // nil when there is none
}

func openClientFile(path string) (*clientFile, error) {
	f := &clientFile{path: path}
	target, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(path); err == nil {
			return nil, fmt.Errorf("%s leads to a file that is not there", path)
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
	in, err := os.Open(path) //nolint:gosec // G304: the file that the user wants changed
	if err != nil {
		return "", err
	}
	data, err := io.ReadAll(io.LimitReader(in, maxClientFile+1))
	if err = errors.Join(err, in.Close()); err == nil && len(data) > maxClientFile {
		err = fmt.Errorf("%s has more than %d MB", path, maxClientFile>>20)
	}
	return string(data), err
}

// replace puts a new text in the place of the file, all at once, and keeps the
// old one beside it. It gives up when somebody else has changed the file meanwhile.
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
			Message: f.path + " was changed by another program at this moment and is left as it is: try again",
		}
	}
	if err := disk.Rename(temp, f.path); err != nil {
		return backup, err
	}
	return backup, disk.SyncDir(filepath.Dir(f.path))
}

// write makes a file with the permissions and the owner of the one that was read,
// and returns when it is on the disk.
func (f *clientFile) write(path, text string, mode fs.FileMode) error {
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) //nolint:gosec // G304: beside the client's file
	if err != nil {
		return err
	}
	if f.info != nil {
		keepOwner(out, f.info)
	}
	_, err = out.WriteString(text)
	err = errors.Join(err, out.Chmod(mode), out.Sync(), out.Close())
	if err != nil {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}
