package order

import (
	"cmp"
	"fmt"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/kit/principal"
	"candela/lib/market"
)

// Request is an order as a client requests it, exact to the last digit.
type Request struct {
	Symbol          market.Symbol   `json:"Symbol"`
	RequestedSymbol market.Symbol   `json:"Asked"` // as the client wrote it, if Symbol is the venue's spelling; else zero
	Side            Side            `json:"Side"`
	Type            Type            `json:"Type"`
	Quantity        decimal.Decimal `json:"Quantity"`
	Price           decimal.Decimal `json:"Price"`  // of a limit order
	Key             string          `json:"Key"`    // idempotency key: repeating it returns the same order; "" for none
	DryRun          bool            `json:"DryRun"` // check everything, send nothing

	StopPrice   decimal.Decimal `json:"StopPrice,omitzero"`
	TimeInForce TimeInForce     `json:"TimeInForce,omitempty"`
	PostOnly    bool            `json:"PostOnly,omitempty"`
	ReduceOnly  bool            `json:"ReduceOnly,omitempty"`
	Protect     Protection      `json:"Protect,omitzero"`   // with ReduceOnly the prices of the order itself, or of a pair
	Replaces    string          `json:"Replaces,omitempty"` // ID of the order whose place it takes
	NotAfter    time.Time       `json:"NotAfter,omitzero"`  // it is not sent later
	Sizing      Sizing          `json:"Risk,omitzero"`      // from which Quantity or prices follow; zero if they are given
	Note        string          `json:"Note,omitempty"`     // the client's words to the owner; no term of the order
	Scope       string          `json:"Scope,omitempty"`    // of the token that asked; no term of the order
	Because     []Claim         `json:"Because,omitempty"`  // why the order is right; the desk judges them

	// Deployment is the ID of the deployment of a strategy that asks, "" for everybody else. No client can give it: only the
	// part of the program that runs deployments sets it.
	Deployment string `json:"Deployment,omitempty"`

	Evidence   []Evidence `json:"-"` // what the desk found of Because
	Conditions []Evidence `json:"-"` // what it found of the owner's conditions
}

// WithSymbol returns the request with the venue's spelling. With a key it keeps the
// client's spelling, so that a repeat is recognised without the venue.
func (r Request) WithSymbol(s market.Symbol) Request {
	if r.Key != "" && !r.matchesSymbol(s) {
		r.RequestedSymbol = r.Symbol
	}
	r.Symbol = s
	return r
}

// matchesSymbol reports whether the request names the symbol, perhaps without the venue.
func (r Request) matchesSymbol(s market.Symbol) bool {
	return r.Symbol.Name == s.Name && (r.Symbol.Venue == "" || r.Symbol.Venue == s.Venue)
}

// Matches reports whether the order is the one requested, in either spelling.
func (r Request) Matches(o Order) bool {
	asked := r.Terms()
	if o.Asked == "" && r.Sizing.SetsQuantity() { // an order of a version that did not keep what was asked
		spec := r.Spec("", "")
		spec.Quantity = o.Quantity
		asked = spec.Terms()
	}
	return (r.matchesSymbol(o.Symbol) || !o.RequestedSymbol.IsZero() && r.Symbol == o.RequestedSymbol) &&
		asked == cmp.Or(o.Asked, o.Terms()) && r.Replaces == o.Replaces && r.NotAfter.Equal(o.NotAfter) && r.Sizing.Equal(o.Sizing) &&
		r.Deployment == o.Deployment && matches(r.Because, o.Evidence)
}

// Spec returns the order that is sent for the request, or the first of its group: the entry
// of a bracket, the target of a pair. Legs returns the others.
func (r Request) Spec(id string, owner principal.Owner) Spec {
	s := Spec{
		ID: id, Owner: owner, Symbol: r.Symbol, Side: r.Side, Type: r.Type, Quantity: r.Quantity, Price: r.Price,
		StopPrice: r.StopPrice, TimeInForce: r.TimeInForce, PostOnly: r.PostOnly, ReduceOnly: r.ReduceOnly, Protect: r.Protect,
	}
	switch {
	case r.ReduceOnly && r.Protect.IsZero():
		s.Role = Exit
	case r.ReduceOnly:
		return s.exit()
	case !r.Protect.IsZero():
		s.Role, s.Group.Name = Entry, id
	}
	return s
}

