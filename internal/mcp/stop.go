package mcp

import "context"

type stopKey struct{}

// WithStop returns a context for calls that may finish after stop has ended. One
// that does no work but wait looks at Stop and gives up then, because a program
// that is told to stop would wait for it in vain.
func WithStop(ctx, stop context.Context) context.Context {
	return context.WithValue(ctx, stopKey{}, stop)
}

// Stop returns the context that ends when whoever serves the call is told to
// stop. It never ends where nobody said when.
func Stop(ctx context.Context) context.Context {
	if stop, ok := ctx.Value(stopKey{}).(context.Context); ok {
		return stop
	}
	return context.Background()
}
