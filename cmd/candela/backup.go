package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"candela/internal/app"
	"candela/internal/config"
	"candela/internal/kit/fault"
	"candela/internal/operate/backup"
	"candela/internal/store/ledger"
)

// backUp copies the state directory.
func backUp(ctx context.Context, in invocation) error {
	folder, cfg, err := folderArgument(in, "backup", "a folder to make, such as candela-2026-01-02")
	if err != nil {
		return err
	}
	done, err := backup.Make(ctx, cfg.Home, folder, progress(in.Stderr))
	if err != nil {
		return err
	}
	if err := tellCopied(in.Stdout, done); err != nil {
		return err
	}
	if _, err = fmt.Fprintf(in.Stdout, "%s is a backup of %s\n", folder, cfg.Home); err != nil || cfg.NATS.URL == "" {
		return err
	}
	_, err = fmt.Fprintf(in.Stdout, "Alerts, notifications, orders and subscriptions are kept by the NATS servers and are not in it: "+
		"copy their streams %[1]s_ALERTS, %[1]s_STATE and %[1]s_ORDERS with nats stream backup\n", cfg.NATS.Prefix)
	return err
}

// restore puts a backup back.
func restore(ctx context.Context, in invocation) error {
	folder, cfg, err := folderArgument(in, "restore", "a folder that candela backup has made")
	if err != nil {
		return err
	}
	done, err := backup.Restore(ctx, folder, cfg.Home, time.Now(), progress(in.Stderr))
	if err != nil {
		return err
	}
	if err := tellCopied(in.Stdout, done); err != nil {
		return err
	}
	if done.Beside != "" {
		fmt.Fprintf(in.Stdout, "what they replace is in %s\n", done.Beside)
	}
	if _, err = fmt.Fprintf(in.Stdout, "%s is restored from %s\n", cfg.Home, folder); err != nil || cfg.NATS.URL == "" || done.Store == nil {
		return err
	}
	_, err = fmt.Fprintf(in.Stdout, "Replicas do not read %s: candela migrate --to nats copies what is in it to the NATS servers\n", ledger.FileName)
	return err
}

// folderArgument takes the folder off the arguments and reads the others as flags.
func folderArgument(in invocation, command, allowed string) (string, *config.Config, error) {
	if len(in.args) == 0 || in.args[0] == "" || strings.HasPrefix(in.args[0], "-") {
		return "", nil, fault.Missing(command+" FOLDER", allowed)
	}
	cfg, err := app.LoadConfig(config.Input{Args: in.args[1:], Environ: in.environ, Inspect: true})
	return in.args[0], cfg, err
}

// tellCopied lists what was copied.
func tellCopied(w io.Writer, done backup.Copied) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, name := range done.Files {
		fmt.Fprintf(table, "%s\tcopied\n", name)
	}
	if r := done.Store; r != nil {
		fmt.Fprintf(table, "%s\tcopied, %d bytes; %d events, unbroken", ledger.FileName, done.Bytes, r.Events)
		if r.Events > 0 {
			fmt.Fprintf(table, "; %d:%s is the last", r.Last, r.Hash)
		}
		fmt.Fprintln(table)
	} else {
		fmt.Fprintf(table, "%s\tthere is none: the first start with --trade makes it\n", ledger.FileName)
	}
	return table.Flush()
}

// progress returns a function that says on a terminal how far a copy is, nil where
// nobody watches.
func progress(w io.Writer) func(done, total int64) {
	if !isTerminal(w) {
		return nil
	}
	return func(done, total int64) {
		if done < total {
			fmt.Fprintf(w, "\rcopying %d MB: %d %%", total>>20, 100*done/total)
			return
		}
		fmt.Fprint(w, clearLine) // the line has served
	}
}

// clearLine empties the line that the cursor is in. Spaces, because not every console
// of Windows understands an escape sequence.
const clearLine = "\r                                        \r"

// isTerminal reports whether a stream is a device of characters. The null device
// is one too, to which nothing that is written matters.
func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
