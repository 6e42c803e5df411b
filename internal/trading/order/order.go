// Package order defines orders: a state machine over events, positions over fills, and
// exact money. It does no I/O and reads no clock; the desk calls it.
//
// Events are all that is stored. Apply folds them into an Order, and a Book folds the
// events of one owner into orders and positions. FromReport converts a venue's report to
// events and adds nothing for known facts, so reports may be repeated, late and in any
// order.
package order

import (
	"cmp"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/kit/principal"
	"candela/lib/market"
)

// Side is the direction of an order.
type Side uint8

// The sides, written "buy" and "sell".
const (
	Buy Side = iota + 1
	Sell
)

// Sign returns 1 for Buy and -1 for Sell.
func (s Side) Sign() int64 {
	if s == Sell {
		return -1
	}
	return 1
}

// Opposite returns the other side.
func (s Side) Opposite() Side {
	if s == Buy {
		return Sell
	}
	return Buy
}

// Type is how an order is priced.
type Type uint8

// The types, written "market" and "limit".
const (
	Market Type = iota + 1
	Limit
)

// TimeInForce is how long an order stays open.
type TimeInForce uint8

// The times in force, written "gtc", "day", "ioc" and "fok". Zero is the venue's usual one:
// day for stocks, gtc for all else and for stops and groups at Alpaca.
const (
	GTC TimeInForce = iota + 1 // until it is cancelled
	Day                        // until the session ends
	IOC                        // what can be filled at once
	FOK                        // all at once or nothing
)

// Role is what an order of a group is for. It is zero for an order on its own that may open
// a position.
type Role uint8

// The roles, written "entry", "stop_loss", "take_profit" and "exit".
const (
	Entry      Role = iota + 1 // opens or adds to a position, with orders that protect it
	StopLoss                   // closes a position at a loss
	TakeProfit                 // closes it at a profit
	Exit                       // closes it, or a part
)

// Mode says whether money is at stake. Every reply about trading includes it.
type Mode string

// The modes. A venue's testnet is paper.
const (
	Paper Mode = "paper"
	Live  Mode = "live"
)

// Status is the precise state of an order.
type Status uint8

// The statuses. Denied, Filled, Canceled, Expired and Rejected are final, except for a
// fill that the venue reports after a cancel or an expiry.
const (
	New       Status = iota + 1 // nothing sent
	Denied                      // by the guard, never sent
	Submitted                   // recorded and being sent
	Accepted                    // by the venue
	PartiallyFilled
	Filled
	PendingCancel // a cancel was requested
	Canceled
	Expired
	Rejected        // by the venue, or it could not be sent
	Uncertain       // the outcome is unknown; it is queried, never sent again
	Held            // the venue has the leg, which waits for its entry to be filled
	PendingApproval // nothing was sent: the owner must approve it first
)

// Final reports whether the order is closed.
func (s Status) Final() bool {
	switch s {
	case Denied, Filled, Canceled, Expired, Rejected:
		return true
	default:
		return false
	}
}

// Spec is the order as requested, exact to the last digit.
type Spec struct {
	ID       string          `json:"id"` // client order ID at the venue, a UUID
	Owner    principal.Owner `json:"owner"`
	Symbol   market.Symbol   `json:"symbol"` // with its venue
	Side     Side            `json:"side"`
	Type     Type            `json:"type"`
	Quantity decimal.Decimal `json:"quantity"`       // above zero
	Price    decimal.Decimal `json:"price,omitzero"` // of a limit order

	StopPrice    decimal.Decimal `json:"stop_price,omitzero"`    // at which it becomes the order that Type says; zero if it does not wait
	TrailPercent decimal.Decimal `json:"trail_percent,omitzero"` // the stop price follows the best price at this distance; zero if it does not
	Best         decimal.Decimal `json:"best,omitzero"`          // of a trail: the best price so far, from which it goes on; zero to begin at the price of now
	TimeInForce  TimeInForce     `json:"time_in_force,omitempty"`
	PostOnly     bool            `json:"post_only,omitempty"`   // it rests, or it is refused
	ReduceOnly   bool            `json:"reduce_only,omitempty"` // it never sells or buys back more than the position
	Protect      Protection      `json:"protect,omitzero"`      // of an entry, or of the target of a pair, which has a stop only
	Role         Role            `json:"role,omitempty"`
	Group        Group           `json:"group,omitzero"` // as it was placed, else as the venue first reported it
	Edge         decimal.Decimal `json:"edge,omitzero"`  // worst price of a market entry, for venues that take limits only; zero if unknown
}

