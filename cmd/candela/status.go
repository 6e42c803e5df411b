package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/shopspring/decimal"

	"candela/cmd/candela/cli"

	"candela/internal/app"
	"candela/internal/config"
	"candela/internal/operate/control"
	"candela/internal/trading/guard"
	"candela/lib/fault"
)

// status prints the trading state.
func status(ctx context.Context, in cli.Call) error {
	args, asJSON := cli.CutJSON(in.Args)
	cfg, err := in.Config(args)
	if err != nil {
		return err
	}
	s, err := app.Commands(cfg, in.Stderr).ReadStatus(ctx)
	if err == nil && cfg.Shared() && !s.Running {
		return statusElsewhere(cfg)
	}
	if err != nil {
		return err
	}
	if !s.Running && s.Policy == nil {
		s.Policy = new(app.PolicyInFile(cfg))
	}
	if asJSON {
		return cli.PrintJSON(in.Stdout, s)
	}
	return printStatus(in.Stdout, cfg.Home, s, cli.PaintFor(in.Stdout, in.Environ))
}

// statusElsewhere is the error when NATS servers keep the state and no replica runs here:
// the state directory has another, older state.
func statusElsewhere(cfg *config.Config) error {
	return &fault.Error{
		Kind: fault.Unavailable, Code: "status_elsewhere", Field: "nats-url",
		Message: fmt.Sprintf("no replica runs in state directory %s, and with --nats-url the NATS servers keep the state. Run this command beside a replica, or read candela_trading_state in its /metrics.", cfg.Home),
	}
}

func printStatus(w io.Writer, home string, s control.Status, paint cli.Paint) error {
	if s.Running {
		fmt.Fprintf(w, "A server is trading in %s.\n", home)
	} else {
		fmt.Fprintf(w, "No server is trading in %s; this is the stored state.\n", home)
	}
	switch {
	case len(s.Accounts) > 0:
	case s.Running:
		fmt.Fprintln(w, "It has no account yet: it is starting, or no replica trades.")
	default:
		fmt.Fprintln(w, "No account has traded here.")
	}
	if s.Replica != "" {
		fmt.Fprintf(w, "The replica %s trades.\n", s.Replica)
	}
	for _, a := range s.Accounts {
		printAccount(w, a, s.Running, paint)
	}
	if n := s.HaltedOwners; n > 0 {
		fmt.Fprintf(w, "The operator has halted %s: %s%s (candela resume --owner ID).\n", cli.Count(n, "owner"), strings.Join(s.Halted, ", "), more(n-len(s.Halted)))
	}
	if s.Policy != nil {
		which, problem := s.Policy.Text()
		for _, line := range []string{which, problem} {
			if line != "" {
				fmt.Fprintln(w, line)
			}
		}
	}
	err := printAlerts(w, s)
	for _, r := range s.Receivers {
		if r.Problem != "" {
			_, err = fmt.Fprintf(w, "Alerts to %s fail: %s.\n", r.Name, strings.TrimSuffix(r.Problem, "."))
		}
	}
	for _, l := range s.Limits {
		if l.Refused > 0 {
			_, err = fmt.Fprintf(w, "The limit of %.0f %s per %s was reached %s; see limits.md.\n", l.Limit, l.Name, l.Scope, cli.Count(int(min(l.Refused, 1<<53)), "time"))
		}
	}
	return err
}

// printAccount prints the state of an account, its open orders and its positions.
func printAccount(w io.Writer, a control.AccountStatus, running bool, paint cli.Paint) {
	level := paint.Good
	if a.Level != guard.Active.String() {
		level = paint.Bad
	}
	fmt.Fprintf(w, "%s: trading is %s", a.Account, level(a.Level))
	if a.Why != "" {
		fmt.Fprintf(w, ": %s", a.Why)
	}
	fmt.Fprint(w, ".\n")
	printHeld(w, a, running)
	fmt.Fprintf(w, "  %s open", openText(a))
	if a.Uncertain > 0 {
		fmt.Fprintf(w, ", of which %d uncertain", a.Uncertain)
	}
	if a.Pending > 0 {
		fmt.Fprintf(w, "; %s for approval (candela approvals)", waits(a.Pending))
	}
	fmt.Fprintln(w)
	printPositions(w, a.Positions, paint)
}

