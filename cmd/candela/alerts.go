package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"candela/cmd/candela/cli"

	"candela/internal/app"
	"candela/internal/config"
	"candela/internal/kit/principal"
	"candela/internal/operate/control"
	"candela/lib/fault"
)

// alerts lists, shows, cancels and resumes alerts.
func alerts() cli.Runner {
	return cli.OneOf("alerts", cli.Sub("list", alertCommand("", listAlerts)), cli.Sub("show", alertCommand("ID", showAlert)),
		cli.Sub("cancel", alertCommand("ID", cancelAlert)), cli.Sub("resume", alertCommand("ID", resumeAlert)))
}

// alertFlags are the flags and the word of the commands about alerts.
type alertFlags struct {
	json  bool
	owner principal.Owner
	id    string
}

// alertCommand parses the flags for a command about alerts. needs is "" for one without an ID.
func alertCommand(needs string, run func(context.Context, cli.Call, *config.Config, alertFlags) error) cli.Runner {
	return func(ctx context.Context, in cli.Call) error {
		var f alertFlags
		rest, err := cli.CutFlags(in.Args, map[string]*bool{"--json": &f.json}, nil)
		if err == nil {
			f.owner, rest, err = ownerFlag(rest)
		}
		if err != nil {
			return err
		}
		f.id, rest = cli.CutWord(rest)
		if word, _ := cli.CutWord(rest); word != "" || needs == "" && f.id != "" {
			return fault.Field("alerts", word+f.id, "flags only, and an ID where the command takes one")
		}
		if needs != "" && f.id == "" {
			return fault.Missing(needs, "an ID that candela alerts list shows")
		}
		cfg, err := in.Config(rest)
		if err != nil {
			return err
		}
		return run(ctx, in, cfg, f)
	}
}

func listAlerts(ctx context.Context, in cli.Call, cfg *config.Config, f alertFlags) error {
	all, err := app.Commands(cfg, in.Stderr).ListAlerts(ctx, f.owner)
	if err != nil {
		return err
	}
	if f.json {
		return cli.PrintJSON(in.Stdout, all)
	}
	if len(all) == 0 {
		_, err := fmt.Fprintln(in.Stdout, "No alert waits.")
		return err
	}
	table := cli.Table(in.Stdout)
	fmt.Fprintln(table, "ID\tSTATE\tSET\tCONDITION")
	for i := range all {
		a := &all[i]
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", a.ID, a.State, a.Created.UTC().Format(time.DateTime), fault.Clean(a.Describe, 200))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	return printIdle(in.Stdout, all)
}

// printIdle prints why alerts are not evaluated.
func printIdle(w io.Writer, all []control.Alert) error {
	for i := range all {
		if a := &all[i]; a.Reason != "" {
			if _, err := fmt.Fprintf(w, "%s is %s: %s\n", a.ID, strings.ReplaceAll(a.State, "_", " "), fault.Clean(a.Reason, 1000)); err != nil {
				return err
			}
		}
	}
	return nil
}

func showAlert(ctx context.Context, in cli.Call, cfg *config.Config, f alertFlags) error {
	all, err := app.Commands(cfg, in.Stderr).ListAlerts(ctx, f.owner)
	if err != nil {
		return err
	}
	for i := range all {
		if all[i].ID == f.id {
			return cli.PrintJSON(in.Stdout, all[i])
		}
	}
	return &fault.Error{
		Kind: fault.NotFound, Code: "alert_not_found", Field: "ID", Value: f.id,
		Message: "no alert with this ID waits: it fired, expired, was cancelled or never existed; candela alerts list shows those that wait",
	}
}

func cancelAlert(ctx context.Context, in cli.Call, cfg *config.Config, f alertFlags) error {
	c, err := app.Commands(cfg, in.Stderr).CancelAlert(ctx, f.owner, f.id)
	return printAlertChange(in, f.id, "cancelled", c, err)
}

func resumeAlert(ctx context.Context, in cli.Call, cfg *config.Config, f alertFlags) error {
	c, err := app.Commands(cfg, in.Stderr).ResumeAlert(ctx, f.owner, f.id)
	return printAlertChange(in, f.id, "resumed", c, err)
}

func printAlertChange(in cli.Call, id, done string, c control.AlertChange, err error) error {
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(in.Stdout, "Alert %s is %s (%s).\n", id, done, c.Where)
	return err
}
