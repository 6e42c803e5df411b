package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"candela/internal/kit/fault"
	"candela/internal/operate/control"
	"candela/internal/store/ledger"
	"candela/internal/store/statedir"
	"candela/internal/trading/guard"
)

// The commands candela halt and candela resume. They work with and without a running
// program.

// Halt stops trading in a state directory: in the running program, in the stored state
// if none runs, or by the halt file if the program does not respond.
func Halt(ctx context.Context, home, reason string) (control.TradingState, error) {
	s, reached, err := control.Halt(ctx, home, reason)
	if reached || err != nil {
		return s, err
	}
	s, err = setHalt(ctx, home, control.ByHalt, reason, true)
	if !statedir.IsLocked(err) {
		return s, err
	}
	path := filepath.Join(home, statedir.HaltName)
	if err := os.WriteFile(path, []byte(control.ByHalt+"\n"), 0o600); err != nil {
		return s, fmt.Errorf("halt file: %w", err)
	}
	return control.TradingState{Level: guard.Halted.String(), Where: "by the file " + path + ", which the program reads within a second"}, nil
}

// Resume lifts the halt and every other restriction that the owner can lift.
func Resume(ctx context.Context, home string) (control.TradingState, error) {
	if err := removeOwnHalt(home); err != nil {
		return control.TradingState{}, err
	}
	s, reached, err := control.Resume(ctx, home)
	if reached || err != nil {
		return s, err
	}
	if err := withoutHalt(home); err != nil {
		return s, err
	}
	s, err = setHalt(ctx, home, control.ByResume, "", false)
	if statedir.IsLocked(err) {
		return s, &fault.Error{
			Kind: fault.Conflict, Code: statedir.LockedCode, Field: "home", Value: home,
			Message: fmt.Sprintf("the program that trades in state directory %s does not respond. Stop it, run candela resume, and start it again.", home),
		}
	}
	return s, err
}

// withoutHalt returns an error if the halt file exists: a program that starts there would
// halt again.
func withoutHalt(home string) error {
	path := filepath.Join(home, statedir.HaltName)
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return &fault.Error{Kind: fault.Conflict, Code: "halt_file", Message: fmt.Sprintf("the file %s halts trading: remove it first", path)}
}

// removeOwnHalt removes the halt file if Halt wrote it. Any other stays.
func removeOwnHalt(home string) error {
	path := filepath.Join(home, statedir.HaltName)
	data, err := os.ReadFile(path) //nolint:gosec // G304: a fixed name in the state directory
	if errors.Is(err, fs.ErrNotExist) || err == nil && string(data) != control.ByHalt+"\n" {
		return nil
	}
	if err == nil {
		err = os.Remove(path)
	}
	if err != nil {
		return fmt.Errorf("halt file: %w", err)
	}
	return nil
}

// setHalt changes the stored state of every account and returns the strictest. It fails if
// a program is trading.
func setHalt(ctx context.Context, home, who, reason string, halt bool) (control.TradingState, error) {
	if err := statedir.Open(home); err != nil {
		return control.TradingState{}, err
	}
	held, err := statedir.LockEngine(home)
	if err != nil {
		return control.TradingState{}, err
	}
	defer held.Release()
	l, err := ledger.Open(ctx, home, time.Now)
	if err != nil {
		return control.TradingState{}, err
	}
	state, err := command{who, reason, halt}.storeTo(ctx, l)
	if err = errors.Join(err, l.Close()); err != nil {
		return control.TradingState{}, err
	}
	state.Where = "in the stored state; no program is running"
	return state, nil
}
