package main

import (
	"context"
	"fmt"
	"text/tabwriter"

	"candela/internal/app"
	"candela/internal/config"
)

// notify sends a test alert to the receivers of alerts.
func notify(ctx context.Context, in invocation) error {
	if len(in.args) == 0 || in.args[0] != "test" {
		return noSuchCommand("notify", in.args, "test")
	}
	cfg, err := app.LoadConfig(config.Input{Args: in.args[1:], Environ: in.environ, Inspect: true})
	if err != nil {
		return err
	}
	answers, err := app.TestSinks(ctx, cfg)
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(in.Stdout, 0, 0, 2, ' ', 0)
	failed := 0
	for _, a := range answers {
		said := a.Status
		if a.Err != nil {
			said, failed = "not sent: "+a.Err.Error(), failed+1
		}
		fmt.Fprintf(table, "%s\t%s\t%s\n", a.Name, a.Host, said)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d receivers did not accept the test message", failed, len(answers))
	}
	return nil
}
