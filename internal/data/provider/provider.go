// Package provider is the contract between candela and a source of bars: what
// may be asked, what comes back, and which errors say what. It holds no source;
// each has a package of its own below this one and passes the suite in
// providertest.
package provider

import (
	"context"
	"time"

	"github.com/shopspring/decimal"

	"candela/lib/market"
)

// Provider reads bars from one source. It is safe for concurrent use and leaves
// no goroutine behind when a call returns.
//
// Errors are faults: UnknownSymbol, UnsupportedInterval, and fault.Unreachable
// for a source that does not answer. A call whose context ends returns an error
// that wraps the context's.
type Provider interface {
	// Name is the venue prefix of a symbol, lower case, such as "binance".
	Name() string
	// Capabilities does not change while the provider lives.
	Capabilities() Caps
	// Instrument returns what is known of a symbol.
	Instrument(ctx context.Context, s market.Symbol) (Instrument, error)
	// Bars returns one page of bars.
	Bars(ctx context.Context, q BarQuery) (BarPage, error)
}

// Emit delivers an event of a stream. It waits while the receiver is busy and returns
// the error of ctx when that ends first. An Alive may be dropped instead of waiting. It
// is safe for concurrent use.
type Emit func(ctx context.Context, e Event) error

// Streamer is a Provider that also sends bars as they form.
type Streamer interface {
	// Stream emits events for the subscriptions until ctx ends or the source is
	// lost, and always returns an error saying which; the caller then reads what it
	// missed with Bars and calls again. It emits nothing after it has returned.
	//
	// For each subscription closed bars come strictly ascending, each once, and a
	// forming bar opens after the last closed one. providertest.CheckEvents holds
	// this.
	//
	// The first event says that the subscriptions are in force; where bars are rare
	// that is an Alive, and more of them keep a quiet stream from being taken for a
	// dead one.
	//
	// A provider whose Caps are Dynamic follows changes, which may be nil: it takes one
	// as soon as the one before was sent to the venue; a drop of what is not
	// subscribed and an addition of what is are no errors. After a drop was taken
	// no more events of it come. Too many subscriptions at a time are an Invalid
	// fault, which ends the stream.
	Stream(ctx context.Context, subs []Sub, changes <-chan Change, emit Emit) error
}

// Change alters the subscriptions of a stream: Drop goes first.
type Change struct{ Add, Drop []Sub }

// Versioned is a Provider whose bars may be replaced at any time: those of files.
type Versioned interface {
	// Version differs from what it was once the bars of a symbol are others. It is asked before
	// each answer, so it takes no longer than to look at the time of a file.
	Version(s market.Symbol) string
}

// Caps says what a provider can do.
type Caps struct {
	Intervals []market.Interval          // ascending; what Bars accepts, of those that texts name
	Builds    []market.Interval          // ascending; Bars accepts every interval that one of these divides, too
	PageSize  int                        // the most bars in one page, at least 1
	Live      bool                       // the provider is a Streamer and can stream
	Dynamic   bool                       // a stream follows changes, so that one more symbol does not cost a connection
	MaxSubs   int                        // the most subscriptions of one stream; 0 means no bound
	Part      func(market.Symbol) string // symbols of different parts need streams of their own; nil if all share one
	OneStream bool                       // the venue allows one stream at a time, so a new one must wait for the end of the old
	TakerBuy  bool                       // bars carry taker-buy volume
	Sessions  bool                       // instruments may trade in sessions: see Instrument.Calendar
	Synthetic bool                       // the bars are made up and never stand in for real ones
	Files     bool                       // the bars are what somebody wrote into files: reading them again makes none newer
}

// Instrument is what a venue says about a symbol. The amounts are exact
// decimals, because an order is checked against them to the last digit and 0.1
// has no binary fraction. Zero means that the venue sets no such rule or does
// not say.
type Instrument struct {
	Symbol      market.Symbol // as the provider spells it, with its name as the venue
	Class       Class         // empty when the venue does not say
	Base, Quote string        // what is traded, and the currency of the price; empty when unknown
	Settle      string        // of a perpetual: the currency of its margin and profit
	Calendar    market.Calendar

	Tick        decimal.Decimal // prices are multiples of it
	Digits      int             // how many significant digits a price has at most, whole numbers apart; 0 for any
	Step        decimal.Decimal // quantities are multiples of it
	MinQuantity decimal.Decimal
	MaxQuantity decimal.Decimal
	MaxMarket   decimal.Decimal // the most of a market order, where it is less than MaxQuantity
	MinPrice    decimal.Decimal
	MaxPrice    decimal.Decimal
	MinNotional decimal.Decimal // the least price times quantity
	MaxNotional decimal.Decimal

	MarkTriggers bool // stops wait for the mark price; else for the last one
}

// TickAt returns the number that prices near one are multiples of; zero for any.
func (i *Instrument) TickAt(price decimal.Decimal) decimal.Decimal {
	if i.Digits == 0 || !price.IsPositive() {
		return i.Tick
	}
	first := price.NumDigits() + int(price.Exponent())                        // digits before the point; below 1 less the zeros after it
	return decimal.Max(i.Tick, decimal.New(1, int32(min(0, first-i.Digits)))) //nolint:gosec // a few digits
}

// Trades reports whether an order of a quantity is not too small, with so much held that it could
// close. Where quantities have no step, all that is held may be closed, however little it is.
func (i *Instrument) Trades(quantity, held decimal.Decimal) bool {
	return quantity.GreaterThanOrEqual(i.MinQuantity) || i.Step.IsZero() && quantity.Equal(held)
}

