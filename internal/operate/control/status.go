package control

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"candela/internal/kit/fault"
)

// Status is the trading status of a state directory.
type Status struct {
	Running  bool            `json:"running"` // a program trades there; else this is what is stored
	Alerts   int             `json:"alerts"`  // that wait
	Accounts []AccountStatus `json:"accounts"`
	Limits   []LimitStatus   `json:"limits,omitempty"` // of a server that answers over HTTP
}

// LimitStatus is a limit on what clients may use; docs/limits.md explains each.
type LimitStatus struct {
	Name    string  `json:"name"`
	Scope   string  `json:"per"` // token, address, or all for all clients together
	Limit   float64 `json:"limit"`
	Used    float64 `json:"used"` // by the client that uses most
	Refused uint64  `json:"refused"`
}

// AccountStatus is one account: a program trades on one, a store may keep several.
type AccountStatus struct {
	Account string `json:"account"` // paper, or the venue and its network
	TradingState
	Open      int              `json:"open_orders"`
	Uncertain int              `json:"uncertain_orders,omitempty"` // of them, those whose fate is not known
	Positions []PositionStatus `json:"positions"`
}

// PositionStatus is one open position. Amounts are exact decimals.
type PositionStatus struct {
	Symbol     string `json:"symbol"`
	Side       string `json:"side"`
	Quantity   string `json:"quantity"`
	Entry      string `json:"entry_price"`
	Current    string `json:"current_price,omitempty"` // "" while no price is known
	Unrealized string `json:"unrealized_pnl,omitempty"`
}

// handleStatus serves the status of the program that trades.
func (s Server) handleStatus(mux *http.ServeMux) {
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, r *http.Request) {
		now, err := s.Status(r.Context())
		if err != nil {
			s.fail(w, r, err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(now) // the owner's terminal went away
	})
}

// ReadStatus reads the status of the program that trades in a state directory. It reports
// false when none can be reached.
func ReadStatus(ctx context.Context, home string) (s Status, reached bool, err error) {
	answer, err := send(ctx, home, http.MethodGet, "/status")
	if fault.KindOf(err) == fault.Unavailable {
		return s, false, nil // nobody answers there
	}
	if err != nil {
		return s, false, err
	}
	defer func() { _ = answer.Body.Close() }()
	switch answer.StatusCode {
	case http.StatusOK:
	case http.StatusNotFound:
		return s, false, nil // a server that does not trade
	default:
		return s, true, fmt.Errorf("control socket: the server answered %s; its log says why", answer.Status)
	}
	if err := json.NewDecoder(answer.Body).Decode(&s); err != nil {
		return s, true, fmt.Errorf("control socket: %w", err)
	}
	return s, true, nil
}
