package backtest

import "context"

type pauseKey struct{}

// WithPause returns a context in which runs call pause every 256 bars, so that other work can
// go before. A run ends with the error that pause returns.
func WithPause(ctx context.Context, pause func(context.Context) error) context.Context {
	return context.WithValue(ctx, pauseKey{}, pause)
}

// pause lets other work go before, and says why the run must end now; nil while it may go on.
func pause(ctx context.Context) error {
	if hook, ok := ctx.Value(pauseKey{}).(func(context.Context) error); ok {
		return hook(ctx)
	}
	return context.Cause(ctx)
}
