package main

import (
	"context"
	"fmt"
	"io"

	"candela/internal/app"
	"candela/internal/config"
	"candela/internal/kit/fault"
	"candela/internal/operate/control"
)

// status tells how trading stands, and changes nothing of it.
func status(ctx context.Context, in invocation) error {
	args, asJSON := cutJSON(in.args)
	cfg, err := app.LoadConfig(config.Input{Args: args, Environ: in.environ, Inspect: true})
	if err != nil {
		return err
	}
	s, err := app.ReadStatus(ctx, cfg.Home)
	if err == nil && cfg.NATS.URL != "" && !s.Running {
		return statusElsewhere(cfg)
	}
	if err != nil {
		return err
	}
	if asJSON {
		return printJSON(in.Stdout, s)
	}
	return tellStatus(in.Stdout, cfg.Home, s)
}

// statusElsewhere says where to look when NATS servers keep the state and no replica
// runs here: what a state directory has is another, older one.
func statusElsewhere(cfg *config.Config) error {
	return &fault.Error{
		Kind: fault.Unavailable, Code: "status_elsewhere", Field: "nats-url",
		Message: fmt.Sprintf("no replica runs in state directory %s, and with --nats-url the servers keep the state: ask beside a replica, or read candela_trading_state of its /metrics", cfg.Home),
	}
}

func tellStatus(w io.Writer, home string, s control.Status) error {
	if s.Running {
		fmt.Fprintf(w, "A program trades in %s.\n", home)
	} else {
		fmt.Fprintf(w, "No program trades in %s; this is what it keeps.\n", home)
	}
	switch {
	case len(s.Accounts) > 0:
	case s.Running:
		fmt.Fprintln(w, "It has no account to tell of: it is still starting, or no replica trades.")
	default:
		fmt.Fprintln(w, "No account has traded here.")
	}
	for _, a := range s.Accounts {
		fmt.Fprintf(w, "%s: trading is %s", a.Account, a.Level)
		if a.Why != "" {
			fmt.Fprintf(w, ": %s", a.Why)
		}
		fmt.Fprintf(w, ".\n  %s open", count(a.Open, "order"))
		if a.Uncertain > 0 {
			fmt.Fprintf(w, ", of which %d uncertain", a.Uncertain)
		}
		fmt.Fprintln(w)
		for _, p := range a.Positions {
			fmt.Fprintf(w, "  %s %s %s at %s", p.Symbol, p.Side, p.Quantity, p.Entry)
			if p.Current != "" {
				fmt.Fprintf(w, ", now %s, unrealized %s", p.Current, p.Unrealized)
			}
			fmt.Fprintln(w)
		}
	}
	_, err := fmt.Fprintf(w, "%s waiting.\n", count(s.Alerts, "alert"))
	for _, l := range s.Limits {
		if l.Refused > 0 {
			_, err = fmt.Fprintf(w, "The limit of %.0f %s per %s was reached %s; see limits.md.\n", l.Limit, l.Name, l.Scope, count(int(min(l.Refused, 1<<53)), "time"))
		}
	}
	return err
}

// count writes a number of things.
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
