package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"candela/internal/app"
	"candela/internal/kit/fault"
	"candela/internal/operate/demo"
	"candela/internal/operate/install"
)

// showDemo shows what candela does, without a network and without an account.
func showDemo(ctx context.Context, in invocation) error {
	output := "candela-demo.png"
	switch args := in.args; {
	case len(args) == 0:
	case len(args) == 1 && strings.HasPrefix(args[0], "--output="):
		output = strings.TrimPrefix(args[0], "--output=")
	case len(args) == 2 && args[0] == "--output":
		output = args[1]
	default:
		return fault.Field("demo", strings.Join(args, " "), "--output FILE, where the chart is saved")
	}
	if output == "" {
		return fault.Missing("--output", "where the chart is saved")
	}
	began := time.Now()
	clearLine := func() {}
	tour := demo.Tour{
		Output: output, Wait: time.Minute,
		Say: func(format string, args ...any) {
			clearLine()
			fmt.Fprintf(in.Stdout, format+"\n", args...)
		},
		Call: func(tool, arguments string) { fmt.Fprintf(in.Stdout, "    %s %s\n", tool, arguments) },
	}
	if isTerminal(in.Stderr) {
		clearLine = func() { fmt.Fprint(in.Stderr, "\r\x1b[K") }
		tour.Waiting = func(since time.Duration) {
			fmt.Fprintf(in.Stderr, "\rwaiting for the alert: %d s", int(since.Seconds()))
		}
	}
	fmt.Fprint(in.Stdout, "Everything here happens on this machine: the prices are made up, the money is play money.\n\n")
	err := app.Demo(ctx, in.Deps, tour)
	clearLine()
	if errors.Is(err, context.Canceled) {
		return errors.New("the demonstration was broken off; nothing is left of it")
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(in.Stdout, `
That took %[1]v, and nothing is left of it but %[2]s. What to try next:

    %[3]s install claude-code --trade
        put it into a client: %[4]s
    %[3]s --symbol BTCUSDT --interval 1h --output btc.png
        a chart of a real market
    %[3]s --serve --trade
        a server for several clients, or for some elsewhere: docs/clients.md
    %[3]s doctor
        when something does not work
`, time.Since(began).Round(time.Second), output, install.CommandName(), strings.Join(install.Names(), ", "))
	return err
}
