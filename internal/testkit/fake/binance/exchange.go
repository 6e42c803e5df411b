package binance

import (
	"sync"
	"time"

	"github.com/shopspring/decimal"
)

// Order is an order at the venue, as the venue itself knows it.
type Order struct {
	Symbol                           string
	ID                               int64
	ClientID                         string
	Side, Type, TimeInForce, Status  string
	Price, Quantity, Executed, Quote decimal.Decimal // the quantity is zero while an OPO has not sized its leg
	StopPrice                        decimal.Decimal // of an order that waits for it
	TrailingDelta                    int64           // hundredths of a per cent; 0 for an order that does not trail
	TrailingSince                    time.Time       // zero while it does not
	List                             int64           // 0 for an order on its own
	Created, Updated                 time.Time
	Working                          time.Time // since when it is on the book; zero while it waits
	ExpiryReason, RejectReason       string    // of an order that expired
	word                             string    // shown in place of the status
	hold                             *hold     // what it would give; nil while an order of a list is pending, and afterwards
	list                             *List
	best                             decimal.Decimal // the best price since it trails
	unsized                          bool            // its quantity comes from its working order
	refused                          bool            // will be, when its working order is filled
	counted10s, countedDay           int64           // the periods in which it counts as unfilled
}

// Open reports whether the order is not over: it is on the book, or waits for its trigger
// or for the working order of its list.
func (o *Order) Open() bool {
	return o.Status == statusNew || o.Status == statusPartial || o.Status == statusPending
}

// placed reports whether the order waits for no other one.
func (o *Order) placed() bool { return o.Open() && o.Status != statusPending }

func (o *Order) left() decimal.Decimal { return o.Quantity.Sub(o.Executed) }

func (o *Order) shown() string {
	if o.word != "" {
		return o.word
	}
	return o.Status
}

// Trade is a fill.
type Trade struct {
	Symbol               string
	ID, OrderID, List    int64 // the list is 0 for an order on its own
	Price, Quantity, Fee decimal.Decimal
	FeeAsset             string
	Buyer, Maker         bool
	At                   time.Time
}

// Balance is what the account has of an asset.
type Balance struct{ Free, Locked decimal.Decimal }

// exchange matches the orders of one account against prices that move by
// themselves. Time passes in it when it is asked: what happened since then is made
// up first, in order, so that the same requests at the same times end the same.
// It is safe for concurrent use.
type exchange struct {
	rules   rules
	quote   func(symbol string, at time.Time) (price, volume float64)
	funds   map[string]decimal.Decimal
	depth   decimal.Decimal // see Config
	symbols map[string]Features

	mu       sync.Mutex
	clock    time.Time // up to which resting orders were matched
	orders   []*Order
	trades   []Trade
	balances map[string]*Balance
	lastID   map[string]int64 // of orders and trades, by symbol
	pinned   map[string]decimal.Decimal
	lag      time.Duration // until reads see an order
	count10s tally
	countDay tally
	sessions map[*userSession]struct{}
	executed int64 // execution reports so far
	made     int64 // ids made up for clients that gave none
	lists    []*List
	ripe     []*List // whose working order is filled and whose legs have not entered the book
	assumed  Assumptions
	lose     map[string]int // events of a kind that are not sent
	watches  []*watch
}

// tally counts orders in a period of the clock.
type tally struct {
	period int64
	n      int
}

// pace is how often prices move.
const pace = 4 * time.Second

func newExchange(quote func(string, time.Time) (float64, float64), c Config) *exchange {
	e := &exchange{rules: standard(), quote: quote, funds: c.Funds, depth: c.Depth, symbols: c.Symbols, pinned: make(map[string]decimal.Decimal), sessions: make(map[*userSession]struct{}), lose: make(map[string]int)}
	e.wipe()
	return e
}

// wipe forgets everything but the keys, as testnets do.
func (e *exchange) wipe() {
	e.orders, e.trades, e.lists, e.ripe, e.watches, e.lastID = nil, nil, nil, nil, nil, make(map[string]int64)
	e.balances = make(map[string]*Balance)
	for asset, free := range e.funds {
		e.balances[asset] = &Balance{Free: free}
	}
}

func (e *exchange) balance(asset string) *Balance {
	b, ok := e.balances[asset]
	if !ok {
		b = &Balance{}
		e.balances[asset] = b
	}
	return b
}

func (e *exchange) id(symbol string) int64 {
	e.lastID[symbol]++
	return e.lastID[symbol]
}

// market returns the price of a symbol and how much one level of its book holds.
func (e *exchange) market(symbol string, at time.Time) (price, depth decimal.Decimal) {
	last, volume := e.quote(symbol, at)
	price = decimal.NewFromFloat(last).Round(4)
	if pinned, ok := e.pinned[symbol]; ok {
		volume *= last / pinned.InexactFloat64() // as much money as before
		price = pinned
	}
	if !e.depth.IsZero() {
		return price, e.depth
	}
	// Five levels, and fifteen moves to the minute.
	return price, decimal.Max(decimal.NewFromFloat(volume/75).RoundDown(5), e.rules.step)
}

// advance lets time pass up to now.
func (e *exchange) advance(now time.Time) {
	e.ripen(now)
	for at := e.clock.Truncate(pace).Add(pace); !at.After(now); at = at.Add(pace) {
		if !e.match(at, "") {
			break // nothing rests
		}
	}
	e.clock = now
}

// match lets the price at a time meet the orders of a symbol, or of all, and reports
// whether any are open.
func (e *exchange) match(at time.Time, symbol string) bool {
	rest := false
	type level struct{ price, depth decimal.Decimal }
	books := map[string]level{}
	for _, o := range e.orders {
		if !o.placed() || symbol != "" && symbol != o.Symbol { // perhaps because another of its list traded
			continue
		}
		rest = true
		book, ok := books[o.Symbol]
		if !ok {
			book.price, book.depth = e.market(o.Symbol, at)
			books[o.Symbol] = book
		}
		switch {
		case o.waits():
			if o.triggers(book.price, at) {
				e.trigger(o, book.price, book.depth, at)
			}
		case reaches(o, book.price):
			e.fill(o, decimal.Min(o.left(), book.depth.Mul(decimal.NewFromInt(levels))), o.restPrice(book.price), true, at)
		}
	}
	e.ripen(at)
	return rest
}

// restPrice is what an order that rests trades at.
func (o *Order) restPrice(last decimal.Decimal) decimal.Decimal {
	if limited(o.Type) {
		return o.Price
	}
	return last
}

// reaches reports whether an order on the book trades at a price.
func reaches(o *Order, price decimal.Decimal) bool {
	switch {
	case !limited(o.Type):
		return true
	case o.Side == sideBuy:
		return price.LessThanOrEqual(o.Price)
	}
	return price.GreaterThanOrEqual(o.Price)
}

// find returns the newest order that was asked for by either id, open ones first.
func (e *exchange) find(symbol string, id int64, client string) *Order {
	var found *Order
	for _, o := range e.orders {
		if o.Symbol == symbol && (id == 0 || o.ID == id) && (client == "" || o.ClientID == client) && (found == nil || !found.Open()) {
			found = o
		}
	}
	return found
}