// Handle names an order at the venue: by ID, or by VenueID if ID is empty. A leg whose client
// order ID the venue makes up is named by its VenueID, and while that is unknown by the
// group, whose name is the ID of the order that it was sent with, and the role.
type Handle struct {
	Spec
	VenueID string // "" if unknown
}

// Handle returns the handle of an order that has its ID at the venue.
func (s Spec) Handle() Handle { return Handle{Spec: s} }

// String returns the name that the venue knows.
func (h Handle) String() string { return cmp.Or(h.ID, h.VenueID) }

// Names reports whether a report is of the order.
func (h Handle) Names(r Report) bool {
	if h.ID == "" {
		return h.VenueID != "" && r.VenueID == h.VenueID
	}
	return r.ID == h.ID
}

// Fill is one trade of an order.
type Fill struct {
	TradeID  string          `json:"trade_id"`           // unique with symbol and side at a venue; duplicates count once
	OrderID  string          `json:"order_id,omitempty"` // "" for an external order
	VenueID  string          `json:"venue_id,omitempty"` // the venue's ID of the order
	Symbol   market.Symbol   `json:"symbol"`
	Side     Side            `json:"side"`
	Quantity decimal.Decimal `json:"quantity"` // above zero
	Price    decimal.Decimal `json:"price"`
	Fee      decimal.Decimal `json:"fee,omitzero"` // positive when paid
	FeeAsset string          `json:"fee_asset,omitempty"`
	Base     string          `json:"base,omitempty"` // asset that is traded; "" if that is unknown
	Maker    bool            `json:"maker,omitempty"`
	At       time.Time       `json:"at,omitzero"`

	AmbiguousBar bool `json:"ambiguous_bar,omitempty"` // a bar reached both legs of a pair; which came first is unknown
	Late         bool `json:"late,omitempty"`          // on paper: the bar that filled it came after newer prices, or long after it closed

	Cause string `json:"cause,omitempty"` // why the venue closed a position by itself, one of [Causes]; "" for a trade that an order asked for
}

// Group says which orders the venue handles together. It is zero for an order on its own.
// Orders of one Name, Leg and side exclude each other: at most one of them is filled.
type Group struct {
	Name string `json:"name,omitempty"` // of a group placed here, the ID of its first order; else the venue's, unique in a symbol
	Leg  bool   `json:"leg,omitempty"`  // it waits until the order of the group that is no leg is filled
}

// Report is a venue's report of an order.
type Report struct {
	Spec    // ID is empty or unknown for an external order; Group is zero if there is none, or the venue does not say
	VenueID string
	// Status is one of Submitted, of an order that the venue has taken and not judged, Held, Accepted, PartiallyFilled, Filled, PendingCancel, Canceled,
	// Expired and Rejected. Uncertain means that the venue's status is unknown to this
	// version.
	Status    Status
	Filled    decimal.Decimal // cumulative, to check the fills
	Reason    string          // of a rejection or another end, or the venue's status for Uncertain
	Fills     []Fill          // perhaps not all
	At        time.Time       // of the last change, by the venue's clock
	Triggered time.Time       // when the stop price was reached, by the venue's clock; zero if it was not
	Linked    string          // the venue's ID of the order that it made of this one when the stop price was reached; "" for none
	SentAs    string          // how the order was sent, where that differs from the request, such as "limit 50250 fok"
}

// Holding is the balance of an asset, or of a symbol where the venue reports positions.
type Holding struct {
	Asset     string
	Symbol    market.Symbol // zero for an asset
	Quantity  decimal.Decimal
	Available decimal.Decimal
	Margin    *Margin // of a position in a perpetual future; nil for all else
}

