package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"candela/internal/app"
	"candela/internal/kit/fault"
	"candela/internal/operate/install"
)

const installFlags = `
Flags:
  --url URL    let the client use the server at this address; without it the client starts candela itself
  --name NAME  what the server is called in the client; candela when left out
  --file FILE  change this file, such as the one of a project, in place of the client's own
  --dry-run    show what would be written and write nothing
  --remove     take candela out of the configuration, as uninstall does
Other flags are written into the configuration: the client starts candela with them.
`

// installClient writes candela into the configuration of a client.
func installClient(_ context.Context, in invocation) error {
	return changeClient(in, "install", false)
}

// uninstallClient takes it out again.
func uninstallClient(_ context.Context, in invocation) error {
	return changeClient(in, "uninstall", true)
}

func changeClient(in invocation, command string, remove bool) error {
	want := install.Installation{Name: "candela", Remove: remove, Environ: in.environ, Parts: app.Parts()}
	args := in.args
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		want.Client, args = args[0], args[1:]
	}
	if err := parseInstallFlags(args, &want); err != nil {
		return err
	}
	if want.Remove && (want.URL != "" || len(want.Flags) > 0) {
		return fault.Field(command, strings.Join(args, " "), "--name, --file and --dry-run to remove a server")
	}
	done, err := install.Install(want)
	if err != nil {
		return err
	}
	return tellInstalled(in.Stdout, want, done)
}

// parseInstallFlags takes the flags of the command out of the arguments; the others
// are what the client starts candela with.
func parseInstallFlags(args []string, want *install.Installation) error {
	values := map[string]struct {
		to      *string
		allowed string
	}{
		"--url":  {&want.URL, "the address of a candela server"},
		"--name": {&want.Name, "what the server is called in the client"},
		"--file": {&want.File, "the file to change, such as the one of a project"},
	}
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		name, value, assigned := strings.Cut(arg, "=")
		flag, known := values[name]
		switch {
		case arg == "--dry-run":
			want.DryRun = true
		case arg == "--remove":
			want.Remove = true
		case !known:
			want.Flags = append(want.Flags, arg)
		default:
			if !assigned && len(args) > 0 && !strings.HasPrefix(args[0], "--") {
				value, args = args[0], args[1:]
			}
			if value == "" {
				return fault.Missing(name, flag.allowed)
			}
			*flag.to = value
		}
	}
	return nil
}

// tellInstalled says what was done and what is left to do.
func tellInstalled(w io.Writer, want install.Installation, done install.Installed) error {
	title := done.Client.Title
	switch {
	case done.Diff == "" && want.Remove:
		_, err := fmt.Fprintf(w, "%s has no server %s: nothing in %s changes.\n", title, want.Name, done.Path)
		return err
	case done.Diff == "":
		_, err := fmt.Fprintf(w, "%s has the server %s already: nothing in %s changes.\n", title, want.Name, done.Path)
		return err
	case want.DryRun:
		_, err := io.WriteString(w, done.Diff)
		return err
	case want.Remove:
		fmt.Fprintf(w, "%s: the server %s is out of %s.\n", title, want.Name, done.Path)
	default:
		fmt.Fprintf(w, "%s: the server %s is in %s: %s\n", title, want.Name, done.Path, done.Command)
	}
	if done.Backup != "" {
		fmt.Fprintf(w, "The file as it was: %s\n", done.Backup)
	}
	if len(done.Unseen) > 0 {
		fmt.Fprintf(w, "Set here, and perhaps not where the client starts candela: %s. Put what should count there into candela.toml.\n", strings.Join(done.Unseen, ", "))
	}
	after := done.Client.After
	if want.URL != "" {
		after = done.Client.AfterURL
	}
	_, err := fmt.Fprintln(w, after)
	return err
}
