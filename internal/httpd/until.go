package httpd

import (
	"context"
	"fmt"
	"net"
	"net/http"
)

// ServeUntil answers on ln until ctx ends, and lets what runs then finish before hard
// ends.
func ServeUntil(ctx, hard context.Context, server *http.Server, ln net.Listener, ready func()) error {
	stopped := make(chan error, 1)
	go func() { stopped <- server.Serve(ln) }()
	ready()
	select {
	case err := <-stopped:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	err := server.Shutdown(hard)
	<-stopped
	return err
}
