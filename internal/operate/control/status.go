package control

import (
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/internal/trading/policy"
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

// Status is the trading status of a state directory.
type Status struct {
	Running  bool            `json:"running"` // a program trades there; else this is what is stored
	Alerts   int             `json:"alerts"`  // that wait
	Accounts []AccountStatus `json:"accounts"`
	Replica  string          `json:"trading_replica,omitempty"` // that trades; "" without replicas, or if none does
	Limits   []LimitStatus   `json:"limits,omitempty"`          // of a server that answers over HTTP

	HaltedOwners int      `json:"halted_owners,omitempty"` // of many, those whom the operator has halted one by one
	Halted       []string `json:"halted,omitempty"`        // the first of them

	Policy *policy.Status `json:"policy,omitempty"` // nil where nothing is known of it

	Receivers []ReceiverStatus `json:"receivers,omitempty"` // of alerts, of a program that runs

	NotEvaluated int `json:"alerts_not_evaluated,omitempty"` // of Alerts, those on venues that are not set up
	Broken       int `json:"alerts_broken,omitempty"`        // of Alerts, those that this version cannot evaluate
	SetAside     int `json:"alerts_set_aside,omitempty"`     // of Alerts, those that wait until the owner resumes them

	ScriptBars     int    `json:"script_bars_waiting,omitempty"`       // closed bars that wait for scripts of alerts
	Starved        int    `json:"alerts_waiting_for_memory,omitempty"` // of Alerts, those whose script finds no memory
	ScriptsLate    uint64 `json:"scripts_late,omitempty"`              // evaluations more than a second after the bar closed
	ScriptsSkipped uint64 `json:"script_bars_skipped,omitempty"`       // bars given up because scripts were too slow
}

// ReceiverStatus is a receiver of alerts.
type ReceiverStatus struct {
	Name      string `json:"name"`
	Delivered uint64 `json:"delivered"`
	Refused   uint64 `json:"refused"`
	Dropped   uint64 `json:"dropped"`
	Problem   string `json:"problem,omitempty"` // why the last attempt failed
}

// LimitStatus is a limit on what clients may use; docs/limits.md explains each.
type LimitStatus struct {
	Name    string  `json:"name"`
	Scope   string  `json:"per"` // token, address, or all for all clients together
	Limit   float64 `json:"limit"`
	Used    float64 `json:"used"` // by the client that uses most
	Refused uint64  `json:"refused"`
}

// Untraded stands for all accounts on which nothing was traded yet.
const Untraded = "accounts without orders"

// AccountStatus is one account: a program trades on one, a store may keep several.
type AccountStatus struct {
	Account string `json:"account"` // paper, or the venue and its network
	TradingState
	Open      int              `json:"open_orders"`
	Uncertain int              `json:"uncertain_orders,omitempty"`  // of them, those whose fate is not known
	Pending   int              `json:"pending_approvals,omitempty"` // of them, those that wait for the owner; a group is one
	Groups    int              `json:"open_groups,omitempty"`       // how many groups the orders are in
	Single    int              `json:"open_single,omitempty"`       // how many are in no group
	Protect   int              `json:"protecting,omitempty"`        // groups, and orders in none, that protect a position
	Alone     int              `json:"protecting_single,omitempty"` // of them, orders in no group
	Held      int              `json:"held_by_candela,omitempty"`   // stops and targets that only candela watches; a group is one
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
	Currency   string `json:"currency,omitempty"` // of the prices; "" when unknown

	Plan        []string `json:"plan,omitempty"`                  // what should protect it, a text for each line
	WithoutStop string   `json:"quantity_without_stop,omitempty"` // that no open stop would close

	Stake *order.Stake `json:"stake,omitempty"` // of a position in a perpetual future
}
