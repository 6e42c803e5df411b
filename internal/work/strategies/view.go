package strategies

import (
	"math"
	"slices"

	"github.com/shopspring/decimal"

	"candela/internal/trading/deploy"
	"candela/lib/market"
)

// Stages and states as the faces name them.
const (
	StageShadow   = string(deploy.Shadow)
	StagePaper    = string(deploy.Paper)
	StageLive     = string(deploy.Live)
	StateProposed = string(deploy.Proposed)
	StateRunning  = string(deploy.Running)
	StatePaused   = string(deploy.Paused)
	StateStopping = string(deploy.Stopping)
)

// View is a strategy as its people and agents see it.
type View struct {
	ID       string `json:"deployment_id"`
	Name     string `json:"name"`
	State    string `json:"state"`
	Stage    string `json:"stage,omitempty"`
	Cause    string `json:"cause,omitempty"`
	Detail   string `json:"detail,omitempty"`
	Program  string `json:"program"`
	Symbol   string `json:"symbol"`
	Interval string `json:"interval"`
	Model    *Model `json:"model,omitempty"`
	Intents  int    `json:"intents"`
	Through  string `json:"through,omitempty"` // close of the newest bar that was computed, by its open
	Next     string `json:"next,omitempty"`    // what the owner can do
}

// Model is how the model of a strategy stands at its newest closed bar. Its money is simulated.
type Model struct {
	Side     string          `json:"side,omitempty"` // none without a position
	Quantity decimal.Decimal `json:"quantity,omitzero"`
	Average  decimal.Decimal `json:"average_price,omitzero"`
	Price    decimal.Decimal `json:"price"`
	Net      decimal.Decimal `json:"net"`
	Open     decimal.Decimal `json:"open_profit"`
	Trades   int             `json:"trades"`
}

// Detail is a view with the terms.
type Detail struct {
	View
	deploy.Record
	Terms Terms `json:"terms"`
}

// Terms are those of a strategy without the source of its program.
type Terms struct {
	Source int `json:"source_bytes,omitempty"`
	Inputs any `json:"inputs,omitempty"`
	deploy.Account
	From string `json:"from"` // the first bar at which the model may order
}

// Intent is what a strategy wanted at the close of a bar.
type Intent struct {
	Bar string `json:"bar"` // its open
	deploy.Intent
}

// ViewOf shows a strategy.
func ViewOf(d *deploy.Deployment) View {
	v := View{
		ID: d.ID, Name: d.Name, State: string(d.State), Stage: string(d.Stage), Cause: string(d.Cause), Detail: d.Detail, Program: programText(&d.Terms.Program),
		Symbol: d.Terms.Symbol.String(), Interval: d.Terms.Interval.String(), Intents: d.Intents, Next: next(d),
	}
	if d.Through > 0 {
		v.Through = market.Stamp(d.Through)
	}
	if d.Model != nil {
		v.Model = modelOf(d)
	}
	return v
}

// modelOf shows the model of a strategy in the digits of its instrument, and money in cents.
func modelOf(d *deploy.Deployment) *Model {
	price, quantity := -d.Terms.Tick.Exponent(), -d.Terms.Step.Exponent()
	m := &Model{Price: rounded(d.Model.Price, price), Net: rounded(d.Model.Net, moneyDigits), Open: rounded(d.Model.Open, moneyDigits), Trades: d.Model.Trades}
	switch held := d.Model.Position; {
	case held > 0:
		m.Side = "long"
	case held < 0:
		m.Side = "short"
	}
	m.Quantity, m.Average = rounded(math.Abs(d.Model.Position), quantity), rounded(d.Model.Average, price)
	return m
}

const moneyDigits = 2

func rounded(x float64, digits int32) decimal.Decimal {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return decimal.Zero
	}
	return decimal.NewFromFloat(x).Round(max(0, digits))
}

func programText(p *deploy.Program) string {
	switch {
	case p.Name != "":
		return "script " + p.Name
	case p.Script != "":
		return "script"
	default:
		return "rules"
	}
}

// next says what the owner can do with a strategy.
func next(d *deploy.Deployment) string {
	switch d.State {
	case deploy.Proposed:
		return "nothing runs until the owner starts it: candela strategies start " + d.ID
	case deploy.Paused:
		return "only the owner resumes it: candela strategies resume " + d.ID
	default:
		return ""
	}
}

// DetailOf shows a strategy with its terms.
func DetailOf(d *deploy.Deployment) Detail {
	t := &d.Terms
	out := Detail{View: ViewOf(d), Record: d.Record, Terms: Terms{Source: len(t.Program.Script), Account: t.Account, From: market.Stamp(t.From)}}
	if len(t.Program.Inputs) > 0 {
		out.Terms.Inputs = t.Program.Inputs
	}
	return out
}

// MostIntents bounds the intents of one answer.
const MostIntents = 40

// IntentsOf lists the newest intents of a strategy, the newest first, and how many are not listed.
func IntentsOf(d *deploy.Deployment) (all []Intent, more int) {
	all = []Intent{}
	recent := d.Recent()
	for _, r := range slices.Backward(recent[max(0, len(recent)-MostIntents):]) {
		all = append(all, Intent{market.Stamp(r.Bar), r.Intent})
	}
	return all, d.Intents - len(all)
}