// Facts returns what indicators may know of the instrument.
func (i *Instrument) Facts() market.Facts {
	return market.Facts{
		Symbol: i.Symbol, Class: string(i.Class), Base: i.Base, Quote: i.Quote,
		Tick: i.Tick.InexactFloat64(), Step: i.Step.InexactFloat64(),
	}
}

// BarQuery asks for bars of one symbol and interval. Times are open times in
// unix seconds.
//
// With From set the page holds the oldest bars that open at From or later;
// without it, the newest. To ends the range in both cases: only bars that open
// before it. A time of 0 is no bound, so 1970-01-01T00:00:00Z itself cannot be
// one. To equal to From is an empty range; To before From is an error.
type BarQuery struct {
	Symbol   market.Symbol
	Interval market.Interval
	From     int64 // inclusive; 0 means none
	To       int64 // exclusive; 0 means up to the newest bar, closed or not
	Limit    int   // the most bars wanted; 0 or more than the page size means the page size
}

// BarPage is the answer to a BarQuery. The bars are shared and read-only.
type BarPage struct {
	Bars    market.Bars // ascending, at most Limit
	Running bool        // the last bar is still forming; all others are closed
	// More says that the range asked for goes on beyond this page: to newer bars
	// when From was set, to older ones otherwise. Next is then where: From, or To,
	// of the following query, which Following makes. It is beyond every bar of the
	// page, also of an empty one, so that following pages comes to an end.
	More bool
	Next int64
	// Built is set when the provider made these bars from finer ones; Holes are
	// then the finer bars that are missing within the page.
	Built     market.Interval
	Holes     []market.Gap
	Synthetic bool // the bars are made up
}

// Following returns the query for the page after p, which must have More.
func (q BarQuery) Following(p BarPage) BarQuery {
	next := p.Next
	if next == 0 {
		next = -1 // 0 would be no bound; bars open at whole minutes, so a second earlier asks for the same
	}
	if q.From != 0 {
		q.From = next
	} else {
		q.To = next
	}
	return q
}

// Sub is a subscription to one symbol's bars.
type Sub struct {
	Symbol   market.Symbol
	Interval market.Interval
}

// EventKind is the type of an Event.
type EventKind uint8

// The kinds of event.
const (
	Forming EventKind = iota + 1 // Bar as it is so far
	Closed                       // Bar is final
	Traded                       // Price alone
	// Ending says that the venue is about to end the stream, by its own rules or as
	// it said so: another one should be started before this one is lost. The event
	// belongs to no subscription and carries only At.
	Ending
	// Alive says that the venue is there though nothing trades. It, too, belongs to
	// no subscription and carries only At.
	Alive
	// Marked is a mark price of a perpetual future, by which positions are liquidated: Price alone. Where a
	// venue has one, it comes beside the events of each subscription of the symbol, in no order with them.
	Marked
)

// Event is something that happened in a stream.
type Event struct {
	Sub
	Kind  EventKind
	Bar   market.Bar // of Forming and Closed
	Price float64    // the last price; the bar's close for Forming and Closed
	At    time.Time  // when it happened, by the venue's clock
}

// Clock is the time at a source whose time is not ours, such as a
// replay. The zero value is the clock on the wall.
type Clock struct {
	Start int64     // the source's time, in unix seconds, at Began
	Began time.Time // when its clock was started
	Speed float64   // seconds of the source per second on the wall; 0 for the zero value
}

// Unix returns the source's time at a moment on the wall.
func (c Clock) Unix(at time.Time) int64 {
	if c.Speed == 0 {
		return at.Unix()
	}
	return c.Start + int64(at.Sub(c.Began).Seconds()*c.Speed)
}

// Wall returns when the source's clock shows t.
func (c Clock) Wall(t int64) time.Time {
	if c.Speed == 0 {
		return time.Unix(t, 0)
	}
	// Rounded up to a microsecond, so that Unix at that moment is t and not the
	// second before.
	return c.Began.Add(time.Duration(float64(t-c.Start)/c.Speed*1e6+1) * time.Microsecond)
}

// Clocked is a Provider with a time of its own.
type Clocked interface {
	Clock() Clock
}

// SeriesSource returns values that do not come with bars, such as the funding rate
// of a future. A Provider may be one; so may a source that has nothing else. It
// is safe for concurrent use and leaves no goroutine behind when a call returns.
type SeriesSource interface {
	// Name is that of the provider, or of the publisher.
	Name() string
	// SeriesNames lists what there is, by the names indicators ask with:
	// "funding_rate" as a fraction per funding period, "open_interest" in quote
	// currency, "long_accounts" as a share from 0 to 1, "fear_greed" from 0 to 100.
	SeriesNames() []string
	// Series returns the points that answer q, all pages of them. Errors are as
	// those of Provider.
	Series(ctx context.Context, q SeriesQuery) ([]Point, error)
}

// SeriesQuery asks for the points that were known from From to To, in unix
// seconds: those in between, and the last one before From where the source goes
// back that far.
type SeriesQuery struct {
	Name     string
	Symbol   market.Symbol   // zero for a series of the whole market
	Interval market.Interval // of the bars the points will stand beside: a source with several resolutions need not be finer
	From, To int64           // both inclusive
}

// Funding is what longs pay to shorts at a funding time of a perpetual future, as a part of the position at
// the mark price.
type Funding struct {
	At         time.Time
	Rate, Mark float64
}

// Point is a value from the time it was known. Points ascend in T.
type Point struct {
	T int64 // unix seconds
	V float64
}
