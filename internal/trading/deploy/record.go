// Package deploy lets strategies trade by themselves: it steps their model over closed bars, records what they want
// before anything is sent, and computes all of it again after a restart.
//
// The model is a backtest program on its simulated account. Real fills never enter it, so what a deployment wants is a
// function of its terms and its bars. Its journal keeps the terms, the bars and what was wanted at each; nothing that
// can be computed is kept besides.
package deploy

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/shopspring/decimal"

	"candela/lib/market"
)

// Stage says how far a deployment goes.
type Stage string

// A deployment records what it wants, trades on the paper account, or trades with money.
const (
	Shadow Stage = "shadow"
	Paper  Stage = "paper"
	Live   Stage = "live"
)

// Stages lists the stages, the lowest first.
func Stages() []string { return []string{string(Shadow), string(Paper), string(Live)} }

// State is where a deployment stands.
type State string

// The states. Declined, Expired and Stopped are final.
const (
	Proposed State = "proposed"
	Declined State = "declined"
	Expired  State = "expired"
	Running  State = "running"
	Stopping State = "stopping" // its orders and what it holds are being ended
	Paused   State = "paused"
	Stopped  State = "stopped"
)

// Final reports whether the deployment has ended.
func (s State) Final() bool { return s == Declined || s == Expired || s == Stopped }

// computes reports whether the bars of the deployment are computed.
func (d *Deployment) computes() bool {
	return d.State == Running || d.State == Paused && (d.Cause == ByOwner || d.Cause == Restored || d.Cause == LossLimit)
}

// Cause says why a deployment was paused.
type Cause string

// The causes.
const (
	ByOwner       Cause = "owner"
	Restored      Cause = "restored"           // the account was put back from a backup
	ScriptFailed  Cause = "script_failed"      // its program ended with an error
	LongOutage    Cause = "long_outage"        // too many bars were missed
	Different     Cause = "different"          // what was recorded is not what is computed
	EngineChanged Cause = "engine_changed"     // a newer version computes something else
	NewInstrument Cause = "instrument_changed" // its steps of price or quantity
	LossLimit     Cause = "loss_limit"         // its account has lost what it may
	Unavailable   Cause = "unavailable"        // its program cannot be made here
)

// Program is what a deployment computes: a script, or rules.
type Program struct {
	Name      string                     `json:"name,omitempty"` // of the stored script
	Script    string                     `json:"script,omitempty"`
	Libraries map[string]string          `json:"libraries,omitempty"` // sources by path
	Inputs    map[string]json.RawMessage `json:"inputs,omitempty"`
	Long      json.RawMessage            `json:"long,omitempty"`
	Short     json.RawMessage            `json:"short,omitempty"`
}

// The ways to size an entry that names no quantity.
const (
	SizeScript  = "script" // as the program declares
	SizePercent = "percent_of_equity"
	SizeFixed   = "fixed"
)

// Terms are what a deployment computes and on what. They never change.
type Terms struct {
	Program  Program         `json:"program"`
	Symbol   market.Symbol   `json:"symbol"`
	Interval market.Interval `json:"interval"`
	Account
	Tick   decimal.Decimal `json:"tick"` // of the venue when it was proposed
	Step   decimal.Decimal `json:"step"`
	Quote  string          `json:"quote"` // currency of its prices
	From   int64           `json:"from"`  // open of the first bar at which it may order
	First  int64           `json:"first"` // open of the first bar that its indicators see
	Engine int             `json:"engine"`
}

// Account is the money that a deployment counts with.
type Account struct {
	Capital  decimal.Decimal `json:"capital"`
	Size     string          `json:"size"`
	SizeBy   decimal.Decimal `json:"size_value,omitzero"`
	LongOnly bool            `json:"long_only,omitempty"`
	FeeBps   decimal.Decimal `json:"fee_bps"`
	SlipBps  decimal.Decimal `json:"slip_bps"`
	Leverage decimal.Decimal `json:"leverage,omitzero"` // of a perpetual future
}

