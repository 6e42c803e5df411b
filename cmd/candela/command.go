package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"candela/internal/app"
	"candela/internal/config"
	"candela/internal/kit/fault"
)

// invocation is one call of a command.
type invocation struct {
	args    []string // after the command's name
	environ []string
	app.Deps
}

// command is a value of the first argument. The one without a name runs when there is none.
type command struct {
	group   string // its heading in --help
	name    string
	args    string
	summary string
	run     func(context.Context, invocation) error
}

// commands lists the commands in the order of --help.
func commands() []command {
	return []command{
		{"Use", "", "", "", runMode},
		{"Use", "demo", "[--output FILE]", "Take a one-minute tour with sample prices", showDemo},
		{"Use", "version", "", "Print the version and build details", printVersion},
		{"Trade", "status", "[flags]", "Show trading state, open orders, positions and alerts", status},
		{"Trade", "halt", "[REASON] [flags]", "Stop trading and cancel open orders", halt},
		{"Trade", "resume", "[flags]", "Resume trading and accept the venue's positions", resume},
		{"Trade", "policy", "check [FILE]", "Check the order policy and explain its rules", policy},
		{"Operate", "doctor", "[flags]", "Check the installation and suggest fixes", examine},
		{"Operate", "audit", "COMMAND", "Show and verify the audit log", audit},
		{"Operate", "backup", "FOLDER", "Back up the state directory; works while the server runs", backUp},
		{"Operate", "restore", "FOLDER", "Restore the state directory from a backup", restore},
		{"Operate", "migrate", "--to nats|local", "Copy state to NATS servers or back", migrateState},
		{"Set up", "install", "CLIENT [flags]", "Add candela to a client", installClient},
		{"Set up", "uninstall", "CLIENT", "Remove candela from a client", uninstallClient},
		{"Set up", "config", "[flags]", "Show the effective configuration and the source of each value", printConfig},
		{"Set up", "auth", "COMMAND", "Manage the owner's passphrase and approved clients", auth},
		{"Set up", "notify", "test", "Send a test alert to the webhook and ntfy topic", notify},
	}
}

// dispatch runs the command. --help and --version take precedence over everything else, so
// that they work beside a mistake.
func dispatch(ctx context.Context, args, environ []string, deps app.Deps) error {
	name := ""
	if len(args) > 0 && args[0] != "" && !strings.HasPrefix(args[0], "-") {
		name, args = args[0], args[1:]
	}
	if name == "help" {
		name, args = strings.Join(args, " "), []string{"--help"}
	}
	if slices.Contains(args, "--help") || slices.Contains(args, "-h") {
		return printHelp(deps.Stdout, name)
	}
	if slices.Contains(args, "--version") {
		name, args = "version", nil
	}
	for _, c := range commands() {
		if c.name == name {
			return c.run(ctx, invocation{args, environ, deps})
		}
	}
	return unknownCommand(name)
}

func unknownCommand(name string) error {
	var names []string
	for _, c := range commands() {
		if c.name != "" {
			names = append(names, c.name)
		}
	}
	return fault.Field("command", name, strings.Join(names, ", "), fault.Nearest(name, names)...)
}

// noSuchCommand is the error for a missing or unknown subcommand.
func noSuchCommand(of string, args []string, names ...string) error {
	all := strings.Join(names, ", ")
	if len(args) == 0 || args[0] == "" {
		return fault.Missing(of+" COMMAND", all)
	}
	return fault.Field(of+" COMMAND", args[0], all, fault.Nearest(args[0], names)...)
}

func runMode(ctx context.Context, in invocation) error {
	cfg, err := app.LoadConfig(config.Input{Args: in.args, Environ: in.environ})
	if err != nil {
		return err
	}
	return app.Run(ctx, cfg, in.Deps)
}

func printConfig(_ context.Context, in invocation) error {
	cfg, err := app.LoadConfig(config.Input{Args: in.args, Environ: in.environ, Inspect: true})
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(in.Stdout, 0, 0, 2, ' ', 0)
	for _, line := range cfg.Effective() {
		value := strconv.Quote(line.Value)
		if line.Boolean {
			value = line.Value
		}
		fmt.Fprintf(table, "%s\t%s\t%s\n", line.Name, value, line.Origin)
	}
	return table.Flush()
}

func printVersion(_ context.Context, in invocation) error {
	if len(in.args) > 0 {
		return fault.Field("version", strings.Join(in.args, " "), "no arguments")
	}
	_, err := fmt.Fprintln(in.Stdout, "candela", in.Version)
	return err
}

// cutJSON removes --json from the arguments and reports whether it was there.
func cutJSON(args []string) (rest []string, asJSON bool) {
	i := slices.Index(args, "--json")
	if i < 0 {
		return args, false
	}
	return slices.Delete(slices.Clone(args), i, i+1), true
}

// printJSON prints indented JSON.
func printJSON(w io.Writer, value any) error {
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	out.SetEscapeHTML(false)
	return out.Encode(value)
}
