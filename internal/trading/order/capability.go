package order

import (
	"slices"
	"time"

	"github.com/shopspring/decimal"
)

// Capabilities are the orders that a venue takes in a symbol, besides market and limit
// orders on their own. The zero value is a venue that takes nothing else.
type Capabilities struct {
	Stops      bool          // a market order with a stop price
	StopLimits bool          // a limit order with a stop price
	Times      []TimeInForce // beside the usual one; nil for that alone
	PostOnly   bool

	TrailMin  decimal.Decimal // of TrailPercent; both zero where orders cannot trail
	TrailMax  decimal.Decimal
	TrailStep decimal.Decimal // zero for any

	Pairs       bool // a target and a stop of which one cancels the other
	OneLeg      bool // an entry with a stop or a target
	TwoLegs     bool // an entry with both
	MarketEntry bool // an entry with legs may be a market order; else it is sent as a limit order at Edge, fill or kill
	TrailLeg    bool // the stop of an entry or of a pair may trail
	LegsInPart  bool // legs work for what is filled of their entry; else they wait until it is filled completely
	WholeLegs   bool // stops, trails and groups only in whole units, as of shares
	FlatEntry   bool // an entry with legs only while nothing is held in the symbol
	SellEntry   bool // an entry with legs may sell short
	StopEntry   bool // an entry with legs may wait for a stop price
	TrailFrom   bool // a trail may go on from a best price that is past
	MaxStops    int  // how many stops the venue holds in a symbol at a time; 0 for no bound

	Void      time.Duration // how long after it was sent a request may arrive; the venue drops a later one. Zero where it drops none
	NeedsEdge bool          // a market order is sent with its worst price, Spec.Edge
	Serial    bool          // one request at a time, cancels first

	MarkTriggers bool // stops wait for the mark price; else for the last one
	Children     bool // a stop whose price is reached becomes another order, which a report calls Linked

	Perpetuals bool // positions in perpetual futures, with a margin for each

	CancelEndsGroup bool // the cancel of one order of a group ends the others; else legs and pairs are cancelled one by one
	KeepsLegs       bool // after the cancel of an entry that is filled in part, its legs work on for that part
}

// Held returns what is possible when candela holds stops and targets itself: the venue gets
// the entry alone, and each of the others when its price is reached. An entry may wait for a
// stop price where the venue holds that.
func (c Capabilities) Held() Capabilities {
	c.StopEntry = c.Stops && c.StopLimits
	c.Stops, c.StopLimits, c.Pairs, c.OneLeg, c.TwoLegs, c.MarketEntry, c.TrailLeg, c.LegsInPart, c.KeepsLegs = true, true, true, true, true, true, true, true, true
	c.TrailMin, c.TrailMax, c.TrailStep = decimal.New(1, -1), decimal.NewFromInt(20), decimal.Zero
	c.WholeLegs, c.FlatEntry, c.CancelEndsGroup, c.TrailFrom, c.MaxStops, c.MarkTriggers = false, false, false, true, 0, false
	return c
}

// Triggering returns a quote with the price for which the venue's stops wait as the last one. Where no mark price is
// known, that is the last price.
func (c Capabilities) Triggering(q Quote) Quote {
	if c.MarkTriggers && q.Mark.IsPositive() {
		q.Last, q.At = q.Mark, q.MarkedAt
	}
	return q
}

// Trails reports whether orders can trail.
func (c Capabilities) Trails() bool { return c.TrailMax.IsPositive() }

// Takes reports whether an order may have the time in force.
func (c Capabilities) Takes(t TimeInForce) bool { return t == 0 || slices.Contains(c.Times, t) }

// TimeNames lists the names of the times in force.
func (c Capabilities) TimeNames() []string {
	names := make([]string, 0, len(c.Times))
	for _, t := range c.Times {
		names = append(names, t.String())
	}
	return names
}
