package people

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"candela/cmd/candela/cli"

	"candela/internal/app"
	"candela/internal/operate/control"
)

// Plans checks the plans of owners, and puts changed ones in force.
func Plans() cli.Runner {
	return cli.OneOf("plans", cli.Sub("check", checkPlans), cli.Sub("reload", reloadPlans))
}

// reloadPlans puts the plans of the state directory in force at the running server, and at all replicas.
func reloadPlans(ctx context.Context, in cli.Call) error {
	cfg, err := in.Flags("plans reload", "flags only")
	if err != nil {
		return err
	}
	now, err := control.ReloadPlans(ctx, cfg.Home)
	if err != nil {
		return err
	}
	version, what := "", "nothing changed"
	if now.Version > 0 {
		version = fmt.Sprintf(", version %d at all replicas", now.Version)
	}
	if len(now.Changed) > 0 {
		what = "changed: " + strings.Join(now.Changed, ", ")
	}
	_, err = fmt.Fprintf(in.Stdout, "The plans %s are in force%s; %s.\n", strings.Join(now.Plans, ", "), version, what)
	return err
}

// checkPlans prints the plans of the state directory, or what is wrong with them.
func checkPlans(_ context.Context, in cli.Call) error {
	args, asJSON := cli.CutJSON(in.Args)
	in.Args = args
	cfg, err := in.Flags("plans check", "flags only")
	if err != nil {
		return err
	}
	plans, err := app.ReadPlans(cfg.Home)
	if err != nil {
		return err
	}
	if asJSON {
		all := make(map[string]map[string]string)
		for _, name := range plans.Names() {
			all[name] = make(map[string]string)
			for _, l := range plans.Limits(name) {
				all[name][l.Key] = strconv.Itoa(l.Value)
			}
		}
		return cli.PrintJSON(in.Stdout, all)
	}
	w := cli.Table(in.Stdout)
	fmt.Fprint(w, "plan")
	for _, l := range plans.Limits("") {
		fmt.Fprint(w, "\t", l.Key)
	}
	fmt.Fprintln(w)
	for _, name := range plans.Names() {
		fmt.Fprint(w, name)
		for _, l := range plans.Limits(name) {
			fmt.Fprint(w, "\t", l.Value)
		}
		fmt.Fprintln(w)
	}
	return w.Flush()
}
