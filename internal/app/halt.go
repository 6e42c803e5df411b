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

// The commands by which the owner stops and resumes trading, from outside. They
// work beside a program that trades and without one.

// Halt stops trading in a state directory: in the program that runs there, in its
// stored state when none does, and by the halt file when one runs that cannot be
// reached.
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
	return control.TradingState{Level: guard.Halted.String(), Where: "by the file " + path + ", which the program sees within a second"}, nil
}

// Resume takes back what Halt did, and what else the owner can end.
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
			Message: fmt.Sprintf("the program that trades in state directory %s cannot be reached: stop it, resume, and start it again", home),
		}
	}
	return s, err
}

// withoutHalt refuses a state directory in which the halt file is: a program that
// starts there would halt again.
func withoutHalt(home string) error {
	path := filepath.Join(home, statedir.HaltName)
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return &fault.Error{Kind: fault.Conflict, Code: "halt_file", Message: fmt.Sprintf("the file %s halts trading: remove it first", path)}
}

// removeOwnHalt removes the halt file if Halt wrote it. One of somebody else's stays.
func removeOwnHalt(home string) error {
	path := filepath.Join(home, statedir.HaltName)
	data, err := os.ReadFile(path) //nolint:gosec // G304: in the state directory, by a name of ours
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

// setHalt changes the stored state of every account, unless a program trades on
// one, and returns the strictest of them.
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
	state, err := word{who, reason, halt}.storeIn(ctx, l)
	if err = errors.Join(err, l.Close()); err != nil {
		return control.TradingState{}, err
	}
	state.Where = "in the stored state; no program trades there"
	return state, nil
}
