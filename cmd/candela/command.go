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
	"candela/lib/fault"
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
	help    string // what the summary does not say: flags, effects and examples
	run     runner
}

// runner runs a command.
type runner func(context.Context, invocation) error

// allCommands lists the commands in the order of --help.
func allCommands() []command {
	return []command{
		{"Use", "", "", "", "", runMode},
		{"Use", "demo", "[--output FILE]", "Take a one-minute tour with sample prices", demoHelp, showDemo},
		{"Use", "version", "", "Print the version and build details", "", printVersion},
		{"Use", "script", "COMMAND", "Check Pine scripts, and list, add or remove stored ones", scriptHelp, oneOf("script", subcommand{"check", checkScript}, subcommand{"list", listScripts}, subcommand{"add", addScript}, subcommand{"remove", removeScript})},
		{"Research", "backtest", "SYMBOL INTERVAL [flags]", "Run rules or a Pine strategy over past bars", backtestHelp, backtest},
		{"Research", "test-alert", "SYMBOL INTERVAL [flags]", "Show when an alert would have fired, and what followed", testAlertHelp, testAlert},
		{"Research", "scan", "INTERVAL [flags]", "List the symbols that meet a condition", scanHelp, scanMarket},
		{"Trade", "status", "[flags]", "Show trading state, open orders, positions and alerts", statusHelp, status},
		{"Trade", "alerts", "COMMAND", "List, show, cancel and resume alerts", alertsHelp, alerts()},
		{"Trade", "console", "[flags]", "Open the owner's console in a browser", consoleHelp, openConsole},
		{"Trade", "approvals", "[flags]", "List the orders that need your approval", approvalsHelp, approvals},
		{"Trade", "approve", "ID [flags]", "Send an order that needs your approval", approveHelp, approve},
		{"Trade", "refuse", "ID [flags]", "Refuse an order that needs your approval", refuseHelp, refuse},
		{"Trade", "halt", "[REASON] [flags]", "Stop trading and cancel open orders", haltHelp, halt},
		{"Trade", "resume", "[flags]", "Resume trading and accept the venue's positions", resumeHelp, resume},
		{"Trade", "policy", "COMMAND", "Check the order policy, or put a changed one in force", policyHelp, oneOf("policy", subcommand{"check", checkPolicy}, subcommand{"apply", applyPolicy})},
		{"Operate", "doctor", "[flags]", "Check the installation and suggest fixes", doctorHelp, examine},
		{"Operate", "audit", "COMMAND", "Show and verify the audit log", auditHelp, audit()},
		{"Operate", "owners", "COMMAND", "List, suspend, export and erase the owners of a server for many", ownersHelp, manageOwners()},
		{"Operate", "plans", "check", "Check the plans of owners and print their limits", plansHelp, oneOf("plans", subcommand{"check", checkPlans})},
		{"Operate", "backup", "FOLDER", "Back up the state directory; works while the server runs", backupHelp, backUp},
		{"Operate", "restore", "FOLDER", "Restore the state directory from a backup", restoreHelp, restore},
		{"Operate", "migrate", "--to nats|local", "Copy state to NATS servers or back", migrateHelp, migrateState},
		{"Set up", "install", "CLIENT [flags]", "Add candela to a client", installHelp(), changeClient("install", false)},
		{"Set up", "uninstall", "CLIENT", "Remove candela from a client", installHelp(), changeClient("uninstall", true)},
		{"Set up", "config", "[flags]", "Show the effective configuration and the source of each value", configHelp, printConfig},
		{"Set up", "auth", "COMMAND", "Manage the owner's passphrase and approved clients", authHelp, auth()},
		{"Set up", "notify", "test", "Send a test alert to every receiver of alerts", notifyHelp, oneOf("notify", subcommand{"test", testSinks})},
	}
}

// config loads the configuration that arguments and the environment describe, to look at it
// rather than to start a server.
func (in invocation) config(args []string) (*config.Config, error) {
	return app.LoadConfig(config.Input{Args: args, Environ: in.environ, Inspect: true})
}

