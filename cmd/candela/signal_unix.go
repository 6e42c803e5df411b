//go:build unix

package main

import (
	"os"
	"os/signal"
	"syscall"
)

// haltSignals returns where SIGUSR1 comes, which halts trading. Without --trade it
// does nothing.
func haltSignals() <-chan os.Signal {
	signals := make(chan os.Signal, 1) // to halt twice is to halt
	signal.Notify(signals, syscall.SIGUSR1)
	return signals
}
