package desk_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"candela/internal/trading/desk"
	"candela/internal/trading/guard"
)

// reluctant is an account whose halt fails a number of times.
type reluctant struct {
	left   int
	halted chan struct{}
}

func (r *reluctant) Halt(context.Context, string, string) (guard.State, error) {
	if r.left--; r.left > 0 {
		return guard.State{}, errors.New("no replica is ready")
	}
	close(r.halted)
	return guard.State{}, nil
}

// TestHeedSignals_UntilTradingIsHalted has a halt fail while the account is taken
// over: the signal is not lost, and the log says once that it waits.
func TestHeedSignals_UntilTradingIsHalted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		halts := make(chan os.Signal, 1)
		halts <- syscall.SIGTERM
		r := &reluctant{left: 30, halted: make(chan struct{})}
		logger := slog.New(slog.NewTextHandler(&log, nil))
		if err := desk.HaltOnSignals(t.Context(), halts, r, logger, func() error { <-r.halted; return nil }); err != nil {
			t.Error(err)
		}
		if n := strings.Count(log.String(), "could not be halted"); n != 1 {
			t.Errorf("%d lines: %s", n, log.String())
		}
		// The work may end while the halt still fails.
		halts <- syscall.SIGTERM
		if err := desk.HaltOnSignals(t.Context(), halts, &reluctant{left: 1_000_000}, logger, func() error { synctest.Wait(); return nil }); err != nil {
			t.Error(err)
		}
	})
}
