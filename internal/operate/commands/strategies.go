package commands

import (
	"context"

	"candela/internal/operate/control"
	"candela/internal/work/strategies"
	"candela/lib/fault"
)

// errNoStrategies is the error of commands about strategies where no program runs them.
func errNoStrategies(home string) error {
	return fault.New(fault.Unsupported, "strategies_off", "no program that runs strategies was reached in the state directory %s; start candela with --trade --strategies shadow", home)
}

// ListStrategies lists the strategies of the program that runs.
func (c *Set) ListStrategies(ctx context.Context) ([]strategies.View, error) {
	all, reached, err := control.ListStrategies(ctx, c.home)
	if !reached && err == nil {
		err = errNoStrategies(c.home)
	}
	return all, err
}

// ShowStrategy shows a strategy of the program that runs.
func (c *Set) ShowStrategy(ctx context.Context, id string) (strategies.Shown, error) {
	one, reached, err := control.ShowStrategy(ctx, c.home, id)
	if !reached && err == nil {
		err = errNoStrategies(c.home)
	}
	return one, err
}

// ActOnStrategy changes a strategy of the program that runs.
func (c *Set) ActOnStrategy(ctx context.Context, act, id string, how strategies.How) (strategies.View, error) {
	view, reached, err := control.ActOnStrategy(ctx, c.home, act, id, how)
	if !reached && err == nil {
		err = errNoStrategies(c.home)
	}
	return view, err
}
