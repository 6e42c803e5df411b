package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// untilSignal returns a context that ends with the first interrupt or SIGTERM. The second
// one ends the process at once.
// Windows delivers both names for Ctrl-C, Ctrl-Break and a closed console.
func untilSignal(stderr io.Writer, exit func(int)) context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() { // lives as long as the process, which it may end
		cancel(fmt.Errorf("signal: %s", <-signals))
		fmt.Fprintf(stderr, "candela: second signal (%s): exiting at once\n", <-signals)
		exit(exitFailure)
	}()
	return ctx
}
