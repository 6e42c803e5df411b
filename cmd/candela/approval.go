package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"candela/cmd/candela/cli"

	"candela/internal/app"
	"candela/internal/operate/control"
	"candela/lib/fault"
)

// approvals lists the orders that wait for the owner.
func approvals(ctx context.Context, in cli.Call) error {
	args, asJSON := cli.CutJSON(in.Args)
	in.Args = args
	cfg, err := in.Flags("approvals", "flags only")
	if err != nil {
		return err
	}
	all, err := app.Commands(cfg, in.Stderr).Approvals(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		return cli.PrintJSON(in.Stdout, all)
	}
	if len(all) == 0 {
		_, err := fmt.Fprintln(in.Stdout, "No order needs approval.")
		return err
	}
	table := cli.Table(in.Stdout)
	fmt.Fprintln(table, "ORDER\tMODE\tWHAT\tVALUE\tUNTIL\tCLIENT (ITS OWN NAME)")
	for _, p := range all {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%q\n", p.ID, p.Mode, describe(p), p.Value, p.Expires.UTC().Format(time.DateTime+" MST"), p.Client)
	}
	return table.Flush()
}

// describe says in a line what an order would do.
func describe(p control.Pending) string {
	words := []string{p.Side, p.Quantity, p.Symbol, p.Type}
	for _, part := range []struct{ name, value string }{
		{"at", p.Price},
		{"from", p.StopPrice},
		{"stop", p.StopLoss},
		{"trail %", p.Trail},
		{"target", p.TakeProfit},
		{"price then", p.AskedPrice},
	} {
		if part.value != "" {
			words = append(words, part.name, part.value)
		}
	}
	if p.Stake != nil {
		words = append(words, "with", p.Stake.Text(decimal.Decimal.String, decimal.Decimal.String))
	}
	return strings.Join(words, " ")
}

// approve sends an order that waits for the owner.
func approve(ctx context.Context, in cli.Call) error {
	id, rest := cli.CutWord(in.Args)
	if id == "" {
		return fault.Missing("approve ID", "the ID of an order that candela approvals lists")
	}
	cfg, err := in.Config(rest)
	if err != nil {
		return err
	}
	d, err := app.Commands(cfg, in.Stderr).Approve(ctx, id)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(in.Stdout, "Order %s was approved and is %s.\n", d.ID, d.Status)
	return err
}

// refuse ends an order that waits for the owner.
func refuse(ctx context.Context, in cli.Call) error {
	reason := ""
	rest, err := cli.CutFlags(in.Args, nil, []cli.Flag{cli.TextFlag("--reason", &reason, "what the client reads")})
	if err != nil {
		return err
	}
	id, rest := cli.CutWord(rest)
	if id == "" {
		return fault.Missing("refuse ID", "the ID of an order that candela approvals lists")
	}
	cfg, err := in.Config(rest)
	if err != nil {
		return err
	}
	d, err := app.Commands(cfg, in.Stderr).Refuse(ctx, id, reason)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(in.Stdout, "Order %s was refused; nothing was sent.\n", d.ID)
	return err
}
