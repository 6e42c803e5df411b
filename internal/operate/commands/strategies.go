package commands

import (
	"context"

	"candela/internal/operate/control"
	"candela/internal/work/strategies"
	"candela/lib/fault"
)

// running returns the answer of a program, or an error if none that runs strategies was reached.
func running[T any](answer T, reached bool, err error, home string) (T, error) {
	if !reached && err == nil {
		err = fault.New(fault.Unsupported, "strategies_off", "no program that runs strategies was reached in the state directory %s; start candela with --trade --strategies shadow", home)
	}
	return answer, err
}

// ListStrategies lists the strategies of the program that runs.
func (c *Set) ListStrategies(ctx context.Context) ([]strategies.View, error) {
	all, reached, err := control.ListStrategies(ctx, c.home)
	return running(all, reached, err, c.home)
}

// ShowStrategy shows a strategy of the program that runs.
func (c *Set) ShowStrategy(ctx context.Context, id string) (strategies.Shown, error) {
	one, reached, err := control.ShowStrategy(ctx, c.home, id)
	return running(one, reached, err, c.home)
}

// StrategyDrift compares a strategy of the program that runs with its account.
func (c *Set) StrategyDrift(ctx context.Context, id string) (strategies.Drift, error) {
	is, reached, err := control.StrategyDrift(ctx, c.home, id)
	return running(is, reached, err, c.home)
}

// ActOnStrategy changes a strategy of the program that runs.
func (c *Set) ActOnStrategy(ctx context.Context, act, id string, how strategies.How) (strategies.View, error) {
	view, reached, err := control.ActOnStrategy(ctx, c.home, act, id, how)
	return running(view, reached, err, c.home)
}
