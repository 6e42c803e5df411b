package control

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"candela/internal/kit/fault"
	"candela/internal/trading/guard"
)

// The names of the owner's commands in the log and in denied orders.
const (
	ByHalt   = "candela halt"
	ByResume = "candela resume"
)

// TradingState is the state of trading after a command.
type TradingState struct {
	Level string `json:"state"`         // ACTIVE, REDUCING or HALTED
	Why   string `json:"why,omitempty"` // the restrictions, and how they are lifted
	Where string `json:"-"`             // where the command took effect
}

// StateOf converts the state of a desk.
func StateOf(s guard.State) TradingState {
	return TradingState{Level: s.Level().String(), Why: s.Explain()}
}

// handleTrading serves the commands in the program that trades.
func (s Server) handleTrading(mux *http.ServeMux) {
	answer := func(w http.ResponseWriter, r *http.Request, state guard.State, err error) {
		w.Header().Set("Content-Type", "application/json")
		if f := fault.Of(err); f != nil {
			w.WriteHeader(http.StatusConflict)
			_ = json.NewEncoder(w).Encode(f.Public()) // the owner's terminal went away
			return
		}
		if err != nil {
			s.fail(w, r, err)
			return
		}
		_ = json.NewEncoder(w).Encode(StateOf(state))
	}
	mux.HandleFunc("POST /halt", func(w http.ResponseWriter, r *http.Request) {
		state, err := s.Trader.Halt(r.Context(), ByHalt, r.FormValue("reason"))
		answer(w, r, state, err)
	})
	mux.HandleFunc("POST /resume", func(w http.ResponseWriter, r *http.Request) {
		state, err := s.Trader.Resume(r.Context(), ByResume)
		answer(w, r, state, err)
	})
}

// Halt halts the program that trades in a state directory. It reports false when none can be
// reached.
func Halt(ctx context.Context, home, reason string) (s TradingState, reached bool, err error) {
	return tradingCommand(ctx, home, "/halt?"+url.Values{"reason": {reason}}.Encode())
}

// Resume resumes the program that trades in a state directory. It reports false when none can
// be reached.
func Resume(ctx context.Context, home string) (s TradingState, reached bool, err error) {
	return tradingCommand(ctx, home, "/resume")
}

// tradingCommand sends a command to the program that trades in a state directory. It reports false
// when none can be reached.
func tradingCommand(ctx context.Context, home, path string) (s TradingState, reached bool, err error) {
	answer, err := send(ctx, home, http.MethodPost, path)
	if fault.KindOf(err) == fault.Unavailable {
		return s, false, nil // no server there
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
