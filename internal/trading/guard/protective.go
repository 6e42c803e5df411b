package guard

import (
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/trading/order"
	"candela/lib/market"
)

// StopRequirement says which orders that open a position need a stop.
type StopRequirement string

// The requirements.
const (
	StopNever  StopRequirement = none
	StopLive   StopRequirement = "live" // with real money
	StopAlways StopRequirement = "always"
)

// requires reports whether orders of a mode need a stop.
func (r StopRequirement) requires(m order.Mode) bool {
	return r == StopAlways || r == StopLive && m == order.Live
}

// RequiresStop reports whether a position in a symbol needs a stop.
func (p Policy) RequiresStop(s market.Symbol, m order.Mode) bool {
	return p.For(s).RequireStop.requires(m)
}

// HeldStops says what happens to protection that the venue cannot hold.
type HeldStops string

// The choices.
const (
	HeldRefuse HeldStops = "refuse"
	HeldAllow  HeldStops = "allow"
)

// OnUnprotected says what is done about a position without the stop it should have.
type OnUnprotected string

// The choices.
const (
	UnprotectedAlarm OnUnprotected = "alarm" // the owner is notified
	UnprotectedExit  OnUnprotected = "exit"  // what has no stop is closed at market
)

// Protective are the limits of stops, targets and risk that can be set per symbol.
type Protective struct {
	RequireStop          StopRequirement
	MaxTradeRisk         Limit // what one order may lose at its stop
	MaxTradeRiskPct      Limit // the same, in percent of the equity
	MinStopDistancePct   Limit // a lower bound
	MaxStopDistancePct   Limit
	MaxTargetDistancePct Limit
	StopSlippagePct      decimal.Decimal // how far beyond its price a stop is assumed to fill
	TakerFeePct          decimal.Decimal // assumed where the broker does not report its fee
	AllowWiderStop       bool
}

func defaultProtective() Protective {
	off := Limit{Off: true}
	return Protective{
		RequireStop: StopNever, MaxTradeRisk: off, MaxTradeRiskPct: off,
		MinStopDistancePct:   Limit{Value: decimal.New(1, -1)},
		MaxStopDistancePct:   Limit{Value: decimal.NewFromInt(20)},
		MaxTargetDistancePct: Limit{Value: decimal.NewFromInt(50)},
		StopSlippagePct:      decimal.New(5, -1),
		TakerFeePct:          decimal.New(1, -1),
	}
}

// Setting is a key of the policy that denies no order by itself.
type Setting struct {
	Name  string
	Value string // under the policy
	Means string
}

// Settings returns the settings of a policy.
func Settings(p Policy) []Setting {
	return []Setting{
		{"stop_slippage_pct", p.StopSlippagePct.String() + " %", "How far beyond its price a stop is assumed to fill, in the risk of an order."},
		{"taker_fee_pct", p.TakerFeePct.String() + " %", "The fee of a trade, in the risk of an order, where the broker does not report it."},
		{"held_stops", string(p.HeldStops), "Protection that the venue cannot hold: `refuse` denies it, with `allow` candela watches the price itself. That protects only while candela runs."},
		{"on_unprotected", string(p.OnUnprotected), "What is done about a position without the stop it should have: `alarm` notifies the owner, `exit` closes it at market."},
		{"unprotected_grace", p.UnprotectedGrace.String(), "How long a position may lack its stop before that counts."},
	}
}

// protectiveKeys lists the keys of stops, targets and risk.
func protectiveKeys() []policyKey {
	return []policyKey{
		choiceKey("require_stop", true, func(p *Policy) *StopRequirement { return &p.RequireStop }, StopLive, StopAlways, StopNever),
		limitKey("max_trade_risk", true, readAmount, func(p *Policy) *Limit { return &p.MaxTradeRisk }),
		limitKey("max_trade_risk_pct", true, readPercent, func(p *Policy) *Limit { return &p.MaxTradeRiskPct }),
		limitKey("max_open_risk", false, readAmount, func(p *Policy) *Limit { return &p.MaxOpenRisk }),
		limitKey("min_stop_distance_pct", true, readPercent, func(p *Policy) *Limit { return &p.MinStopDistancePct }),
		limitKey("max_stop_distance_pct", true, readPercent, func(p *Policy) *Limit { return &p.MaxStopDistancePct }),
		limitKey("max_target_distance_pct", true, readTargetPercent, func(p *Policy) *Limit { return &p.MaxTargetDistancePct }),
		rateKey("stop_slippage_pct", func(p *Policy) *decimal.Decimal { return &p.StopSlippagePct }),
		rateKey("taker_fee_pct", func(p *Policy) *decimal.Decimal { return &p.TakerFeePct }),
		flagKey("allow_wider_stop", func(p *Policy) *bool { return &p.AllowWiderStop }),
		choiceKey("held_stops", false, func(p *Policy) *HeldStops { return &p.HeldStops }, HeldRefuse, HeldAllow),
		choiceKey("on_unprotected", false, func(p *Policy) *OnUnprotected { return &p.OnUnprotected }, UnprotectedAlarm, UnprotectedExit),
		spanKey("unprotected_grace", time.Second, 10*time.Minute, func(p *Policy) *time.Duration { return &p.UnprotectedGrace }),
	}
}

// readTargetPercent reads a distance above the price, which may be more than the price.
func readTargetPercent(raw any) (Limit, string) {
	return readLimit(raw, `a number above 0 and at most 1000, in per cent, or "none"`, func(d decimal.Decimal) bool {
		return d.IsPositive() && d.LessThanOrEqual(decimal.NewFromInt(1000))
	})
}

// checkDistances reports stop distances that no stop can have.
func (r *reader) checkDistances(label string, l Limits) {
	least, most := l.MinStopDistancePct, l.MaxStopDistancePct
	if !least.Off && !most.Off && least.Value.GreaterThan(most.Value) {
		r.problems = append(r.problems, invalidValue(label+"min_stop_distance_pct", least, "a number of at most max_stop_distance_pct, which is "+most.String()))
	}
}
