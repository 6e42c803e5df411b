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
	"candela/internal/operate/install"
)

// invocation is one call of a command.
type invocation struct {
	args    []string // after the command's name
	environ []string
	app.Deps
}

// command is what the first argument may name. One without a name runs when
// there is none.
type command struct {
	name  string
	usage string
	doc   string
	run   func(context.Context, invocation) error
}

// commands lists them as --help does.
func commands() []command {
	return []command{
		{"", "[flags]", "run a mode, or draw one chart", runMode},
		{"demo", "demo [--output FILE]", "a tour on made-up prices, without network or account: tools, alert, paper order, chart", showDemo},
		{"install", "install CLIENT ...", "put candela into the configuration of " + strings.Join(install.Names(), ", ") + ", with [--url URL] [--name NAME] [--file FILE] [--dry-run] [--remove]; other flags go to candela", installClient},
		{"uninstall", "uninstall CLIENT", "take it out again", uninstallClient},
		{"doctor", "doctor [flags]", "check the configuration, and the server that runs with it as clients see it; what is wrong and what to do, with --json", examine},
		{"config", "config [flags]", "print the configuration in force and where each value comes from", printConfig},
		{"auth", "auth COMMAND", "hash-password, list, revoke ID or revoke-all, and approve: the owner's passphrase and clients", auth},
		{"audit", "audit COMMAND", "verify [--expect N:HASH] or list [--last N], with --json: what was done for whom, and whether that log was touched", audit},
		{"status", "status [flags]", "how trading stands: state, open orders, positions, alerts, with --json", status},
		{"halt", "halt [REASON] [flags]", "stop trading and cancel every open order, in the program that runs or for the next one", halt},
		{"resume", "resume [flags]", "trade again, and accept what differs from the venue", resume},
		{"backup", "backup FOLDER", "copy the state directory into a new folder, also while a server runs, and check the copy", backUp},
		{"restore", "restore FOLDER", "put a backup in the place of the state directory's files, which are kept beside", restore},
		{"migrate", "migrate --to WHERE", "nats or local: copy alerts, notifications, orders and subscriptions to the NATS servers of --nats-url, or back", migrateState},
		{"policy", "policy check [FILE]", "check the policy of orders and explain its rules", policy},
		{"notify", "notify test", "send a test message to the webhook and the ntfy topic that alerts go to", notify},
		{"version", "version", "print the version and how it was built", printVersion},
	}
}

// dispatch finds the command and runs it. --help and --version win over
// everything else on the line, so that they work beside a mistake.
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

// noSuchCommand reports what stands where a command should have one of its own.
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

// printConfig also serves as a check: a configuration with a problem ends it
// with the same messages and exit code as a start.
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

// details explains the flags that a command alone has.
func details(name string) string {
	switch name {
	case "install", "uninstall":
		return installFlags
	case "auth":
		return authCommands
	}
	return ""
}

// printHelp explains one command, or all with every setting.
func printHelp(w io.Writer, name string) error {
	for _, c := range commands() {
		if c.name == name && name != "" {
			_, err := fmt.Fprintf(w, "Usage:\n  candela %s\n\n%s.\n%s\nFlags that choose what it is about, such as --home, are those of the server; candela --help lists them all.\n", c.usage, c.doc, details(name))
			return err
		}
	}
	fmt.Fprint(w, "candela gives AI agents charts, indicators, alerts and trading over MCP.\n\nUsage:\n")
	for _, c := range commands() {
		fmt.Fprintf(w, "  candela %-22s%s\n", c.usage, c.doc)
	}
	fmt.Fprint(w, "\nA flag beats its variable, which beats candela.toml in the state directory, which beats the default.\n")
	if err := config.WriteHelp(w, app.Parts()); err != nil {
		return err
	}
	_, err := fmt.Fprint(w, "\nExit codes: 0 done, 1 failed, 2 wrong flags, variables or file.\n")
	return err
}

// cutJSON takes --json out of arguments, and tells whether it was there.
func cutJSON(args []string) (rest []string, asJSON bool) {
	i := slices.Index(args, "--json")
	if i < 0 {
		return args, false
	}
	return slices.Delete(slices.Clone(args), i, i+1), true
}

// printJSON writes what a program is to read and a person may.
func printJSON(w io.Writer, value any) error {
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	out.SetEscapeHTML(false)
	return out.Encode(value)
}
