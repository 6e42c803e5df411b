package alert

import (
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/kit/principal"
	"candela/lib/market"
)

// Type is the type of a condition.
type Type uint8

// The types. Names returns what clients call them.
const (
	PriceAbove      Type = iota + 1 // the traded price is at or above Threshold
	PriceBelow                      // the traded price is at or below Threshold
	IndicatorSignal                 // a closed bar confirms Signal of Indicator
	PriceCrosses                    // the traded price goes from one side of Threshold to the other
	Value                           // Left Op Right, at the close of a bar
	All                             // all Members are true at the close of one bar
	Any                             // at least one of Members is
	PercentChange                   // the close moved by Op Threshold percent over Bars bars
	NewHigh                         // the high is above those of the Bars bars before
	NewLow                          // the low is below those of the Bars bars before
)

// Types returns the names of the types that an alert had from the beginning.
func Types() []string { return Names()[:IndicatorSignal] }

// Names returns the names of all types.
func Names() []string {
	return []string{
		"price_above", "price_below", "indicator_signal",
		"price_crosses", "value", "all", "any", "percent_change", "new_high", "new_low",
	}
}

// String returns the name that clients use, or "".
func (t Type) String() string {
	if t < PriceAbove || t > NewLow {
		return ""
	}
	return Names()[t-1]
}

// ParseType returns the type with a name, and false if there is none.
func ParseType(name string) (Type, bool) {
	i := slices.Index(Names(), name)
	return Type(i + 1), i >= 0 //nolint:gosec // at most the number of types
}

// OnPrice reports whether the condition is about the traded price, on every trade. All
// others are about the bars of an interval.
func (t Type) OnPrice() bool { return t == PriceAbove || t == PriceBelow || t == PriceCrosses }

// Op compares the two sides of a condition.
type Op uint8

// The operators.
const (
	Less Op = iota + 1
	LessEqual
	Greater
	GreaterEqual
	CrossesAbove // the bar before was at or below, this one is above
	CrossesBelow // the bar before was at or above, this one is below
	Enters       // the bar before was outside the range, this one is inside; its ends are inside
	Leaves       // the bar before was inside the range, this one is outside
)

// Ops returns the names of the operators.
func Ops() []string {
	return []string{"<", "<=", ">", ">=", "crosses_above", "crosses_below", "enters", "leaves"}
}

// String returns the name that clients use, or "".
func (o Op) String() string {
	if o < Less || o > Leaves {
		return ""
	}
	return Ops()[o-1]
}

// ParseOp returns the operator with a name, and false if there is none.
func ParseOp(name string) (Op, bool) {
	i := slices.Index(Ops(), name)
	return Op(i + 1), i >= 0 //nolint:gosec // at most the number of operators
}

// Ranged reports whether the right side is a range.
func (o Op) Ranged() bool { return o == Enters || o == Leaves }

// Event reports whether the operator is true at single bars, where something happens.
// The others may be true at many bars in a row.
func (o Op) Event() bool { return o >= CrossesAbove }

// An Operand is one side of a condition: the line of an indicator if Indicator is set, a
// price of the bar if Price is, otherwise Number.
type Operand struct {
	Number    decimal.Decimal
	Price     string // one of Prices
	Indicator string // as clients name it
	Params    string // its parameters: a JSON object, "" for the defaults
	Line      string // its label; may be empty if the indicator has one line
}

// Prices returns the prices of a bar that a condition can use.
func Prices() []string {
	return []string{"open", "high", "low", "close", "hl2", "hlc3", "ohlc4", "volume"}
}

// Condition is the condition of an alert. Normalize checks it and completes it.
type Condition struct {
	Type      Type
	Threshold decimal.Decimal // of prices and PercentChange; exact, as the client wrote it
	Indicator string          // of IndicatorSignal; its name in the catalogue
	Signal    string
	Params    string // of Indicator: a JSON object, "" for the defaults

	Left, Right Operand         // of Value
	Op          Op              // of Value and PercentChange
	Low, High   decimal.Decimal // of Value with Enters and Leaves, instead of Right
	Bars        int             // of PercentChange, NewHigh and NewLow
	Members     []Condition     // of All and Any; none of these types, and no PriceCrosses

	// Interval is that of a member whose bars are longer than the alert's; zero for any other.
	Interval market.Interval
}

// Bounds of a condition.
const (
	MaxMembers   = 8
	MaxBars      = 5000
	MaxIntervals = 3 // of the members, the alert's among them
)

// Repeat says how often an alert fires. The zero value is once.
//
// A repeating alert fires when its condition becomes true: a comparison after a bar at
// which it was false, a price after it was on the other side, a signal, a cross and a new
// high each time. What becomes true before Cooldown has passed since the last firing does
// not fire.
type Repeat struct {
	MaxFires int // 0 for an alert that fires once
	Cooldown time.Duration
}

// Bounds of a repeating alert. One on trades fires at most once a minute, one on closed
// bars at most once a bar: an owner cannot be flooded.
const (
	MaxFires        = 1000 // also the default
	MinTickCooldown = time.Minute
	MaxCooldown     = 30 * 24 * time.Hour
)

// Repeats reports whether the alert may fire more than once.
func (r Repeat) Repeats() bool { return r.MaxFires > 0 }

// State is what an alert has done. The store changes it in the transaction of a firing.
type State struct {
	Fires     int
	LastFired time.Time // zero before the first firing

	// Side is the side of the threshold on which the price of a PriceCrosses condition
	// last was: -1 at or below, 1 above.
	Side int8
}

// Alert is an active alert. Its times have millisecond precision.
type Alert struct {
	ID    string          // from id.New, unique over all owners
	Owner principal.Owner // every query names one

	Symbol     market.Symbol   // as the client wrote it
	Instrument market.Symbol   // with its venue, chosen when the alert was created
	Interval   market.Interval // of a condition on bars, zero otherwise
	Condition  Condition
	OnTick     bool // a Value condition is also evaluated while a bar forms
	Repeat     Repeat
	Created    time.Time
	Expires    time.Time // zero for never
	Note       string

	// BarOpen is the open of the bar that was forming when a price alert was created, if
	// the price had not reached the threshold in it by then; otherwise zero. The high and
	// low of that bar then count for the alert.
	BarOpen time.Time

	State State

	// Resumed is when its owner resumed it after it was set aside; zero for never. Bars that closed
	// before do not count.
	Resumed time.Time

	// Idle says why nothing evaluates the alert; nil for one that is evaluated.
	Idle *Idle
}

// Extended reports whether the alert needs more than the three first types and one
// firing, and so more than a program that knows only these can do.
func (a *Alert) Extended() bool {
	return a.Condition.Type > IndicatorSignal || a.Condition.Params != "" || a.OnTick || a.Repeat.Repeats()
}
