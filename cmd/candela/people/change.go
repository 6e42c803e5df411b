package people

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"strings"

	"candela/cmd/candela/cli"

	"candela/internal/access/owners"
	"candela/internal/access/plan"
	"candela/internal/config"
	"candela/internal/kit/principal"
	"candela/internal/operate/control"
	"candela/internal/work/hosting"
	"candela/lib/fault"
)

const (
	// maxShown is how many owners and errors of one command are shown one by one.
	maxShown = 20
	// maxFile bounds a file of ids, in bytes: a line of an id has 27.
	maxFile = 4 << 20
)

const idText = "one or more IDs that candela owners list shows, or --state, --plan or --file"

// changeOwners suspends, resumes or erases owners, or sets their plan.
func changeOwners(act hosting.Act) cli.Runner {
	return ownerCommand(func(ctx context.Context, in cli.Call, cfg *config.Config, f ownerFlags) error {
		order := hosting.Order{Act: act}
		if act == hosting.SetPlan {
			last := len(f.ids) - 1
			if last < 0 || last == 0 && f.state == "" && f.plan == "" && f.file == "" { // one word is no ID and a name
				return fault.Missing("ID and NAME", idText+", and then the name of a plan")
			}
			order.Plan, f.ids = string(f.ids[last]), f.ids[:last]
		}
		choice, err := f.choice(in.Stdin)
		if err != nil {
			return err
		}
		if chosen := choice.Filter != (owners.Filter{}); !f.yes && (chosen || act == hosting.Erase) {
			return announce(ctx, in, cfg, act, choice)
		}
		return carryOut(ctx, in, cfg, control.Acts{Order: order, Choice: choice, By: caller()}, f.json)
	})
}

// choice returns which owners the words and flags mean.
func (f *ownerFlags) choice(stdin io.Reader) (c hosting.Choice, err error) {
	state, err := owners.ParseState(f.state)
	if err != nil {
		return c, err
	}
	c = hosting.Choice{IDs: f.ids, Filter: owners.Filter{State: state, Plan: f.plan}}
	if f.file != "" {
		ids, err := readIDs(f.file, stdin)
		if err != nil {
			return c, err
		}
		c.IDs = append(c.IDs, ids...)
	}
	switch filtered := c.Filter != (owners.Filter{}); {
	case !filtered && len(c.IDs) == 0:
		return c, fault.Missing("ID", idText)
	case filtered && len(c.IDs) > 0:
		return c, fault.Field("ID", string(c.IDs[0]), "IDs, or --state and --plan, and not both")
	}
	return c, nil
}

// readIDs reads a file with an id on each line; "-" is the standard input. What follows a # is a comment.
func readIDs(path string, stdin io.Reader) (ids []principal.Owner, err error) {
	if path != "-" {
		file, err := os.Open(path) //nolint:gosec // G304: the operator names it
		if err != nil {
			return nil, fault.Field("--file", path, "a file with an ID on each line, or - for the standard input: "+err.Error())
		}
		defer func() { _ = file.Close() }()
		stdin = file
	}
	lines := bufio.NewScanner(io.LimitReader(stdin, maxFile))
	for lines.Scan() {
		text, _, _ := strings.Cut(lines.Text(), "#")
		switch words := strings.Fields(text); len(words) {
		case 0:
		case 1:
			ids = append(ids, principal.Owner(words[0]))
		default:
			return nil, fault.Field("--file", fault.Clean(text, 80), "one ID on each line")
		}
	}
	switch {
	case lines.Err() != nil:
		return nil, fmt.Errorf("--file %s: %w", path, lines.Err())
	case len(ids) == 0:
		return nil, fault.Field("--file", path, "a file with at least one ID")
	case len(ids) > hosting.MaxChosen:
		return nil, fault.Field("--file", path, fmt.Sprintf("at most %d IDs", hosting.MaxChosen))
	}
	return ids, nil
}

// announce says what a command would do, for which it needs --yes.
func announce(ctx context.Context, in cli.Call, cfg *config.Config, act hosting.Act, c hosting.Choice) error {
	ids, err := control.ChosenOwners(ctx, cfg.Home, c)
	if err != nil {
		return err
	}
	for i, id := range ids {
		if i == maxShown {
			fmt.Fprintf(in.Stdout, "and %d more.\n", len(ids)-maxShown)
			break
		}
		one, err := control.ShowOwner(ctx, cfg.Home, id)
		if err != nil {
			return err
		}
		fmt.Fprintf(in.Stdout, "Owner %s is %s and has %s.\n", one.ID, one.State, cli.Count(one.Alerts, "alert"))
	}
	advice := ""
	if act == hosting.Erase {
		advice = "Export first if the data may be needed. "
	}
	_, err = fmt.Fprintf(in.Stdout, "%sAdd --yes to %s; nothing was changed.\n", advice, wouldDo(act, len(ids)))
	return err
}

func wouldDo(act hosting.Act, n int) string {
	them := cli.Choose(n, "the owner", fmt.Sprintf("the %d owners", n))
	if act == hosting.SetPlan {
		return "change the plan of " + them
	}
	return string(act) + " " + them
}

// caller names who runs the command, for the audit log.
func caller() string {
	name := "candela owners"
	if me, err := user.Current(); err == nil {
		name += " (" + me.Username + ")"
	}
	return name
}

// carryOut does something with each of some owners, whatever becomes of one.
func carryOut(ctx context.Context, in cli.Call, cfg *config.Config, acts control.Acts, asJSON bool) error {
	var errs []error
	all, failed := 0, 0
	err := control.ActOnOwners(ctx, cfg.Home, acts, func(r hosting.Result) error {
		all++
		if r.Error == nil || asJSON {
			if err := printResult(in.Stdout, acts.Act, r, asJSON); err != nil {
				return err
			}
		}
		if r.Error != nil {
			if failed++; failed <= maxShown {
				errs = append(errs, fmt.Errorf("%s: %w", r.Owner, r.Error))
			}
		}
		return nil
	})
	if err == nil && failed == 1 && all == 1 {
		return errors.Unwrap(errs[0])
	}
	if failed > maxShown {
		errs = append(errs, fmt.Errorf("and %d more errors", failed-maxShown))
	}
	if failed > 0 {
		errs = append(errs, fmt.Errorf("%d of %d were done", all-failed, all))
	}
	return errors.Join(append(errs, err)...)
}

func printResult(to io.Writer, act hosting.Act, r hosting.Result, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(to).Encode(r)
	}
	var err error
	switch act {
	case hosting.Erase:
		err = json.NewEncoder(to).Encode(r.Proof)
	case hosting.SetPlan:
		_, err = fmt.Fprintf(to, "Owner %s is on the plan %s.\n", r.Owner, cmp.Or(r.Plan, plan.Default))
	default:
		_, err = fmt.Fprintf(to, "Owner %s is %s.\n", r.Owner, r.State)
	}
	return err
}