// Margin is what stands behind a position in a perpetual future. It is lost with the position and nothing
// else is.
type Margin struct {
	Entry       decimal.Decimal // average price
	Margin      decimal.Decimal // less what funding took
	Leverage    decimal.Decimal
	Mark        decimal.Decimal // zero if unknown
	Liquidation decimal.Decimal // mark price that ends the position; zero if none does
	Funding     decimal.Decimal // paid for what is held; negative when received
}

// Worth returns what closing the position at a price would bring, before the fee.
func (m Margin) Worth(quantity, price decimal.Decimal) decimal.Decimal {
	return m.Margin.Add(quantity.Mul(price.Sub(m.Entry)))
}

// Funding is a payment between the holders of a perpetual future.
type Funding struct {
	Symbol market.Symbol   `json:"symbol"`
	At     time.Time       `json:"at"` // the venue's funding time
	Rate   decimal.Decimal `json:"rate"`
	Mark   decimal.Decimal `json:"mark"`
	Amount decimal.Decimal `json:"amount"` // paid; negative when received
}

// Origin is the part of an order that never changes.
type Origin struct {
	Spec
	Broker   string `json:"broker"` // broker.Broker.Name
	Mode     Mode   `json:"mode"`
	Key      string `json:"idempotency_key,omitempty"` // repeating it returns the same order
	Token    string `json:"token,omitempty"`           // identifies the caller's token without revealing it
	Client   string `json:"client,omitempty"`          // as the client names itself, not verified
	External bool   `json:"external,omitempty"`        // found at the venue, not placed here

	Recovered bool `json:"recovered,omitempty"` // of an external order: it has an ID of candela's and was placed before a restore

	RequestedSymbol market.Symbol `json:"asked_symbol,omitzero"` // as the client wrote it, of an order with a key; zero if equal to Symbol

	Asked    Terms     `json:"asked,omitempty"`    // as the client asked, where the order differs from it; "" if it does not
	Parent   string    `json:"parent,omitempty"`   // ID of the line that it protects or closes
	Replaces string    `json:"replaces,omitempty"` // ID of the order whose place it takes
	NotAfter time.Time `json:"not_after,omitzero"` // it is not sent later; zero for no bound
	Sizing   Sizing    `json:"risk,omitzero"`      // from which Quantity or prices followed; zero if they were given
	Note     string    `json:"note,omitempty"`     // the client's words to the owner, not verified
	Policy   string    `json:"policy,omitempty"`   // hash of the policy in force, as guard.Canonical returns it
	Scope    string    `json:"scope,omitempty"`    // of the token that asked
	Holder   Holder    `json:"holder,omitempty"`   // of a stop or target, and of the entry that has them; "" for the venue

	Evidence   []Evidence `json:"evidence,omitempty"`         // what was found of the claims with which it was placed
	Conditions []Evidence `json:"entry_conditions,omitempty"` // what was found of the owner's own conditions
	NoEvidence bool       `json:"no_evidence,omitempty"`      // it only reduces a position, and has no claim where the owner asks for one

	Deployment string          `json:"deployment,omitempty"` // ID of the deployment of a strategy whose order it is; "" for none
	Quote      decimal.Decimal `json:"quote,omitzero"`       // of an order of a deployment: the last price when it was placed
}

// Head returns the ID of the order that the order belongs to, its own if it belongs to none.
func (g Origin) Head() string { return cmp.Or(g.Parent, g.Group.Name, g.ID) }

// Approval is the owner's decision on an order.
type Approval struct {
	Asked   time.Time       `json:"asked,omitzero"`
	Expires time.Time       `json:"expires,omitzero"`
	Price   decimal.Decimal `json:"price,omitzero"`   // last price when it was asked for
	Decided time.Time       `json:"decided,omitzero"` // zero while it is pending
	By      string          `json:"by,omitempty"`     // who approved
	Stake   *Stake          `json:"stake,omitempty"`  // of an order in a perpetual future, when it was asked for
}

// AskedValue is what an order that waits for the owner is worth: at its price, else at the last price when it was
// asked for.
func (o Order) AskedValue() decimal.Decimal {
	if o.Price.IsPositive() {
		return o.Quantity.Mul(o.Price)
	}
	return o.Quantity.Mul(o.Approval.Price)
}