// printPositions prints a table of positions, with the plan of each below it.
func printPositions(w io.Writer, all []control.PositionStatus, paint cli.Paint) {
	if len(all) == 0 {
		return
	}
	rows := [][]cli.Cell{make([]cli.Cell, 0, 7)}
	for i, name := range []string{"POSITION", "SIDE", "QUANTITY", "ENTRY", "NOW", "UNREALIZED", "WITHOUT A STOP"} {
		rows[0] = append(rows[0], cli.Cell{Text: name, Paint: paint.Dim, Right: i > 1})
	}
	for _, p := range all {
		result, color := money(p.Unrealized, paint)
		rows = append(rows, []cli.Cell{
			{Text: p.Symbol},
			{Text: p.Side},
			{Text: p.Quantity, Right: true},
			{Text: p.Entry, Right: true},
			{Text: cmp.Or(p.Current, "-"), Right: true},
			{Text: strings.TrimSpace(result + " " + p.Currency), Paint: color, Right: true},
			{Text: cmp.Or(p.WithoutStop, "none"), Paint: paint.Warn, Right: true},
		})
		if p.WithoutStop == "" {
			rows[len(rows)-1][6].Paint = paint.Dim
		}
	}
	lines := cli.Rows(rows)
	fmt.Fprintf(w, "  %s\n", lines[0])
	for i, p := range all {
		fmt.Fprintf(w, "  %s\n", lines[i+1])
		if p.Stake != nil {
			fmt.Fprintf(w, "    %s\n", p.Stake.Text(decimal.Decimal.String, decimal.Decimal.String))
		}
		for _, line := range p.Plan {
			fmt.Fprintf(w, "    %s\n", line)
		}
	}
}

// money writes a result with its sign and the digits of money, those of a small one with more, and returns its colour.
// --json has all digits.
func money(exact string, paint cli.Paint) (text string, color func(string) string) {
	d, err := decimal.NewFromString(exact)
	if err != nil {
		return "-", nil
	}
	places := int32(2)
	if d.Abs().LessThan(decimal.NewFromInt(1)) {
		places = 6
	}
	short := d.Round(places)
	if text = short.String(); places == 2 {
		text = d.StringFixed(2)
	}
	switch {
	case d.IsPositive():
		return "+" + text, paint.Good
	case d.IsNegative():
		return text, paint.Bad
	}
	return text, nil
}

// printAlerts prints how many alerts wait, and why some of them do not fire.
func printAlerts(w io.Writer, s control.Status) error {
	_, err := fmt.Fprintf(w, "%s waiting.\n", cli.Count(s.Alerts, "alert"))
	if n := s.NotEvaluated; n > 0 {
		_, err = fmt.Fprintf(w, "  nothing evaluates %d of them: %s not set up in this run; list_alerts says which\n", n, cli.Choose(n, "its venue is", "their venues are"))
	}
	if n := s.Starved; n > 0 {
		_, err = fmt.Fprintf(w, "  %d of them %s for memory of scripts; candela alerts list says which limit is reached\n", n, cli.Choose(n, "waits", "wait"))
	}
	if n := s.SetAside; n > 0 {
		_, err = fmt.Fprintf(w, "  %d of them %s set aside, because candela ended while it evaluated %s; candela alerts list shows %s\n", n, cli.Choose(n, "is", "are"), cli.Choose(n, "it", "them"), cli.Choose(n, "it", "them"))
	}
	if n := s.Broken; n > 0 {
		_, err = fmt.Fprintf(w, "  %d of them %s broken: this version cannot evaluate %s; candela alerts list says why\n", n, cli.Choose(n, "is", "are"), cli.Choose(n, "it", "them"))
	}
	if s.ScriptBars > 0 || s.ScriptsLate > 0 {
		_, err = fmt.Fprintf(w, "  %s for scripts; scripts were late %s%s\n", cli.Count(s.ScriptBars, "bar")+" "+cli.Choose(s.ScriptBars, "waits", "wait"),
			cli.Count(int(min(s.ScriptsLate, 1<<53)), "time"), skippedText(s.ScriptsSkipped))
	}
	return err
}

// skippedText says how many bars scripts did not see.
func skippedText(n uint64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", and %s they never saw", cli.Count(int(min(n, 1<<53)), "bar"))
}

// printHeld prints how many stops only candela watches.
func printHeld(w io.Writer, a control.AccountStatus, running bool) {
	switch {
	case a.Held == 0:
	case running:
		fmt.Fprintf(w, "  candela holds %s; %s only while candela runs\n", cli.Count(a.Held, "stop"), cli.Choose(a.Held, "it protects", "they protect"))
	default:
		fmt.Fprintf(w, "  candela holds %s, and nothing watches %s while it is stopped\n", cli.Count(a.Held, "stop"), cli.Choose(a.Held, "it", "them"))
	}
}

// openText formats the open orders, those of a group as one.
func openText(a control.AccountStatus) string {
	switch grouped := a.Open - a.Single; {
	case a.Groups == 0:
		return cli.Count(a.Open, "order")
	case a.Single == 0:
		return fmt.Sprintf("%s of %s", cli.Count(a.Groups, "group"), cli.Count(grouped, "order"))
	default:
		return fmt.Sprintf("%s of %s and %s", cli.Count(a.Groups, "group"), cli.Count(grouped, "order"), cli.Count(a.Single, "order"))
	}
}

// more formats how many others there are.
func more(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(" and %d more", n)
}

// waits formats how many orders wait.
func waits(n int) string {
	if n == 1 {
		return "1 waits"
	}
	return fmt.Sprintf("%d wait", n)
}
