package main

import (
	"context"
	"fmt"
	"io"

	"candela/cmd/candela/cli"

	"candela/internal/app"
	"candela/internal/config"
	"candela/internal/operate/doctor"
	"candela/lib/fault"
)

// examine checks an installation, with the flags of its server.
func examine(ctx context.Context, in cli.Call) error {
	args, asJSON := cli.CutJSON(in.Args)
	r, args, err := cutRehearsal(args)
	if err != nil {
		return err
	}
	if r.venue != "" {
		in.Args, r.asJSON = args, asJSON
		return rehearseVenue(ctx, in, r)
	}
	all := []doctor.Finding{}
	clearLine := func() {}
	options := doctor.Options{Report: func(f doctor.Finding) {
		clearLine()
		all = append(all, f)
		if !asJSON {
			printFinding(in.Stdout, f)
		}
	}}
	if cli.Terminal(in.Stderr) {
		clearLine = func() { fmt.Fprint(in.Stderr, "\r\x1b[K") }
		options.Waiting = func(what string) { fmt.Fprintf(in.Stderr, "\r%s", what) }
	}
	app.RunDoctor(ctx, config.Input{Args: args, Environ: in.Environ}, in.Deps, options)
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("doctor interrupted: %w", err)
	}
	counts := make(map[doctor.Status]int)
	for _, f := range all {
		counts[f.Status]++
	}
	if asJSON {
		if err := cli.PrintJSON(in.Stdout, struct {
			OK       bool             `json:"ok"`
			Findings []doctor.Finding `json:"findings"`
		}{counts[doctor.Problem] == 0, all}); err != nil {
			return err
		}
	}
	if n := counts[doctor.Problem]; n > 0 {
		return &fault.Error{Kind: fault.Conflict, Code: "problems_found", Message: fmt.Sprintf("%d of %d checks found a problem", n, len(all))}
	}
	if !asJSON {
		_, err := fmt.Fprintf(in.Stdout, "\n%d checks, no problem, %d to look at.\n", len(all), counts[doctor.Warning])
		return err
	}
	return nil
}

// printFinding prints a finding and its fix. They may contain names that clients chose.
func printFinding(w io.Writer, f doctor.Finding) {
	fmt.Fprintf(w, "%-8s %-16s %s\n", f.Status, f.Check, cli.Plain(f.What))
	if f.Fix != "" {
		fmt.Fprintf(w, "%-8s %-16s do: %s\n", "", "", cli.Plain(f.Fix))
	}
}
