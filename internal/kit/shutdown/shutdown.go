// Package shutdown lets work finish when the program stops: calls that only wait give
// up at once, and HTTP servers drain.
package shutdown

import (
	"context"
	"fmt"
	"net"
	"net/http"
)

type contextKey struct{}

// With returns a context for calls that may outlive stop. A call that only waits should
// also watch Context(ctx) and return when it ends, so that the program can stop.
func With(ctx, stop context.Context) context.Context {
	return context.WithValue(ctx, contextKey{}, stop)
}

// Context returns the context that ends when the server of the call begins to stop. It
// never ends for a ctx that With did not make.
func Context(ctx context.Context) context.Context {
	if stop, ok := ctx.Value(contextKey{}).(context.Context); ok {
		return stop
	}
	return context.Background()
}

// Serve serves on ln until ctx ends. Requests in progress may then finish until hard
// ends, which closes their connections. It calls ready once the server accepts connections.
func Serve(ctx, hard context.Context, server *http.Server, ln net.Listener, ready func()) error {
	stopped := make(chan error, 1)
	go func() { stopped <- server.Serve(ln) }()
	ready()
	select {
	case err := <-stopped:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	err := server.Shutdown(hard)
	if err != nil {
		err = server.Close()
	}
	<-stopped
	if err != nil {
		return fmt.Errorf("close the server: %w", err)
	}
	return nil
}
