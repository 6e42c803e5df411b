package main

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"candela/cmd/candela/cli"

	"candela/internal/app"
	"candela/internal/config"
	"candela/internal/kit/principal"
	"candela/internal/operate/backup"
	"candela/internal/operate/migrate"
	"candela/internal/store/statedir"
	"candela/lib/fault"
)

func backUp(ctx context.Context, in cli.Call) error {
	folder, cfg, err := folderArgument(in, "backup", "a new folder, such as candela-2026-01-02")
	if err != nil {
		return err
	}
	if !cfg.Shared() && statedir.IsReplica(cfg.Home) {
		return fault.New(fault.Conflict, "replica_backup", "a replica ran in state directory %s last, and the NATS servers keep its alerts, orders and owners, so nothing was copied. "+
			"Run candela backup with --nats-url as the replica had it: it copies the files and the streams of the servers.", cfg.Home).
			About("nats-url", "", "the addresses of the NATS servers")
	}
	done, err := backup.Make(ctx, cfg.Home, folder, progress(in.Stderr), app.CopyStreams(cfg, in.Stderr))
	if err != nil {
		return err
	}
	if err := printCopied(in.Stdout, done); err != nil {
		return err
	}
	if _, err = fmt.Fprintf(in.Stdout, "%s is a backup of %s\n", folder, cfg.Home); err != nil || !cfg.Shared() {
		return err
	}
	_, err = fmt.Fprintln(in.Stdout, "Its streams are sealed: keep the cluster secret elsewhere, without which nobody can read them. Logins are not in it.")
	return err
}

func restore(ctx context.Context, in cli.Call) error {
	folder, cfg, err := folderArgument(in, "restore", "a folder created by candela backup")
	if err != nil {
		return err
	}
	if backup.HasStreams(folder) && !cfg.Shared() {
		return fault.New(fault.Conflict, "replica_backup", "%s is a backup of replicas. Run candela restore with the --nats-url of servers without this installation, and with its --cluster-secret-file.", folder).
			About("nats-url", "", "the addresses of the NATS servers")
	}
	erased, err := backup.Erased(cfg.Home)
	if err != nil {
		return err
	}
	var why string
	var again []principal.Owner
	done, err := backup.Restore(ctx, folder, cfg.Home, time.Now(), progress(in.Stderr), func(dir string) (err error) {
		why, again, err = app.MarkRestored(ctx, dir, erased, time.Now())
		return err
	})
	if err != nil {
		return err
	}
	if backup.HasStreams(folder) {
		if done.Streams, why, again, err = app.RestoreStreams(ctx, cfg, folder, erased, in.Stderr); err != nil {
			return err
		}
	}
	if err := printCopied(in.Stdout, done); err != nil {
		return err
	}
	if done.Beside != "" {
		fmt.Fprintf(in.Stdout, "the replaced files are in %s\n", done.Beside)
	}
	for _, id := range again {
		fmt.Fprintf(in.Stdout, "owner %s, who was erased since, is erased again\n", id)
	}
	if _, err = fmt.Fprintf(in.Stdout, "%s is restored from %s\n", cfg.Home, folder); err != nil || done.Store == nil && len(done.Streams) == 0 {
		return err
	}
	_, err = fmt.Fprintf(in.Stdout, "Trading is HALTED on every account: %s. Start candela, then run candela resume.\n", why)
	if err != nil || !cfg.Shared() || done.Store == nil {
		return err
	}
	_, err = fmt.Fprintf(in.Stdout, "Replicas do not read %s. Copy it to the NATS servers with candela migrate --to nats.\n", backup.StoreName)
	return err
}

// folderArgument reads the folder and the flags.
func folderArgument(in cli.Call, command, allowed string) (string, *config.Config, error) {
	folder, args := cli.CutWord(in.Args)
	if folder == "" {
		return "", nil, fault.Missing(command+" FOLDER", allowed)
	}
	cfg, err := in.Config(args)
	return folder, cfg, err
}

func printCopied(w io.Writer, done backup.Copied) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, name := range done.Files {
		fmt.Fprintf(table, "%s\tcopied\n", name)
	}
	for _, name := range done.Streams {
		fmt.Fprintf(table, "%s\tcopied\n", name)
	}
	if r := done.Store; r != nil {
		fmt.Fprintf(table, "%s\tcopied, %d bytes; %d events, unbroken", backup.StoreName, done.Bytes, r.Events)
		if r.Events > 0 {
			fmt.Fprintf(table, "; %d:%s is the last", r.Last, r.Hash)
		}
		fmt.Fprintln(table)
	} else if len(done.Streams) == 0 {
		fmt.Fprintf(table, "%s\tdoes not exist; the first start with --trade creates it\n", backup.StoreName)
	}
	return table.Flush()
}

// progress returns a function that shows the progress of a copy, nil without a terminal.
func progress(w io.Writer) func(done, total int64) {
	if !cli.Terminal(w) {
		return nil
	}
	return func(done, total int64) {
		if done < total {
			fmt.Fprintf(w, "\rcopying %d MB: %d %%", total>>20, 100*done/total)
			return
		}
		fmt.Fprint(w, clearLine) // finished
	}
}

// clearLine clears the current line. It uses spaces, because not every Windows console
// supports escape sequences.
const clearLine = "\r                                        \r"

// migrateState copies the state to NATS servers or back.
func migrateState(ctx context.Context, in cli.Call) error {
	how := migrate.Plan{}
	rest, err := cli.CutFlags(in.Args, map[string]*bool{"--replace": &how.Replace}, []cli.Flag{cli.TextFlag("--to", &how.To, "nats, local")})
	if err == nil && how.To == "" {
		err = fault.Missing("--to", "nats, local")
	}
	if err != nil {
		return err
	}
	cfg, err := in.Config(rest)
	if err != nil {
		return err
	}
	how.Store = app.StoreAt(cfg.Home)
	how.Progress, how.Log = counting(in.Stderr), cfg.Log.CommandLogger(in.Stderr)
	done, err := migrate.Run(ctx, cfg, how)
	if err != nil {
		return err
	}
	if how.To == "local" {
		if err := statedir.MarkReplica(cfg.Home, false); err != nil {
			return err
		}
	}
	table, all := cli.Table(in.Stdout), "Everything"
	for _, d := range done {
		fmt.Fprintf(table, "%s\t%d found\t%d copied\t%d existed", d.What, d.Found, d.Copied, d.Found-d.Copied-d.Unreadable)
		if d.Unreadable > 0 {
			all = "Everything else"
			fmt.Fprintf(table, "\t%d not copied because they cannot be read; the log names them", d.Unreadable)
		}
		if d.Ended > 0 {
			fmt.Fprintf(table, "\t%d ended", d.Ended)
		}
		fmt.Fprintln(table)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err = fmt.Fprintln(in.Stdout, all+" was copied and the source was not changed. Do not run both.")
	return err
}

// counting returns a function that shows the progress of a migration, nil without a terminal.
func counting(w io.Writer) func(what string, done, total int) {
	if !cli.Terminal(w) {
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
