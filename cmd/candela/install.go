package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"candela/cmd/candela/cli"

	"candela/internal/app"
	"candela/internal/operate/install"
	"candela/lib/fault"
)

// changeClient returns the command that adds candela to a client or removes it.
func changeClient(command string, remove bool) cli.Runner {
	return func(_ context.Context, in cli.Call) error {
		want := install.Installation{Name: "candela", Remove: remove, Environ: in.Environ, Parts: app.Parts()}
		rest, err := cli.CutFlags(in.Args, map[string]*bool{"--dry-run": &want.DryRun, "--remove": &want.Remove}, []cli.Flag{
			cli.TextFlag("--url", &want.URL, "the address of a candela server"),
			cli.TextFlag("--name", &want.Name, "the name of the server in the client"),
			cli.TextFlag("--file", &want.File, "the file to edit, such as one of a project"),
		}) // all others are passed to candela
		if err != nil {
			return err
		}
		want.Client, want.Flags = cli.CutWord(rest)
		if want.Remove && (want.URL != "" || len(want.Flags) > 0) {
			return fault.Field(command, cmp.Or(strings.Join(want.Flags, " "), "--url "+want.URL), "--name, --file and --dry-run to remove a server")
		}
		done, err := install.Install(want)
		if err != nil {
			return err
		}
		return printInstalled(in.Stdout, want, done)
	}
}

// printInstalled prints the result and the next step.
func printInstalled(w io.Writer, want install.Installation, done install.Installed) error {
	title := done.Client.Title
	switch {
	case done.Diff == "":
		has := "already has the"
		if want.Remove {
			has = "has no"
		}
		_, err := fmt.Fprintf(w, "%s %s server %s. Nothing was changed in %s.\n", title, has, want.Name, done.Path)
		return err
	case want.DryRun:
		_, err := io.WriteString(w, done.Diff)
		return err
	case want.Remove:
		fmt.Fprintf(w, "%s: removed the server %s from %s.\n", title, want.Name, done.Path)
	default:
		fmt.Fprintf(w, "%s: added the server %s to %s: %s\n", title, want.Name, done.Path, done.Command)
	}
	if done.Backup != "" {
		fmt.Fprintf(w, "Backup: %s\n", done.Backup)
	}
	if len(done.Unseen) > 0 {
		fmt.Fprintf(w, "Set in this environment, perhaps not in the client's: %s. To apply them there, write them into candela.toml.\n", strings.Join(done.Unseen, ", "))
	}
	after := done.Client.After
	if want.URL != "" {
		after = done.Client.AfterURL
	}
	if !want.Remove && want.URL == "" && !slices.ContainsFunc(want.Flags, func(f string) bool { return strings.HasPrefix(f, "--toolsets") }) {
		fmt.Fprintln(w, "More tools: install again with --toolsets all, for Pine scripts, back-tests, a search of symbols and a view of the account.")
	}
	_, err := fmt.Fprintln(w, after)
	return err
}
