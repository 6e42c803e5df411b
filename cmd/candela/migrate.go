package main

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"

	"candela/internal/app"
	"candela/internal/kit/fault"
	"candela/internal/operate/migrate"
)

// migrateState copies the state to NATS servers or back.
func migrateState(ctx context.Context, in invocation) error {
	how := migrate.Plan{}
	rest, err := cutFlags(in.args, map[string]*bool{"--replace": &how.Replace}, []valueFlag{textFlag("--to", &how.To, "nats, local")})
	if err == nil && how.To == "" {
		err = fault.Missing("--to", "nats, local")
	}
	if err != nil {
		return err
	}
	cfg, err := in.config(rest)
	if err != nil {
		return err
	}
	how.Progress, how.Log = counting(in.Stderr), cfg.Log.CommandLogger(in.Stderr)
	how.Store = app.StoreAt(cfg.Home)
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
