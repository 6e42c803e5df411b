// Package rules has the commands about the policy of orders.
package rules

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"candela/cmd/candela/cli"

	"candela/internal/alerting/alert"
	"candela/internal/operate/control"
	"candela/internal/store/statedir"
	"candela/internal/trading/guard"
	"candela/internal/trading/policy"
	"candela/lib/fault"
)

// Policy checks the order policy, and puts a changed one in force.
func Policy() cli.Runner {
	return cli.OneOf("policy", cli.Sub("check", checkPolicy), cli.Sub("apply", applyPolicy))
}

// checkPolicy checks and explains the policy in a file, or the one a start would use.
func checkPolicy(ctx context.Context, in cli.Call) error {
	given, asJSON := cli.CutJSON(in.Args)
	named, args := cli.CutWord(given)
	cfg, err := in.Config(args)
	if err != nil {
		return err
	}
	path := cmp.Or(named, cfg.Trading.Policy)
	p, found, err := policy.Read(path, alert.ReadClaim)
	if err == nil && !found && path != filepath.Join(cfg.Home, statedir.PolicyName) {
		err = &policy.Error{Path: path, Cause: fs.ErrNotExist}
	}
	if err != nil {
		return err
	}
	if asJSON {
		return cli.PrintJSON(in.Stdout, explained(path, found, p))
	}
	if found {
		fmt.Fprintf(in.Stdout, "%s is valid.\n", path)
	} else {
		fmt.Fprintf(in.Stdout, "%s does not exist; the defaults apply.\n", path)
	}
	if err := compareRunning(ctx, in.Stdout, cfg.Home, p); err != nil {
		return err
	}
	return explain(cli.Fit(in.Stdout), p)
}

// policyAnswer is a valid policy in JSON.
type policyAnswer struct {
	Path     string      `json:"path"`
	Exists   bool        `json:"exists"` // otherwise the defaults apply
	Rules    []limitLine `json:"rules"`
	Settings []limitLine `json:"settings"`
	Approval string      `json:"approval"`
	Live     string      `json:"live_refused,omitempty"` // why live trading is refused
}

type limitLine struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	Means string `json:"means"`
}

func explained(path string, found bool, p guard.Policy) policyAnswer {
	a := policyAnswer{Path: path, Exists: found, Approval: p.Approval.Explain()}
	for _, r := range guard.Rules(p) {
		a.Rules = append(a.Rules, limitLine{r.Name, r.Limit, unlinked(r.Denies)})
	}
	for _, s := range guard.Settings(p) {
		a.Settings = append(a.Settings, limitLine{s.Name, s.Value, unmarked(s.Means)})
	}
	if refused := p.Live(); refused != nil {
		a.Live = refused.Error()
	}
	return a
}

// compareRunning prints whether a policy is that of the program that runs in a state directory.
func compareRunning(ctx context.Context, w io.Writer, home string, p guard.Policy) error {
	s, reached, err := control.ReadStatus(ctx, home)
	if err != nil || !reached || s.Policy == nil {
		return nil //nolint:nilerr // what runs is unknown; the check of the file stands
	}
	sum, err := policy.Sum(p)
	if err != nil {
		return err
	}
	if sum == s.Policy.Fingerprint {
		_, err = fmt.Fprintf(w, "It is the policy in force (%s).\n", sum)
		return err
	}
	_, err = fmt.Fprintf(w, "It is not the policy in force: that is %s, read from %s at %s. candela policy apply puts %s in force.\n",
		s.Policy.Fingerprint, s.Policy.Path, s.Policy.Since.Format(time.RFC3339), s.Policy.Path)
	return err
}

// applyPolicy puts the policy of the file in force in the program that runs.
func applyPolicy(ctx context.Context, in cli.Call) error {
	cfg, err := in.Flags("policy apply", "flags only")
	if err != nil {
		return err
	}
	s, reached, err := control.ApplyPolicy(ctx, cfg.Home)
	if err != nil {
		return err
	}
	if !reached {
		return fault.New(fault.Unavailable, "not_running", "no program trades in state directory %s; nothing was done. The next start reads %s.", cfg.Home, cfg.Trading.Policy)
	}
	which, _ := s.Text()
	fmt.Fprintln(in.Stdout, which)
	for _, change := range s.Changes {
		fmt.Fprintf(in.Stdout, "  %s\n", change)
	}
	if len(s.Changes) == 0 {
		_, err = fmt.Fprintln(in.Stdout, "No limit has changed.")
	}
	return err
}

// explain prints a policy as tables.
func explain(w io.Writer, p guard.Policy) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "\nRules, in the order of evaluation. Money is in the account's currency.\n\n")
	fmt.Fprintln(table, "RULE\tLIMIT\tDENIES")
	for _, r := range guard.Rules(p) {
		fmt.Fprintf(table, "%s\t%s\t%s\n", r.Name, r.Limit, unlinked(r.Denies))
	}
	err := table.Flush()
	if own := guard.Exceptions(p); len(own) > 0 {
		fmt.Fprint(w, "\nLimits per symbol.\n\n")
		fmt.Fprintln(table, "SYMBOL\tRULE\tLIMIT")
		for _, x := range own {
			fmt.Fprintf(table, "%v\t%s\t%s\n", x.Symbol, x.Rule, x.Limit)
		}
		err = errors.Join(err, table.Flush())
	}
	err = errors.Join(err, explainConditions(w, p))
	fmt.Fprintf(w, "\n%s\n", p.Approval.Explain())
	fmt.Fprint(w, "\nSettings.\n\n")
	fmt.Fprintln(table, "SETTING\tVALUE\tMEANS")
	for _, s := range guard.Settings(p) {
		fmt.Fprintf(table, "%s\t%s\t%s\n", s.Name, s.Value, unmarked(s.Means))
	}
	err = errors.Join(err, table.Flush())
	fmt.Fprint(w, "\nTrading restrictions. HALTED denies every order; REDUCING allows only orders that reduce a position.\n\n")
	fmt.Fprintln(table, "RESTRICTION\tSTATE\tLIMIT\tWHEN\tENDS")
	for _, c := range guard.Restrictions(p) {
		fmt.Fprintf(table, "%s\t%v\t%s\t%s\t%s\n", c.Kind, c.Level, c.Limit, unmarked(c.When), unmarked(c.Lifted))
	}
	err = errors.Join(err, table.Flush())
	live := "Live trading is possible with this policy."
	if refused := p.Live(); refused != nil {
		live = "Live trading is refused with this policy: " + refused.Error() + "."
	}
	_, last := fmt.Fprintln(w, "\n"+live)
	return errors.Join(err, last)
}

// explainConditions prints the owner's own conditions.
func explainConditions(w io.Writer, p guard.Policy) error {
	own := guard.OwnConditions(p)
	if len(own) == 0 {
		return nil
	}
	fmt.Fprint(w, "\nYour conditions. An order that opens a position or adds to it is denied while one for its side is not true.\n\n")
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "SYMBOL\tSIDE AND CONDITION")
	for _, c := range own {
		name := "all others"
		if !c.Symbol.IsZero() {
			name = c.Symbol.String()
		}
		fmt.Fprintf(table, "%s\t%s\n", name, c.Text)
	}
	return table.Flush()
}

// unmarked drops the code marks of the web page.
func unmarked(text string) string { return strings.ReplaceAll(text, "`", "") }

// unlinked drops the links of the web page.
func unlinked(text string) string {
	before, rest, found := strings.Cut(text, "; see [")
	if !found {
		return text
	}
	_, after, _ := strings.Cut(rest, ")")
	return before + after
}
