package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"candela/cmd/candela/cli"
	"candela/cmd/candela/people"
	"candela/cmd/candela/records"
	"candela/cmd/candela/research"
	"candela/cmd/candela/rules"

	"candela/internal/app"
	"candela/internal/config"
	"candela/lib/fault"
)

// command is a value of the first argument. The one without a name runs when there is none.
type command struct {
	group   string // its heading in --help
	name    string
	args    string
	summary string
	help    string // what the summary does not say: flags, effects and examples
	run     cli.Runner
}

// allCommands lists the commands in the order of --help.
func allCommands() []command {
	return []command{
		{"Use", "", "", "", "", runMode},
		{"Use", "demo", "[--output FILE]", "Take a one-minute tour with sample prices", demoHelp, showDemo},
		{"Use", "version", "[--check]", "Print the version and build details", versionHelp, printVersion},
		{"Use", "script", "COMMAND", "Check Pine scripts, and list, add or remove stored ones", scriptHelp, research.Script()},
		{"Research", "backtest", "SYMBOL INTERVAL [flags]", "Run rules or a Pine strategy over past bars", backtestHelp, research.Backtest},
		{"Research", "test-alert", "SYMBOL INTERVAL [flags]", "Show when an alert would have fired, and what followed", testAlertHelp, research.TestAlert},
		{"Research", "scan", "INTERVAL [flags]", "List the symbols that meet a condition", scanHelp, research.Scan},
		{"Trade", "status", "[flags]", "Show trading state, open orders, positions and alerts", statusHelp, status},
		{"Trade", "alerts", "COMMAND", "List, show, cancel and resume alerts", alertsHelp, alerts()},
		{"Trade", "strategies", "COMMAND", "List, start, pause and stop strategies that run by themselves", strategiesHelp, runStrategies()},
		{"Trade", "trades", "[flags]", "List what each exit, stop or target earned", tradesHelp, records.Trades},
		{"Trade", "console", "[flags]", "Open the owner's console in a browser", consoleHelp, openConsole},
		{"Trade", "approvals", "[flags]", "List the orders that need your approval", approvalsHelp, approvals},
		{"Trade", "approve", "ID [flags]", "Send an order that needs your approval", approveHelp, approve},
		{"Trade", "refuse", "ID [flags]", "Refuse an order that needs your approval", refuseHelp, refuse},
		{"Trade", "halt", "[REASON] [flags]", "Stop trading and cancel open orders", haltHelp, halt},
		{"Trade", "resume", "[flags]", "Resume trading and accept the venue's positions", resumeHelp, resume},
		{"Trade", "policy", "COMMAND", "Check the order policy, or put a changed one in force", policyHelp, rules.Policy()},
		{"Operate", "doctor", "[flags]", "Check the installation, or rehearse a venue", doctorHelp, examine},
		{"Operate", "audit", "COMMAND", "Show and verify the audit log", auditHelp, records.Audit()},
		{"Operate", "receipt", "ORDER_ID|COMMAND", "Make a receipt of an order, verify one, show or rotate the key", receiptHelp, records.Receipt()},
		{"Operate", "owners", "COMMAND", "List, suspend, export and erase the owners of a server for many", ownersHelp, people.Owners()},
		{"Operate", "plans", "COMMAND", "Check the plans of owners, or put changed ones in force", plansHelp, people.Plans()},
		{"Operate", "backup", "FOLDER", "Back up the state directory; works while the server runs", backupHelp, backUp},
		{"Operate", "restore", "FOLDER", "Restore the state directory from a backup", restoreHelp, restore},
		{"Operate", "migrate", "--to nats|local", "Copy state to NATS servers or back", migrateHelp, migrateState},
		{"Set up", "install", "CLIENT [flags]", "Add candela to a client", installHelp(), changeClient("install", false)},
		{"Set up", "uninstall", "CLIENT", "Remove candela from a client", installHelp(), changeClient("uninstall", true)},
		{"Set up", "config", "[flags]", "Show the effective configuration and the source of each value", configHelp, printConfig},
		{"Set up", "auth", "COMMAND", "Manage the owner's passphrase and approved clients", authHelp, auth()},
		{"Set up", "notify", "test", "Send a test alert to every receiver of alerts", notifyHelp, cli.OneOf("notify", cli.Sub("test", testSinks))},
	}
}

// commandOf returns the command that arguments name, "" for none.
func commandOf(args []string) string {
	for _, c := range allCommands() {
		if len(args) > 0 && c.name == args[0] {
			return c.name
		}
	}
	return ""
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
			return c.run(ctx, cli.Call{Args: args, Environ: environ, Deps: deps})
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

func runMode(ctx context.Context, in cli.Call) error {
	cfg, err := app.LoadConfig(config.Input{Args: in.Args, Environ: in.Environ})
	if err != nil {
		return err
	}
	deps := in.Deps
	if !cfg.LowPriority {
		deps.MakeRoom, deps.Apart = nil, nil
	}
	return app.Run(ctx, cfg, deps)
}

func printConfig(_ context.Context, in cli.Call) error {
	cfg, err := in.Config(in.Args)
	if err != nil {
		return err
	}
	table := cli.Table(in.Stdout)
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
func testSinks(ctx context.Context, in cli.Call) error {
	cfg, err := in.Config(in.Args)
	if err != nil {
		return err
	}
	answers, err := app.TestSinks(ctx, cfg)
	if err != nil {
		return err
	}
	table := cli.Table(in.Stdout)
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
