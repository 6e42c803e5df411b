package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"candela/internal/fault"
	"candela/internal/guard"
	"candela/internal/ledger"
	"candela/internal/statedir"
)

// The commands by which the owner stops and resumes trading, from outside. They
// work beside a program that trades and without one.

// Who has the owner's word, as the log and refused orders name it.
const (
	byHalt   = "candela halt"
	byResume = "candela resume"
)

// TradingState is how trading stands.
type TradingState struct {
	Level string `json:"state"`         // ACTIVE, REDUCING or HALTED
	Why   string `json:"why,omitempty"` // what holds it down, and how that ends
	Where string `json:"-"`             // where the command was carried out
}

func stateOf(s guard.State) TradingState {
	return TradingState{Level: s.Level().String(), Why: s.Why()}
}

// handleTrading answers the commands in the program that trades.
func (c control) handleTrading(mux *http.ServeMux) {
	answer := func(w http.ResponseWriter, r *http.Request, s guard.State, err error) {
		w.Header().Set("Content-Type", "application/json")
		if f := fault.Of(err); f != nil {
			w.WriteHeader(http.StatusConflict)
			_ = json.NewEncoder(w).Encode(f.Public()) // the owner's terminal went away
			return
		}
		if err != nil {
			c.fail(w, r, err)
			return
		}
		_ = json.NewEncoder(w).Encode(stateOf(s))
	}
	mux.HandleFunc("POST /halt", func(w http.ResponseWriter, r *http.Request) {
		s, err := c.desk.Halt(r.Context(), byHalt, r.FormValue("reason"))
		answer(w, r, s, err)
	})
	mux.HandleFunc("POST /resume", func(w http.ResponseWriter, r *http.Request) {
		s, err := c.desk.Resume(r.Context(), byResume)
		answer(w, r, s, err)
	})
}

// Halt stops trading in a state directory: in the program that runs there, in its
// stored state when none does, and by the halt file when one runs that cannot be
// reached.
func Halt(ctx context.Context, home, reason string) (TradingState, error) {
	s, reached, err := tell(ctx, home, "/halt?"+url.Values{"reason": {reason}}.Encode())
	if reached || err != nil {
		return s, err
	}
	s, err = setHalt(ctx, home, byHalt, reason, true)
	if !statedir.IsLocked(err) {
		return s, err
	}
	path := filepath.Join(home, statedir.HaltName)
	if err := os.WriteFile(path, []byte(byHalt+"\n"), 0o600); err != nil {
		return s, fmt.Errorf("halt file: %w", err)
	}
	return TradingState{Level: guard.Halted.String(), Where: "by the file " + path + ", which the program sees within a second"}, nil
}

// Resume takes back what Halt did, and what else the owner can end.
func Resume(ctx context.Context, home string) (TradingState, error) {
	if err := removeOwnHalt(home); err != nil {
		return TradingState{}, err
	}
	s, reached, err := tell(ctx, home, "/resume")
	if reached || err != nil {
		return s, err
	}
	if err := withoutHalt(home); err != nil {
		return s, err
	}
	s, err = setHalt(ctx, home, byResume, "", false)
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
	if errors.Is(err, fs.ErrNotExist) || err == nil && string(data) != byHalt+"\n" {
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

// tell asks the program that trades in a state directory. It reports false when
// there is none that can be reached.
func tell(ctx context.Context, home, path string) (s TradingState, reached bool, err error) {
	answer, err := knock(ctx, home, http.MethodPost, path)
	if fault.KindOf(err) == fault.Unavailable {
		return s, false, nil // nobody answers there
	}
	if err != nil {
		return s, false, err
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	switch {
	case err != nil:
		return s, true, fmt.Errorf("control socket: %w", err)
	case answer.StatusCode == http.StatusNotFound:
		return s, false, nil // a server that does not trade
	case answer.StatusCode == http.StatusConflict:
		var text string
		if err := json.Unmarshal(body, &text); err == nil {
			return s, true, &fault.Error{Kind: fault.Conflict, Code: "refused", Message: text}
		}
	}
	if answer.StatusCode != http.StatusOK {
		return s, true, fmt.Errorf("control socket: the server answered %s; its log says why", answer.Status)
	}
	if err := json.Unmarshal(body, &s); err != nil {
		return s, true, fmt.Errorf("control socket: %w", err)
	}
	s.Where = "in the program that runs there"
	return s, true, nil
}

// setHalt changes the stored state of every account, unless a program trades on
// one, and returns the strictest of them.
func setHalt(ctx context.Context, home, who, reason string, halt bool) (TradingState, error) {
	if err := statedir.Open(home); err != nil {
		return TradingState{}, err
	}
	held, err := statedir.LockEngine(home)
	if err != nil {
		return TradingState{}, err
	}
	defer held.Release()
	l, err := ledger.Open(ctx, home, time.Now)
	if err != nil {
		return TradingState{}, err
	}
	state, err := word{who, reason, halt}.storeIn(ctx, l)
	if err = errors.Join(err, l.Close()); err != nil {
		return TradingState{}, err
	}
	state.Where = "in the stored state; no program trades there"
	return state, nil
}
