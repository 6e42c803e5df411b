package desk

import (
	"context"
	"log/slog"
	"os"
	"sync"
	"time"

	"candela/internal/kit/retry"
	"candela/internal/trading/guard"
)

// Halter stops trading.
type Halter interface {
	Halt(ctx context.Context, by, reason string) (guard.State, error)
}

// HaltOnSignals halts trading when a signal comes, for as long as run runs.
func HaltOnSignals(ctx context.Context, signals <-chan os.Signal, trader Halter, log *slog.Logger, run func() error) error {
	var watching sync.WaitGroup
	defer watching.Wait()
	watched, stop := context.WithCancel(ctx)
	defer stop()
	watching.Go(func() {
		for {
			select {
			case s := <-signals:
				haltForSignal(watched, s, trader, log)
			case <-watched.Done():
				return
			}
		}
	})
	return run()
}

// haltRetryInterval is how long after a halt that failed it is tried again.
const haltRetryInterval = time.Second

// haltForSignal halts trading because of a signal. Nobody hears whether that went well, so
// it is tried until it does: among replicas nobody may trade for half a minute.
func haltForSignal(ctx context.Context, s os.Signal, trader Halter, log *slog.Logger) {
	for logged := false; ; logged = true {
		_, err := trader.Halt(ctx, "the signal "+s.String(), "")
		if err == nil {
			return
		}
		if !logged && ctx.Err() == nil {
			log.ErrorContext(ctx, "a signal came and trading could not be halted; it is tried again", "signal", s.String(), "error", err)
		}
		if retry.Sleep(ctx, haltRetryInterval) != nil {
			return
		}
	}
}
