package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"candela/internal/app"
	"candela/internal/config"
	"candela/internal/kit/fault"
	"candela/internal/operate/migrate"
)

// migrateState copies the state to NATS servers or back.
func migrateState(ctx context.Context, in invocation) error {
	how, rest, err := parseMigrateFlags(in.args)
	if err != nil {
		return err
	}
	cfg, err := app.LoadConfig(config.Input{Args: rest, Environ: in.environ, Inspect: true})
	if err != nil {
		return err
	}
	how.Progress, how.Log = counting(in.Stderr), cfg.Log.CommandLogger(in.Stderr)
	done, err := migrate.Run(ctx, cfg, how)
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(in.Stdout, 0, 0, 2, ' ', 0)
	for _, d := range done {
		fmt.Fprintf(table, "%s\t%d found\t%d copied\t%d existed", d.What, d.Found, d.Copied, d.Found-d.Copied)
		if d.Ended > 0 {
			fmt.Fprintf(table, "\t%d ended", d.Ended)
		}
		fmt.Fprintln(table)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err = fmt.Fprintln(in.Stdout, "Everything was copied and the source was not changed. Do not run both.")
	return err
}

// parseMigrateFlags parses the command's own flags and returns the other arguments.
func parseMigrateFlags(args []string) (how migrate.Plan, rest []string, err error) {
	for len(args) > 0 {
		name, value, assigned := strings.Cut(args[0], "=")
		switch {
		case name == "--replace" && !assigned:
			how.Replace = true
		case name != "--to":
			rest = append(rest, args[0])
		case assigned:
			how.To = value
		case len(args) > 1:
			how.To, args = args[1], args[1:]
		}
		args = args[1:]
	}
	if how.To == "" {
		return how, nil, fault.Missing("--to", "nats, local")
	}
	return how, rest, nil
}

// counting returns a function that shows the progress of a migration, nil without a terminal.
func counting(w io.Writer) func(what string, done, total int) {
	if !isTerminal(w) {
		return nil
	}
	return func(what string, done, total int) {
		if done < total {
			fmt.Fprintf(w, clearLine+"%s: %d of %d", what, done, total)
			return
		}
		fmt.Fprint(w, clearLine) // finished
	}
}