// Denial is why the guard denied an order.
type Denial struct {
	Rule  string `json:"rule,omitempty"`
	Limit string `json:"limit,omitempty"`
	Value string `json:"value,omitempty"`
}

// Order is the projection of an order's events. Its slices and maps are read-only.
type Order struct {
	Origin
	Status  Status          `json:"status"`
	VenueID string          `json:"venue_id,omitempty"`
	Fills   []Fill          `json:"fills,omitempty"`   // unique, by time and trade ID
	Filled  decimal.Decimal `json:"filled,omitzero"`   // sum of Fills, at most Quantity
	Cost    decimal.Decimal `json:"cost,omitzero"`     // sum of quantity times price over Fills, without fees
	Fees    Fees            `json:"fees,omitempty"`    // per asset
	Claimed decimal.Decimal `json:"claimed,omitzero"`  // the highest filled quantity the venue reported; at least Filled
	Reason  string          `json:"reason,omitempty"`  // why it was denied, rejected or closed
	Denial  Denial          `json:"refusal,omitzero"`  // of a denied order
	NotSent bool            `json:"unsent,omitempty"`  // of a rejected or cancelled order: it never left this machine
	Passing bool            `json:"passing,omitempty"` // of a rejected order: the refusal was not about the order, and may pass
	Created time.Time       `json:"created"`           // local time
	Updated time.Time       `json:"updated"`           // of the newest event, local time

	SentAs    string    `json:"sent_as,omitempty"`  // how it was sent, where that differs from the request
	Triggered time.Time `json:"triggered,omitzero"` // when the stop price was reached, venue's time
	Linked    string    `json:"linked,omitempty"`   // the venue's ID of the order that this one became then; "" for none
	Waiting   bool      `json:"waiting,omitempty"`  // a leg that waits for its entry, as Held says while no cancel is pending
	Approval  Approval  `json:"approval,omitzero"`  // of an order that the owner had to approve

	Fired bool `json:"fired,omitempty"` // candela held the order and has sent it

	CancelRequested time.Time `json:"cancel_asked,omitzero"`     // zero after the cancel failed
	CancelFor       string    `json:"cancel_for,omitempty"`      // ID of the order that the desk cancelled it for; "" if somebody asked for its end
	CancelByOwner   bool      `json:"cancel_by_owner,omitempty"` // the owner asked for its end, not a client
	CancelTried     bool      `json:"cancel_tried,omitempty"`    // a cancel of it was asked for here, whatever became of it
	Resized         time.Time `json:"resized,omitzero"`          // when the venue last changed Quantity, venue's time
	Seen            time.Time `json:"seen,omitzero"`             // newest report that was understood, venue's time
	Doubted         time.Time `json:"doubted,omitzero"`          // newest report that was unknown or contradictory
	Doubt           string    `json:"doubt,omitempty"`           // its reason
}

// deskClient is Origin.Client of the orders that the desk places by itself.
const deskClient = "candela"

// ByDesk reports whether the desk placed the order, because a line asks for it.
func (o Order) ByDesk() bool { return o.Client == deskClient && o.Token == "" }

// Handle returns the order's name at the venue. That does not know our ID of an external
// order.
func (o Order) Handle() Handle {
	h := Handle{Spec: o.Outgoing(), VenueID: o.VenueID}
	if o.External {
		h.ID = ""
	}
	return h
}

// TypeName names the type of the order. Venues have types that candela does not place: such an order is
// named by whether it has a price.
func (o Order) TypeName() string {
	switch {
	case o.Type != 0:
		return o.Type.String()
	case o.Price.IsPositive():
		return Limit.String()
	default:
		return Market.String()
	}
}

// Remaining returns the quantity that is not filled.
func (o Order) Remaining() decimal.Decimal { return o.Quantity.Sub(o.Filled) }

// Average returns the average price of the fills, and false without fills. It may be
// rounded and is for display only.
func (o Order) Average() (decimal.Decimal, bool) {
	if o.Filled.IsZero() {
		return decimal.Decimal{}, false
	}
	return quotient(o.Cost, o.Filled), true
}

