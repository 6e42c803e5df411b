package simulate

import "math"

// Standing is an order that a strategy has given and that has not filled when a bar has closed: what it wants at its
// venue until the next bar closes.
type Standing struct {
	Kind     StandingKind
	ID       string
	From     string // of an exit or a close, the entry that it belongs to; "" for all
	Trade    int    // of an exit, the number of the trade that it closes; 0 while it waits for its entry
	Side     Side
	Quantity float64 // of an exit that waits for its entry, what it names itself, else NaN
	Closes   float64 // how much of Quantity closes what is held against it; of an order at the market, what none before it closes
	Limit    float64 // NaN for none
	Stop     float64 // NaN for none
	Trails   bool    // the stop moves with the price, once that is far enough where there is no stop yet
	Early    bool    // an exit that waits for its entry, whose price Apart counts from
	Part     bool    // such an exit closes less than its entry brings
	Apart    Distances
}

// Distances are those of an exit from the price of its entry, which is not known yet. Zero is none.
type Distances struct {
	Limit, Stop               float64 // in money
	LimitPercent, StopPercent float64
}

// StandingKind says what an order is for.
type StandingKind uint8

// An order opens or changes a position, closes it at a price, or closes it at the market.
const (
	StandingEntry StandingKind = iota
	StandingExit
	StandingClose
)

// String returns the kind as a word.
func (k StandingKind) String() string {
	return [...]string{StandingEntry: "entry", StandingExit: "exit", StandingClose: "close"}[k]
}

// Standing returns the orders that stand after the newest bar, in the order in which they were given. It knows nothing
// of the next bar: what the cash or the margin does not cover there is cut then.
func (a *Account) Standing() []Standing {
	var all []Standing
	closed := 0.0 // by the orders at the market so far
	if a.risk.leaving && a.size != 0 {
		held := math.Abs(a.size)
		closed = held
		all = append(all, Standing{Kind: StandingClose, ID: leavingText, Side: a.against(), Quantity: held, Closes: held, Limit: math.NaN(), Stop: math.NaN()})
	}
	for _, o := range a.orders {
		switch o.kind {
		case exitOrder:
			all = append(all, a.standingExits(o)...)
		case closeOrder:
			qty := min(a.cut(o.qty), math.Abs(a.size))
			closed += qty
			all = append(all, Standing{Kind: StandingClose, ID: o.id, From: o.from, Side: o.side, Quantity: qty, Closes: qty, Limit: math.NaN(), Stop: math.NaN()})
		default:
			qty := a.cut(o.qty + o.reverse)
			s := Standing{ID: o.id, Side: o.side, Quantity: qty, Closes: min(qty, a.closes(o.side)), Limit: o.limit, Stop: o.stop}
			if o.armed {
				s.Stop = math.NaN()
			}
			if math.IsNaN(s.Limit) && math.IsNaN(s.Stop) {
				s.Closes = min(qty, max(0, a.closes(o.side)-closed))
				closed += s.Closes
			}
			all = append(all, s)
		}
	}
	return all
}

// standingExits returns the parts of an exit that close trades, and the exit itself for entries that have not filled.
func (a *Account) standingExits(o *order) []Standing {
	var all []Standing
	for i := range o.legs {
		l := &o.legs[i]
		stop, _ := o.stopPrice(a, l)
		if !l.live() || !a.holds(l.entry) || math.IsNaN(l.limit) && math.IsNaN(stop) && math.IsNaN(l.wake) {
			continue
		}
		qty := a.cut(l.qty)
		all = append(all, Standing{Kind: StandingExit, ID: o.id, From: a.named(l.entry), Trade: l.entry, Side: -l.side, Quantity: qty, Closes: qty, Limit: l.limit, Stop: stop, Trails: !math.IsNaN(l.wake)})
	}
	for _, w := range a.orders {
		if (w.kind == entryOrder || w.kind == plainOrder) && (o.from == "" || o.from == w.id) && w.qty > 0 {
			r := o.exit
			all = append(all, Standing{
				Kind: StandingExit, ID: o.id, From: w.id, Side: -w.side, Quantity: r.Quantity, Limit: a.snap(r.Limit, -w.side, false), Stop: a.snap(r.Stop, -w.side, true), Early: true,
				Trails: !math.IsNaN(r.TrailPrice) || !math.IsNaN(r.TrailPoints), Part: r.Quantity < w.qty || r.Percent < 100,
				Apart: Distances{Limit: a.ticks(r.Profit), Stop: a.ticks(r.Loss), LimitPercent: r.ProfitPercent, StopPercent: r.LossPercent},
			})
		}
	}
	return all
}

// ticks returns a number of ticks as money, 0 for none.
func (a *Account) ticks(n float64) float64 {
	if math.IsNaN(n) {
		return 0
	}
	return a.round(n * a.cfg.Tick)
}