// Hash names terms: the same ones have the same hash.
func (t *Terms) Hash() string {
	data, err := json.Marshal(t)
	if err != nil {
		panic(fmt.Sprintf("deploy: terms cannot be written: %v", err)) // they are plain data
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Limits bound what a deployment may hold and lose. The owner sets Cap and MaxLoss.
type Limits struct {
	Budget decimal.Decimal `json:"budget,omitzero"` // most that its book may be worth; zero for Cap
	Cap    decimal.Decimal `json:"cap,omitzero"`    // set by the owner at the start: entries up to it need no approval

	MaxLoss decimal.Decimal `json:"max_loss,omitzero"` // most that its account may lose since the start; zero for any loss
}

// Deployment is a strategy with its terms, and where it stands.
type Deployment struct {
	ID     string `json:"deployment_id"`
	Name   string `json:"name"`
	State  State  `json:"state"`
	Stage  Stage  `json:"stage,omitempty"`
	Cause  Cause  `json:"cause,omitempty"` // of a pause
	Detail string `json:"detail,omitempty"`
	Terms  Terms  `json:"terms"`
	Record

	Close   bool    `json:"close,omitempty"`   // of one that stops: what it holds is closed
	Through int64   `json:"through,omitempty"` // open of the newest bar
	Intents int     `json:"intents"`           // recorded so far
	Model   *Result `json:"model,omitempty"`   // nil while nothing is computed

	history  int64      // open of the newest bar before the start, the promotion or the last resume
	leaving  Stage      // before a promotion, while its account there has not ended
	troubled time.Time  // when it was last paused, but by its owner
	engine   int        // that computes the same as the one of the terms; 0 for that one
	recent   []wantedAt // the newest bars with intents
}

// Record is what was decided about a deployment, by whom and when.
type Record struct {
	TermsHash  string    `json:"terms_sha256"`
	Limits     Limits    `json:"limits,omitzero"`
	Note       string    `json:"note,omitempty"`
	Report     string    `json:"report_id,omitempty"` // of the back-test beside the proposal
	Needs      Needs     `json:"needs,omitzero"`      // counted in that
	Flags      []string  `json:"flags,omitempty"`     // of its honesty
	Account    string    `json:"account,omitempty"`   // that it trades on; none in shadow
	ProposedBy string    `json:"proposed_by"`
	ProposedAt time.Time `json:"proposed_at"`
	StartedBy  string    `json:"started_by,omitempty"`
	StartedAt  time.Time `json:"started_at,omitzero"`
	PromotedBy string    `json:"promoted_by,omitempty"`
	PromotedAt time.Time `json:"promoted_at,omitzero"`
	Accepted   []string  `json:"accepted,omitempty"` // gates that were not met at the promotion
	StoppedBy  string    `json:"stopped_by,omitempty"`
	EndedAt    time.Time `json:"ended_at,omitzero"`
	Bars       int       `json:"bars"` // computed, those before the start included
}

// Result is how the model of a deployment stands at its newest bar.
type Result struct {
	Position float64 // below zero for a short
	Average  float64 // price of its entries; NaN without a position
	Net      float64 // of closed trades, after costs
	Open     float64 // of open ones
	Trades   int     // closed
	Price    float64 // the last close

	Target decimal.Decimal // what it will hold at the next open, if its orders at the market fill
}

// Recorded is an intent with the bar at whose close it was recorded.
type Recorded struct {
	Intent
	Bar int64 `json:"bar"`
}

// Recent returns the newest recorded intents, oldest first.
func (d *Deployment) Recent() (all []Recorded) {
	for _, at := range d.recent[max(0, len(d.recent)-mostRecent):] {
		for _, i := range at.intents.read() {
			all = append(all, Recorded{Intent: i, Bar: at.bar})
		}
	}
	return all[max(0, len(all)-mostRecent):]
}
