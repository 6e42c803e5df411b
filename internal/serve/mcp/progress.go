package mcp

import "context"

type progressKey struct{}

// WithProgress returns a context whose calls report how far they are by send, which must not
// block.
func WithProgress(ctx context.Context, send func(done, total int, message string)) context.Context {
	return context.WithValue(ctx, progressKey{}, send)
}

// Progress returns the function by which a call reports how far it is, nil if nobody asked.
func Progress(ctx context.Context) func(done, total int, message string) {
	send, _ := ctx.Value(progressKey{}).(func(done, total int, message string))
	return send
}
