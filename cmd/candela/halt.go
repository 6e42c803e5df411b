package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"candela/cmd/candela/cli"

	"candela/internal/app"
	"candela/internal/kit/principal"
	"candela/internal/kit/retry"
	"candela/internal/operate/commands"
	"candela/internal/operate/control"
	"candela/lib/fault"
)

// halt stops trading. The arguments that are no flags are the reason.
func halt(ctx context.Context, in cli.Call) error {
	all := slices.Contains(in.Args, "--all")
	in.Args = slices.DeleteFunc(slices.Clone(in.Args), func(arg string) bool { return arg == "--all" })
	owner, rest, err := ownerFlag(in.Args)
	if err != nil {
		return err
	}
	var words []string
	for {
		word, others := cli.CutWord(rest)
		if rest = others; word == "" {
			break
		}
		words = append(words, word)
	}
	cfg, err := in.Config(rest)
	if err != nil {
		return err
	}
	reason, to := strings.Join(words, " "), app.Commands(cfg, in.Stderr)
	if owner != "" {
		state, err := to.HaltOwner(ctx, owner, reason, all)
		return printState(in, state, err)
	}
	var before map[string]int
	if !cfg.Shared() {
		before = openOrders(ctx, to)
	}
	stop := to.Halt
	if all {
		stop = to.HaltAll
	}
	state, err := stop(ctx, reason)
	if err := printState(in, state, err); err != nil || cfg.Shared() {
		return err
	}
	return printOpen(ctx, in, to, before, all)
}

// ownerFlag takes --owner ID out of the arguments.
func ownerFlag(args []string) (owner principal.Owner, rest []string, err error) {
	for i := 0; i < len(args); i++ {
		value, joined := strings.CutPrefix(args[i], "--owner=")
		switch {
		case joined:
		case args[i] != "--owner":
			rest = append(rest, args[i])
			continue
		case i+1 < len(args):
			i++
			value = args[i]
		}
		if owner = principal.Owner(value); value == "" || strings.HasPrefix(value, "-") {
			return "", nil, fault.Field("owner", value, "the id of an owner, as candela owners list shows it")
		}
	}
	return owner, rest, nil
}

// openOrders returns the number of open orders per account, those of a group as one. It is empty when unknown: a halt
// does not wait for it.
func openOrders(ctx context.Context, to *commands.Set) map[string]int {
	open := make(map[string]int)
	if s, err := to.ReadStatus(ctx); err == nil {
		for _, a := range s.Accounts {
			open[a.Account] = a.Groups + a.Single
		}
	}
	return open
}

// cancelWait bounds how long a halt waits for its cancels.
const cancelWait = 3 * time.Second

// printOpen prints how many orders a halt cancelled and how many are still open. A halt for all
// keeps none that protects a position.
func printOpen(ctx context.Context, in cli.Call, to *commands.Set, before map[string]int, all bool) error {
	began := time.Now()
	for {
		s, err := to.ReadStatus(ctx)
		if err != nil {
			fmt.Fprintf(in.Stdout, "Open orders are unknown: %v\n", err)
			return nil
		}
		open := 0
		for i := range s.Accounts {
			a := &s.Accounts[i]
			if all {
				a.Protect, a.Alone = 0, 0
			}
			open += a.Groups + a.Single - a.Protect
		}
		if open > 0 && s.Running && time.Since(began) < cancelWait {
			if err := retry.Sleep(ctx, 100*time.Millisecond); err != nil {
				return err
			}
			continue
		}
		for _, a := range s.Accounts {
			if n := before[a.Account] - a.Groups - a.Single; n > 0 {
				fmt.Fprintf(in.Stdout, "%s: %s cancelled.\n", a.Account, cli.Count(n, "order"))
			}
			printLeft(in.Stdout, a, s.Running)
			printWithoutStop(in.Stdout, a)
			printLiquidations(in.Stdout, a)
		}
		return nil
	}
}

// printWithoutStop prints what no stop protects while trading is halted.
func printWithoutStop(w io.Writer, a control.AccountStatus) {
	for _, p := range a.Positions {
		if p.WithoutStop != "" {
			fmt.Fprintf(w, "%s: %s of %s has no stop.\n", a.Account, p.WithoutStop, p.Symbol)
		}
	}
}

// printLiquidations prints where the positions in perpetual futures are liquidated: a halt does not close them.
func printLiquidations(w io.Writer, a control.AccountStatus) {
	for _, p := range a.Positions {
		if p.Stake != nil {
			text := p.Stake.LiquidationText(decimal.Decimal.String, decimal.Decimal.String)
			fmt.Fprintf(w, "%s: %s %s %s, %s.\n", a.Account, p.Symbol, p.Side, p.Quantity, strings.Join(append([]string{text}, p.Plan...), "; "))
		}
	}
}

func printLeft(w io.Writer, a control.AccountStatus, running bool) {
	if a.Account == control.Untraded {
		return
	}
	if a.Open == 0 {
		fmt.Fprintf(w, "%s: no order is open.\n", a.Account)
		return
	}
	if n := a.Protect; n > 0 {
		fmt.Fprintf(w, "%s: %s %s open to protect %s.\n", a.Account, protectText(a), cli.Choose(n, "stays", "stay"), cli.Choose(len(a.Positions), "a position", "positions"))
	}
	printHeld(w, a, running)
	switch n := a.Groups + a.Single - a.Protect; {
	case n == 0:
	case running:
		fmt.Fprintf(w, "%s: %s still open: not yet cancelled by the venue, or placed outside candela.\n", a.Account, cli.Count(n, "order"))
	default:
		fmt.Fprintf(w, "%s: %s still open; the next start with --trade cancels the ones candela placed.\n", a.Account, cli.Count(n, "order"))
	}
}

// protectText formats the groups and orders that protect positions.
func protectText(a control.AccountStatus) string {
	switch a.Alone {
	case 0:
		return cli.Count(a.Protect, "group")
	case a.Protect:
		return cli.Count(a.Alone, "order")
	default:
		return fmt.Sprintf("%s and %s", cli.Count(a.Protect-a.Alone, "group"), cli.Count(a.Alone, "order"))
	}
}

// resume lifts the restrictions that the owner can lift.
func resume(ctx context.Context, in cli.Call) error {
	owner, rest, err := ownerFlag(in.Args)
	if err != nil {
		return err
	}
	in.Args = rest
	cfg, err := in.Flags("resume", "flags only")
	if err != nil {
		return err
	}
	if owner != "" {
		state, err := app.Commands(cfg, in.Stderr).ResumeOwner(ctx, owner)
		return printState(in, state, err)
	}
	state, err := app.Commands(cfg, in.Stderr).Resume(ctx)
	return printState(in, state, err)
}

func printState(in cli.Call, s control.TradingState, err error) error {
	if err != nil {
		return err
	}
	if s.Why != "" {
		s.Why = ": " + s.Why
	}
	_, err = fmt.Fprintf(in.Stdout, "Trading is %s%s (%s).\n", s.Level, s.Why, s.Where)
	return err
}
