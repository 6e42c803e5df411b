package people

import (
	"context"
	"fmt"

	"candela/cmd/candela/cli"

	"candela/internal/app"
)

// Plans checks the plans of owners.
func Plans() cli.Runner { return cli.OneOf("plans", cli.Sub("check", checkPlans)) }

// checkPlans prints the plans of the state directory, or what is wrong with them.
func checkPlans(_ context.Context, in cli.Call) error {
	cfg, err := in.Flags("plans check", "flags only")
	if err != nil {
		return err
	}
	plans, err := app.ReadPlans(cfg.Home)
	if err != nil {
		return err
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
