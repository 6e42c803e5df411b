package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"candela/cmd/candela/cli"

	"candela/internal/app"
	"candela/internal/config"
	"candela/internal/operate/rehearse"
	"candela/lib/fault"
)

// rehearsal is what candela doctor --rehearse is asked for.
type rehearsal struct {
	venue, symbol, folder string
	asJSON                bool
}

// cutRehearsal returns what the flags ask for, and the flags of the server.
func cutRehearsal(args []string) (r rehearsal, rest []string, err error) {
	rest, err = cli.CutFlags(args, map[string]*bool{}, []cli.Flag{
		cli.TextFlag("--rehearse", &r.venue, "a venue that orders go to, such as binance"),
		cli.TextFlag("--symbol", &r.symbol, "a symbol of the venue, such as BTCUSDT"),
		cli.TextFlag("--folder", &r.folder, "the folder for the record"),
	})
	if err == nil && r.venue == "" && (r.symbol != "" || r.folder != "") {
		err = fault.Missing("--rehearse", "the venue, beside --symbol and --folder")
	}
	return r, rest, err
}

// rehearseVenue tries a venue out with a test account, prints the table and writes the record.
func rehearseVenue(ctx context.Context, in cli.Call, r rehearsal) error {
	clearLine := func() {}
	o := rehearse.Options{Symbol: r.symbol, Done: func(s rehearse.Step) {
		clearLine()
		if !r.asJSON {
			fmt.Fprintf(in.Stdout, "%-10s  %-33s %6d ms  %s\n", s.Verdict, s.Name, s.Millis, cli.Plain(s.Says))
		}
	}}
	if cli.Terminal(in.Stderr) {
		clearLine = func() { fmt.Fprint(in.Stderr, "\r\x1b[K") }
		o.Began = func(step string) { fmt.Fprintf(in.Stderr, "\r%s", step) }
	}
	res, err := app.Rehearse(ctx, config.Input{Args: in.Args, Environ: in.Environ}, in.Deps, r.venue, o)
	clearLine()
	if err != nil {
		return err
	}
	path, err := writeRecord(r.folder, res)
	if err != nil {
		return err
	}
	if r.asJSON {
		if err := cli.PrintJSON(in.Stdout, res); err != nil {
			return err
		}
	} else {
		printRehearsal(in.Stdout, res, path)
	}
	return judge(ctx, res)
}

// writeRecord writes what was found beside the others.
func writeRecord(folder string, res rehearse.Result) (string, error) {
	text, err := json.MarshalIndent(res, "", "  ")
	if err != nil {
		return "", err
	}
	path := filepath.Join(folder, "rehearsal-"+res.Venue+"-"+res.Began.Format("20060102T150405Z")+".json")
	return path, os.WriteFile(path, append(text, '\n'), 0o600)
}

func printRehearsal(w io.Writer, res rehearse.Result, path string) {
	for _, left := range res.Left {
		fmt.Fprintf(w, "left: %s\n", cli.Plain(left))
	}
	fmt.Fprintf(w, "\n%s on %s: %s sent, %d steps ok, %d differ, %d not proven.\n", res.Symbol, res.Network, cli.Count(res.Orders, "order"),
		res.Count(rehearse.OK), res.Count(rehearse.Differs), res.Count(rehearse.NotProven))
	fmt.Fprintf(w, "%s has the table, and the fields of the venue's answers without their values.\n", path)
}

// judge returns the error of a rehearsal that is no proof.
func judge(ctx context.Context, res rehearse.Result) error {
	switch n := res.Count(rehearse.Differs); {
	case len(res.Left) > 0:
		return fault.New(fault.Conflict, "rehearsal_left", "not everything was cleaned up: %s", strings.Join(res.Left, "; "))
	case ctx.Err() != nil:
		return fmt.Errorf("rehearsal interrupted; what it placed is gone: %w", ctx.Err())
	case n > 0:
		return fault.New(fault.Conflict, "rehearsal_differs", "%d steps differ from what candela expects: trade with no real money there", n)
	}
	return nil
}