// exit returns the order that closes a position at the prices of Protect: a stop, a target,
// or a target whose Protect has the stop of the pair.
func (s Spec) exit() Spec {
	p := s.Protect
	s.Protect = Protection{}
	if !p.TakeProfit.IsPositive() {
		s.Role, s.StopPrice, s.TrailPercent = StopLoss, p.StopLoss, p.TrailPercent
		if p.StopLossLimit.IsPositive() {
			s.Type, s.Price = Limit, p.StopLossLimit
		}
		return s
	}
	s.Role, s.Type, s.Price = TakeProfit, Limit, p.TakeProfit
	if p.HasStop() {
		p.TakeProfit = decimal.Zero
		s.Protect, s.Group.Name = p, s.ID
	}
	return s
}

// Terms is what an order asks for, in its symbol. Equal terms ask for the same.
type Terms string

// Terms returns every field but those that say which order it is, in which symbol and how
// the venue gets it, so
// that a field added later counts too. Amounts are written without trailing zeros.
func (s Spec) Terms() Terms {
	s.ID, s.Owner, s.Symbol, s.Group, s.Edge, s.Best = "", "", market.Symbol{}, Group{}, decimal.Zero, decimal.Zero
	return Terms(fmt.Sprintf("%+v", s))
}

// Placed is an order as it was placed, with what the client learns beside it.
type Placed struct {
	Order
	Legs     []Order   `json:"legs,omitempty"`     // the other orders of its group, the stop first; the other parts of an exit above what the venue takes at once
	Estimate *Estimate `json:"estimate,omitempty"` // of a dry run, or of a quantity that follows from a risk
	Released []string  `json:"released,omitempty"` // IDs of the orders that are cancelled because they hold what this one sells

	UnprotectedFor time.Duration `json:"unprotected_for,omitempty"` // from the end of the stop that it replaces until it was accepted

	Plan    []Line   `json:"plan,omitempty"`    // of the symbol, after it
	Changed []string `json:"changed,omitempty"` // IDs of the lines whose prices it changed
}

// Estimate is what an order would cost and risk, in the account's currency unless it is a
// price. A field is zero where it is unknown or does not apply.
type Estimate struct {
	Price        decimal.Decimal `json:"price,omitzero"`         // at which it would plausibly trade
	Value        decimal.Decimal `json:"value,omitzero"`         // of the quantity at that price
	Fee          decimal.Decimal `json:"fee,omitzero"`           // of the order itself, estimated
	StopDistance decimal.Decimal `json:"stop_distance,omitzero"` // from Price to the stop, in percent
	Risk         decimal.Decimal `json:"risk,omitzero"`          // loss at the stop, with fees both ways and slippage
	RiskPercent  decimal.Decimal `json:"risk_percent,omitzero"`  // of Equity
	Reward       decimal.Decimal `json:"reward,omitzero"`        // profit at the target, less fees
	Equity       decimal.Decimal `json:"equity,omitzero"`        // of the account
	Quantity     decimal.Decimal `json:"quantity,omitzero"`      // that follows from a risk
	CappedBy     string          `json:"capped_by,omitempty"`    // the limit that made Quantity smaller
	Limits       []LimitLeft     `json:"limits,omitempty"`       // what would be left of each limit after the order

	NeedsApproval bool `json:"needs_approval,omitempty"` // it would wait for the owner

	Margin              decimal.Decimal `json:"margin,omitzero"`               // of a perpetual future: what the order sets aside
	Leverage            decimal.Decimal `json:"leverage,omitzero"`             // with which it opens
	Liquidation         decimal.Decimal `json:"liquidation,omitzero"`          // price that ends the position after the order; zero if none does
	LiquidationDistance decimal.Decimal `json:"liquidation_distance,omitzero"` // from Price, in percent
}

// LimitLeft is what is left of a limit of the policy.
type LimitLeft struct {
	Rule string          `json:"rule"`
	Left decimal.Decimal `json:"left"`
}