// Doubtful reports whether the newest report was unknown or contradictory.
func (o Order) Doubtful() bool { return o.Doubt != "" && !o.Doubted.Before(o.Seen) }

// MissingFills reports whether the venue counts more than the known fills.
// Missing ones are queried, never made up.
func (o Order) MissingFills() bool { return o.Claimed.GreaterThan(o.Filled) }

// NeedsQuery reports whether the venue must be queried: the outcome is open or unknown,
// fills are missing, or reports contradict each other.
func (o Order) NeedsQuery() bool {
	switch o.Status {
	case Submitted, Uncertain, PendingCancel:
		return true
	default:
		return o.Doubtful() || o.MissingFills()
	}
}

// Key identifies the fill in the account: symbol, trade ID and side, because an order
// that trades with another of the same account gives two fills with one ID.
func (f Fill) Key() string { return f.Symbol.String() + "/" + f.TradeID + "/" + f.Side.String() }

// Quote is the price of a symbol.
type Quote struct {
	Last         decimal.Decimal `json:"Last"` // above zero
	Bid          decimal.Decimal `json:"Bid"`  // zero if unknown
	Ask          decimal.Decimal `json:"Ask"`  // zero if unknown
	At           time.Time       `json:"At"`   // the venue's time, never the time of reading
	MarketClosed bool            `json:"Shut"` // no newer price until the market opens
	// Mark is the price by which positions in a perpetual future are liquidated, zero if none is known.
	Mark     decimal.Decimal `json:"Mark,omitzero"`
	MarkedAt time.Time       `json:"Marked,omitzero"`
}

// maxFeedPause is how long a working feed may be silent.
const maxFeedPause = time.Minute

// Stalled reports whether no newer price is expected soon: a closed market, a lost feed.
func (q Quote) Stalled(now time.Time) bool { return q.MarketClosed || now.Sub(q.At) > maxFeedPause }

// TakerPrice returns the price of a market order, and false if only the last is known.
func (q Quote) TakerPrice(s Side) (decimal.Decimal, bool) {
	if s == Sell {
		return q.Bid, q.Bid.IsPositive()
	}
	return q.Ask, q.Ask.IsPositive()
}

// PricedPosition is a position with its current price.
type PricedPosition struct {
	Position
	Quote     Quote           `json:"Quote"`              // Last is zero if unknown
	Protected decimal.Decimal `json:"Protected,omitzero"` // how much of it open stops would close
	Plan      []Line          `json:"Plan,omitempty"`     // what should protect it, oldest first
	Gaps      []Gap           `json:"Gaps,omitempty"`     // parts that should have a stop and have none
	Mode      Mode            `json:"Mode"`
	Margin    *Margin         `json:"Margin,omitempty"` // behind a position in a perpetual future; nil if it is unknown or there is none
}

// Liquidation returns the price at which the position is liquidated and how far that is from the mark price,
// else the last one, in percent: false if there is none or it is unknown.
func (m PricedPosition) Liquidation() (price, distance decimal.Decimal, ok bool) {
	if m.Margin == nil || !m.Margin.Liquidation.IsPositive() {
		return decimal.Decimal{}, decimal.Decimal{}, false
	}
	from := m.Margin.Mark
	if !from.IsPositive() {
		from = m.Quote.Last
	}
	if !from.IsPositive() {
		return m.Margin.Liquidation, decimal.Decimal{}, false
	}
	off := from.Sub(m.Margin.Liquidation).Mul(decimal.NewFromInt(int64(m.Quantity.Sign())))
	return m.Margin.Liquidation, off.Shift(2).DivRound(from, 2), true
}

// Gap is a part of a position that should have a stop and has none.
type Gap struct {
	Quantity decimal.Decimal `json:"quantity"`
	Reason   string          `json:"reason"`
	Since    time.Time       `json:"since"`         // when it was first seen
	For      time.Duration   `json:"for,omitempty"` // how long that is, when the position is read
}

// Unprotected returns how much of the position no open stop would close.
func (m PricedPosition) Unprotected() decimal.Decimal {
	return decimal.Max(m.Quantity.Abs().Sub(m.Protected), decimal.Zero)
}
