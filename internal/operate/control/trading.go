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

// Who has the owner's word, as the log and refused orders name it.
const (
	ByHalt   = "candela halt"
	ByResume = "candela resume"
)

// TradingState is how trading stands.
type TradingState struct {
	Level string `json:"state"`         // ACTIVE, REDUCING or HALTED
	Why   string `json:"why,omitempty"` // what holds it down, and how that ends
	Where string `json:"-"`             // where the command was carried out
}

// StateOf is how trading stands by a state of the desk.
func StateOf(s guard.State) TradingState {
	return TradingState{Level: s.Level().String(), Why: s.Explain()}
}

// handleTrading answers the commands in the program that trades.
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

// Halt has the program that trades in a state directory stop. It reports false when
// there is none that can be reached.
func Halt(ctx context.Context, home, reason string) (s TradingState, reached bool, err error) {
	return tell(ctx, home, "/halt?"+url.Values{"reason": {reason}}.Encode())
}

// Resume has the program that trades in a state directory trade again. It reports
// false when there is none that can be reached.
func Resume(ctx context.Context, home string) (s TradingState, reached bool, err error) {
	return tell(ctx, home, "/resume")
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
