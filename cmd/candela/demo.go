package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"candela/cmd/candela/cli"

	"candela/internal/app"
	"candela/internal/operate/demo"
	"candela/internal/operate/install"
	"candela/lib/fault"
)

// mostArguments is how much is shown of the arguments of a call; a script is longer.
const mostArguments = 150

func showDemo(ctx context.Context, in cli.Call) error {
	output := "candela-demo.png"
	switch args := in.Args; {
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
		Call: func(tool, arguments string) {
			if len(arguments) > mostArguments {
				arguments = arguments[:mostArguments] + "..."
			}
			fmt.Fprintf(in.Stdout, "    %s %s\n", tool, arguments)
		},
	}
	if cli.Terminal(in.Stderr) {
		clearLine = func() { fmt.Fprint(in.Stderr, "\r\x1b[K") }
		tour.Waiting = func(since time.Duration) {
			fmt.Fprintf(in.Stderr, "\rwaiting for the alert: %d s", int(since.Seconds()))
		}
	}
	fmt.Fprint(in.Stdout, "Everything happens on this machine, with sample prices and play money.\n\n")
	err := app.Demo(ctx, in.Deps, tour)
	clearLine()
	if errors.Is(err, context.Canceled) {
		return errors.New("the tour was interrupted; nothing is left of it")
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(in.Stdout, `
That took %[1]v and left only %[2]s. Next:

    %[3]s install claude-code --trade
        add it to a client: %[4]s
    %[3]s --symbol BTCUSDT --interval 1h --output btc.png
        draw a chart of a real market
    %[3]s --serve --trade
        run a server for several or remote clients, with your console at http://localhost:9315/console
    %[3]s doctor
        find out why something does not work

Restart the client, then ask your agent:

    Draw BTCUSDT on the 4-hour chart with RSI and MACD.
    Wake me when the hourly RSI is below 30.
    Buy 0.1 on paper, with a stop 2 %% below and a target 5 %% above.
    How would this Pine script have done since January?
`, time.Since(began).Round(time.Second), output, install.CommandName(), strings.Join(install.Names(), ", "))
	return err
}
