package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/shopspring/decimal"

	"candela/cmd/candela/cli"

	"candela/internal/app"
	"candela/internal/work/strategies"
	"candela/lib/fault"
)

// runStrategies lists, shows and changes strategies that run by themselves.
func runStrategies() cli.Runner {
	acts := strategies.Acts()
	subs := append(make([]cli.Subcommand, 0, 3+len(acts)), cli.Sub("list", listStrategies), cli.Sub("show", showStrategy), cli.Sub("drift", strategyDrift))
	for _, act := range acts {
		subs = append(subs, cli.Sub(act, actOnStrategy(act)))
	}
	return cli.OneOf("strategies", subs...)
}

func listStrategies(ctx context.Context, in cli.Call) error {
	args, asJSON := cli.CutJSON(in.Args)
	in.Args = args
	cfg, err := in.Flags("strategies list", "flags only")
	if err != nil {
		return err
	}
	all, err := app.Commands(cfg, in.Stderr).ListStrategies(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		return cli.PrintJSON(in.Stdout, all)
	}
	if len(all) == 0 {
		_, err := fmt.Fprintln(in.Stdout, "No strategy is proposed or runs.")
		return err
	}
	table := cli.Table(in.Stdout)
	fmt.Fprintln(table, "ID\tNAME\tSTATE\tSYMBOL\tINTERVAL\tHOLDS\tNET\tTRADES\tWANTED")
	for i := range all {
		v := &all[i]
		holds, net, trades := "", "", ""
		if m := v.Model; m != nil {
			holds, net, trades = strings.TrimSpace(m.Side+" "+positive(m.Quantity.String())), m.Net.StringFixed(2), strconv.Itoa(m.Trades)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%d\n", v.ID, fault.Clean(v.Name, 60), stateText(v), v.Symbol, v.Interval, holds, net, trades, v.Intents)
	}
	return table.Flush()
}

// positive returns a quantity, "" for none.
func positive(quantity string) string {
	if quantity == "0" {
		return ""
	}
	return quantity
}

// stateText says where a strategy stands.
func stateText(v *strategies.View) string {
	text := v.State
	if v.Stage != "" {
		text += ", " + v.Stage
	}
	if v.Cause != "" {
		text += " (" + strings.ReplaceAll(v.Cause, "_", " ") + ")"
	}
	return text
}

func showStrategy(ctx context.Context, in cli.Call) error {
	id, rest := cli.CutWord(in.Args)
	if id == "" {
		return fault.Missing("strategies show ID", "an ID or a name that candela strategies list shows")
	}
	cfg, err := in.Config(rest)
	if err != nil {
		return err
	}
	one, err := app.Commands(cfg, in.Stderr).ShowStrategy(ctx, id)
	if err != nil {
		return err
	}
	return cli.PrintJSON(in.Stdout, one)
}

// strategyDrift shows where the difference between the model of a strategy and its account comes from.
func strategyDrift(ctx context.Context, in cli.Call) error {
	args, asJSON := cli.CutJSON(in.Args)
	id, rest := cli.CutWord(args)
	if id == "" {
		return fault.Missing("strategies drift ID", "an ID or a name that candela strategies list shows")
	}
	cfg, err := in.Config(rest)
	if err != nil {
		return err
	}
	is, err := app.Commands(cfg, in.Stderr).StrategyDrift(ctx, id)
	if err != nil {
		return err
	}
	if asJSON {
		return cli.PrintJSON(in.Stdout, is)
	}
	table := tabwriter.NewWriter(cli.Fit(in.Stdout), 0, 0, 2, ' ', tabwriter.AlignRight)
	row := func(what, cause string, amount decimal.Decimal) {
		fmt.Fprintf(table, "%s\t%s\t%s\t\n", what, strings.ReplaceAll(cause, "_", " "), amount.StringFixed(2))
	}
	row("model", is.Currency, is.Model)
	if is.Account != nil {
		for _, s := range is.Steps {
			row(s.Name, s.Cause, s.Amount)
		}
		row("account", is.Currency, *is.Account)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, line := range is.Notes() {
		if _, err := fmt.Fprintln(in.Stdout, line); err != nil {
			return err
		}
	}
	return nil
}

// actOnStrategy returns the command that changes a strategy.
func actOnStrategy(act string) cli.Runner {
	return func(ctx context.Context, in cli.Call) error {
		how, rest, err := howOf(in.Args)
		if err != nil {
			return err
		}
		id, rest := cli.CutWord(rest)
		if id == "" {
			return fault.Missing("strategies "+act+" ID", "an ID or a name that candela strategies list shows")
		}
		cfg, err := in.Config(rest)
		if err != nil {
			return err
		}
		v, err := app.Commands(cfg, in.Stderr).ActOnStrategy(ctx, act, id, how)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(in.Stdout, "Strategy %s (%s) is %s.\n", v.ID, fault.Clean(v.Name, 60), stateText(&v))
		return err
	}
}

// howOf takes the flags that say how a strategy changes out of the arguments.
func howOf(args []string) (how strategies.How, rest []string, err error) {
	stage, most, loss, accept, keep := strategies.StageShadow, "", "", "", false
	rest, err = cli.CutFlags(args, map[string]*bool{"--close": &how.Close, "--keep": &keep}, []cli.Flag{
		cli.TextFlag("--stage", &stage, "shadow, paper or live"), cli.TextFlag("--cap", &most, "the most that it may hold, such as 500"),
		cli.TextFlag("--max-loss", &loss, "the most that it may lose, such as 50"), cli.TextFlag("--accept", &accept, "gates of a promotion, such as few_trades"),
	})
	switch {
	case err != nil:
	case how.Close && keep:
		err = fault.Field("--close", "--close and --keep", "one of them")
	default:
		if how.Limits, err = strategies.LimitsOf(most, loss); err != nil {
			f := fault.Of(err)
			err = fault.Field("--"+strings.ReplaceAll(f.Field, "_", "-"), f.Value, f.Allowed)
		}
	}
	how.Stage = stage
	if accept != "" {
		how.Accept = strings.Split(accept, ",")
	}
	return how, rest, err
}
