package main

import (
	"fmt"
	"io"
	"strings"

	"candela/internal/app"
	"candela/internal/config"
	"candela/internal/operate/install"
)

const exitCodes = "Exit codes: 0 success, 1 failure, 2 invalid arguments, flags, variables or configuration file.\n"

// printHelp explains one command, or lists all commands and settings.
func printHelp(w io.Writer, name string) error {
	for _, c := range allCommands() {
		if c.name == name && name != "" {
			return printCommandHelp(w, c)
		}
	}
	fmt.Fprint(w, "candela gives AI agents charts, indicators, alerts and trading over MCP.\n\nUsage:\n"+
		"  candela [flags]            Run a server (--mcp or --serve), or draw one chart\n"+
		"  candela COMMAND [flags]    Run a command; candela COMMAND --help explains it\n")
	group := ""
	for _, c := range allCommands() {
		if c.group != group {
			group = c.group
			fmt.Fprintf(w, "\n%s:\n", group)
		}
		if c.name != "" {
			fmt.Fprintf(w, "  %-10s %s\n", c.name, c.summary)
		}
	}
	fmt.Fprint(w, "\nPrecedence: flag, environment variable, candela.toml in the state directory, default.\n")
	if err := config.WriteHelp(w, app.Parts()); err != nil {
		return err
	}
	_, err := fmt.Fprint(w, "\n"+exitCodes)
	return err
}

func printCommandHelp(w io.Writer, c command) error {
	fmt.Fprintf(w, "%s.\n\nUsage:\n  candela %s %s\n\n", c.summary, c.name, c.args)
	if text := strings.TrimSpace(c.help); text != "" {
		fmt.Fprintf(w, "%s\n\n", text)
	}
	_, err := fmt.Fprint(w, exitCodes+"Flags that select the installation, such as --home, are those of the server: candela --help lists them.\n")
	return err
}

func installHelp() string {
	return `
Clients: ` + strings.Join(install.Names(), ", ") + `.

Without --url the client starts candela itself, as it is installed now. The rest of the
client's file stays as it is, and the previous file is kept beside it as a backup. A file
that candela cannot edit safely is not changed; the error names the place in it.

Flags:
  --url URL    connect the client to the server at this address: https, or http on this machine;
               /mcp is added if there is no path
  --name NAME  name of the server in the client, candela by default; two names make two servers
  --file FILE  edit this file, such as one of a project, instead of the client's own
  --dry-run    show the changes as a diff and write nothing
  --remove     remove candela from the client, as uninstall does

All other flags are passed to candela when the client starts it. They are checked now, and
paths are made absolute. The most useful one is --trade, for alerts and the paper account.
--toolsets market,account adds tools: find_symbols and get_account.

Examples:
  candela install claude-code --trade
  candela install claude-desktop --trade --toolsets market,account
  candela install goose --dry-run
  candela install cursor --url https://charts.example.com
  candela install vscode --file .vscode/mcp.json --crypto-venue kraken
  candela uninstall cursor
`
}