// flags loads the configuration for a command that takes flags only, which allowed says.
func (in invocation) flags(command, allowed string) (*config.Config, error) {
	if word, _ := cutWord(in.args); word != "" {
		return nil, fault.Field(command, word, allowed)
	}
	return in.config(in.args)
}

// cutWord returns the first argument that is neither a flag nor the value of one, "" if there
// is none, and the others. A command with flags of its own cuts them first.
func cutWord(args []string) (word string, rest []string) {
	i := config.FirstWord(app.Parts(), args)
	if i < 0 {
		return "", args
	}
	return args[i], slices.Concat(args[:i], args[i+1:])
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
	for _, c := range allCommands() {
		if c.name == name {
			return c.run(ctx, invocation{args, environ, deps})
		}
	}
	return unknownCommand(name)
}

func unknownCommand(name string) error {
	var names []string
	for _, c := range allCommands() {
		if c.name != "" {
			names = append(names, c.name)
		}
	}
	return fault.Field("command", name, strings.Join(names, ", "), fault.Nearest(name, names)...)
}

// subcommand is a command that is named after another one.
type subcommand struct {
	name string
	run  runner
}

// oneOf runs the subcommand that the first argument names.
func oneOf(of string, all ...subcommand) runner {
	return func(ctx context.Context, in invocation) error {
		name := ""
		if len(in.args) > 0 {
			name, in.args = in.args[0], in.args[1:]
		}
		names := make([]string, len(all))
		for i, c := range all {
			if names[i] = c.name; c.name == name {
				return c.run(ctx, in)
			}
		}
		if name == "" {
			return fault.Missing(of+" COMMAND", strings.Join(names, ", "))
		}
		return fault.Field(of+" COMMAND", name, strings.Join(names, ", "), fault.Nearest(name, names)...)
	}
}

func runMode(ctx context.Context, in invocation) error {
	cfg, err := app.LoadConfig(config.Input{Args: in.args, Environ: in.environ})
	if err != nil {
		return err
	}
	return app.Run(ctx, cfg, in.Deps)
}

func printConfig(_ context.Context, in invocation) error {
	cfg, err := in.config(in.args)
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

// testSinks sends a test alert to the receivers of alerts.
func testSinks(ctx context.Context, in invocation) error {
	cfg, err := in.config(in.args)
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
		said := a.Text
		if !a.Sent {
			said, failed = "not sent: "+said, failed+1
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

func printVersion(_ context.Context, in invocation) error {
	if len(in.args) > 0 {
		return fault.Field("version", strings.Join(in.args, " "), "no arguments")
	}
	_, err := fmt.Fprintln(in.Stdout, "candela", in.Version)
	return err
}

// valueFlag is a flag of a command's own that has a value.
type valueFlag struct {
	name string
	set  func(value string) error
}

// textFlag is a flag whose value must not be empty.
func textFlag(name string, to *string, allowed string) valueFlag {
	return valueFlag{name, func(value string) error {
		if *to = value; value == "" {
			return fault.Missing(name, allowed)
		}
		return nil
	}}
}

// cutFlags sets the flags of a command's own and returns the other arguments. A value stands
// behind its flag, after = or as the next argument, which then is no flag.
func cutFlags(args []string, switches map[string]*bool, values []valueFlag) (rest []string, err error) {
	for len(args) > 0 && err == nil {
		arg := args[0]
		args = args[1:]
		name, value, assigned := strings.Cut(arg, "=")
		i := slices.IndexFunc(values, func(f valueFlag) bool { return f.name == name })
		switch on := switches[arg]; {
		case on != nil:
			*on = true
		case i < 0:
			rest = append(rest, arg)
		default:
			if !assigned && len(args) > 0 && !strings.HasPrefix(args[0], "--") {
				value, args = args[0], args[1:]
			}
			err = values[i].set(value)
		}
	}
	return rest, err
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