const (
	demoHelp = `
The tour calls the tools: it sets an alert, buys on paper with a stop and a target, draws a
chart, sells, and reads the event of the sale and what it earned. It uses sample prices and
needs neither a network nor an account.

Flags:
  --output FILE  where to save the chart; candela-demo.png by default

Example:
  candela demo --output tour.png
`
	versionHelp = `
Flags:
  --check         ask the repository which release is the newest; nothing is sent but the question,
                  and candela never asks by itself
  --from ADDRESS  of the repository, if it is another one
  --json          print JSON

Example:
  candela version --check
`
	doctorHelp = `
Checks the configuration, and the running server as its clients see it. Each problem comes
with a suggested fix. Pass the same flags as to the server. Exits with 1 if it finds a problem.

With --rehearse it trades at the venue instead, for about five minutes and with at most 30 small
orders, on a network without real money, and says of each step what it proved. It sells what it
bought, also after Ctrl-C, and exits with 1 if the venue differs. There is no switch for live.

Flags:
  --json             print the findings as JSON
  --rehearse VENUE   try the venue out with a test account: binance, alpaca
  --symbol SYMBOL    the symbol to rehearse with
  --folder FOLDER    where the record of a rehearsal is written, the current folder by default

Examples:
  candela doctor --serve --base-url https://charts.example.com
  candela doctor --rehearse binance --binance-key-file ~/keys/testnet
`
	configHelp = `
An invalid configuration fails with the same messages and exit code as a start.

Example:
  candela config --home /srv/candela
`
	authHelp = `
Commands:
  hash-password  read a passphrase from stdin and print its hash
  approve        print a passphrase that is valid once, for one minute, for the sign-in page
  list           list the approved clients, of many owners those of all
  revoke ID...   revoke clients
  revoke-all     revoke all clients

Flags:
  --owner ID     list: the clients of one of many owners; revoke: all of them, without an ID
  --json         list: print JSON

approve, list and revoke need a server that runs in the state directory. revoke-all also ends
logins that are stored there, or at --nats-url, while none runs.

Examples:
  candela auth hash-password < passphrase.txt
  candela auth revoke 6c24164585
`
	plansHelp = `
Commands:
  check    print the plans of plans.toml in the state directory, with --json as JSON; exit with 1 if the server would refuse the file
  reload   put the file in force at the running server, and at all replicas

Examples:
  candela plans check
  candela plans reload
`
	ownersHelp = `
Commands:
  list            list the owners, by their ids
  show ID...      show owners: plan, state, clients, alerts
  suspend ID...   end the logins of owners and refuse new ones; alerts stay
  resume ID...    let suspended owners sign in again
  plan ID... NAME set the plan of owners
  link ID         let another identity sign in as this owner
  export ID...    write everything that is stored of an owner into a folder, of several into one each
  erase ID...     remove everything of suspended owners; the audit log keeps a proof
  usage [ID...]   sum up calls and processor time of owners, from the files of this server
  adopt           give what the one owner has to a person, before the first start with --owners oidc

Flags:
  --json           list, show: print JSON; usage: print the lines of all hours; suspend, resume, plan, erase: a line for each
  --personal       list: print names and e-mail addresses
  --state STATE    list: active, suspended or erased; suspend, resume, plan, export, erase: those owners instead of IDs
  --plan NAME      the same: owners with this plan; default for those with no other
  --file FILE      suspend, resume, plan, export, erase: a file with an ID on each line, or - for the standard input
  --issuer URL     link, adopt: the identity provider
  --subject TEXT   link, adopt: the person's subject there
  --to FOLDER      export: a folder that does not exist yet
  --since DAY      usage: from this day on, in UTC
  --until DAY      usage: before this day
  --yes            erase, adopt, and whatever chooses by --state or --plan: do it; without the flag nothing is changed

With several IDs each is done, whatever becomes of the others; the errors name theirs, and the exit code is then 1.
All but usage and adopt need a server that runs in the state directory; adopt needs that none does.

Examples:
  candela owners list --state suspended
  candela owners export ID --to ann
  candela owners plan --plan trial default --yes
  candela owners suspend --file ids.txt
  candela owners usage --since 2026-11-01 --until 2026-12-01
`
	auditHelp = `
Commands:
  list    print the newest events
  verify  check that no event was changed or removed; exits with 1 if one was

Flags:
  --last N         list: number of events, 50 by default
  --expect N:HASH  verify: an event that must exist, as printed by an earlier verify
                   verify: or a checkpoint of an owner's chain, with --owner
  --owner ID       verify: also the chain of one of many owners; --expect is then of that chain
  --json           print JSON

With --nats-url they read the streams of the replicas, whether one runs or not: orders and trading states in ORDERS;
alerts, logins and owners in AUDIT.

Examples:
  candela audit list --last 10
  candela audit verify --json
`
	receiptHelp = `
Commands:
  ORDER_ID     print the receipt of an order and its group
  verify FILE  check a receipt; exits with 1 if it is refused
  key          print the public key that signs now; with --json all of them as a JWK set
  rotate       replace the key; needs that no server runs in the state directory

Flags:
  --out FILE   write the receipt to a new file
  --owner ID   the owner of the order, on a server for many
  --key FILE   verify: a public key or a JWK set from the owner
  --url BASE   verify: read the keys from the server that made the receipt
  --json       verify, key: print JSON

Without --key and --url, verify uses the keys of the state directory, or with --nats-url those of the replicas. docs/receipts.md says what a
receipt proves.

Examples:
  candela receipt ORDER_ID --out receipt.json
  candela receipt verify receipt.json --url https://candela.example.com
`
	statusHelp = `
Reads the running server, or what it stored when it is not running. Changes nothing.

Flags:
  --json  print the status as JSON

Example:
  candela status --json
`
	consoleHelp = `
Prints the address of the console of the program that runs in the state directory, and a
passphrase that is good once, for a minute. A program on stdio opens it on 127.0.0.1 when you
ask. Run the command again when a page asks for the passphrase.

Flags:
  --json  print both as JSON

Example:
  candela console
`
	approvalsHelp = `
Orders above approval_above of the policy wait for you and are not sent before your yes.

Flags:
  --json  print the orders as JSON

Example:
  candela approvals
`
	approveHelp = `
The rules are checked again at the current price. A market order is denied if the price has
moved by more than approval_drift_pct since you were asked. No tool can approve an order.

Example:
  candela approve 0197a3c2-5b1e-7c55-9a52-0c7f7f5f0a11
`
	refuseHelp = `
Flags:
  --reason TEXT  what the client reads

Example:
  candela refuse 0197a3c2-5b1e-7c55-9a52-0c7f7f5f0a11 --reason "too large"
`
	strategiesHelp = `
Commands:
  list        strategies that run, wait for you or have ended, with how their models stand
  show ID     one in JSON, with its terms and what it wanted at its newest bars
  drift ID    where the difference between its model and its account comes from
  start ID    run a strategy that was proposed
  decline ID  end a proposal
  pause ID    pause a strategy; its bars are still computed
  resume ID   let a paused one go on; what it wanted meanwhile does not count
  promote ID  let one on paper trade on the account of the broker; show ID has what it must show before
  stop ID     end a strategy for good

An agent proposes a strategy with the tool propose_deployment; nothing runs until you start
it. At the stage shadow it records the orders that it wants at each closed bar and sends
none; at the stage paper it trades on the paper account, at the stage live on the account of
the broker. These commands need a server that runs with --trade --strategies STAGE, the
highest that may run. ID may be the name of the strategy.

Flags:
  --stage STAGE  of start: shadow, the default, paper, or live at a test network
  --cap AMOUNT   of start and promote: the most that it may hold
  --max-loss AMOUNT
                 of start, resume and promote: it pauses when its account has lost that
  --accept NAMES of promote: gates that are not met and may be accepted, such as few_trades
  --close        of stop: sell what it holds; else that stays, with its stops
  --json         of list and drift: JSON
`
	alertsHelp = `
Commands:
  list       the alerts that wait, with those that nothing evaluates and why
  show ID    one alert in JSON
  cancel ID  remove an alert
  resume ID  evaluate an alert again that was set aside; bars that closed meanwhile
             do not count

Works with and without a running server. An alert is set aside when candela ended while it
evaluated the alert's script. One that is broken is of another version of candela, or its
script is not stored any more.

Flags:
  --owner ID  of many owners, this one
  --json      print JSON (list)

Examples:
  candela alerts list
  candela alerts cancel 0197a3c2-5b1e-7c55-9a52-0c7f7f5f0a11
`
	tradesHelp = `
Lists what orders took out of positions, newest first, and the sums after fees by currency.
Works with and without a running server, and changes nothing. Without one the currency is
what the name of the symbol spells. The newest 2,000 trades are kept.

Flags:
  --symbol SYMBOL  only this one, such as BTCUSDT
  --since TIME     closed from here on: a date or RFC 3339 time, UTC
  --until TIME     closed by then; a date includes its day
  --reason REASON  stop, target, exit, adjustment or outside
  --csv [FILE]     write a table to a file, without one to standard output
  --json           print JSON
  --owner ID       of many owners, this one

Examples:
  candela trades --since 2026-11-01 --reason stop
  candela trades --csv trades.csv
`
	haltHelp = `
Takes effect at once in a running server, and otherwise at the next start. Trading stays
halted until candela resume. Orders that protect a position, such as stops, are kept, and
so is what was placed outside candela. What has no stop is printed.

Flags:
  --all       cancel also the orders that protect positions
  --owner ID  of many owners, only this one; a server must run

Example:
  candela halt "unexpected news"
`
	resumeHelp = `
Lifts the restrictions that the owner can lift and accepts the differences between the
records and the venue.

Flags:
  --owner ID  of many owners, only this one; a server must run

Example:
  candela resume
`
	backupHelp = `
Creates the folder, copies the state directory into it and checks the copy.

Example:
  candela backup candela-2026-01-02
`
	restoreHelp = `
Replaces the files of the state directory and keeps the old ones beside it. No server may run.

Example:
  candela restore candela-2026-01-02
`
	migrateHelp = `
Copies alerts, notifications, orders and subscriptions. The source is not changed; never run
both afterwards. No server may run during the copy.

Flags:
  --to nats   copy from the state directory to the NATS servers of --nats-url
  --to local  copy from the NATS servers to the state directory
  --replace   replace what the target already has

Example:
  candela migrate --to nats --nats-url nats://127.0.0.1:4222
`
	scriptHelp = `
check reads FILE as Pine Script, converts it if it is older than version 5, and shows each
error with its line, its column, what to do and the line as it would be right. A script without errors is summarised: inputs, plots, alert
conditions and requests. Libraries that it imports are read from the folder of FILE:
import user/name/3 is user.name.3.pine.

list shows the stored scripts, add FILE stores one under the name of its file, add
--library USER/NAME/VERSION FILE stores a library that scripts import, and remove NAME
removes one. Stored scripts are indicators under --toolsets scripts. list --json prints JSON.

Examples:
  candela script check my_cross.pine
  candela script add my_cross.pine
  candela script add --library PineCoders/Time/4 Time.pine

Exit codes: 0 no errors, 1 errors.
`
	policyHelp = `
  check [FILE]  check and explain a policy; without FILE the one that a start would use.
                Says whether it is the policy in force. --json prints the policy as JSON.
  apply         check the file of the running program and put it in force, without a restart

Examples:
  candela policy check policy.toml
  candela policy apply
`
	notifyHelp = `
Exits with 1 if a receiver does not accept the message.

Example:
  candela notify test
`
)
