package binance

import (
	"fmt"
	"sync"
	"time"

	"github.com/shopspring/decimal"
)

// The venue's words.
const (
	sideBuy  = "BUY"
	sideSell = "SELL"

	typeLimit  = "LIMIT"
	typeMarket = "MARKET"

	statusNew       = "NEW"
	statusPartial   = "PARTIALLY_FILLED"
	statusFilled    = "FILLED"
	statusCanceled  = "CANCELED"
	statusExpired   = "EXPIRED"
	executionTrade  = "TRADE"
	timeInForceOpen = "GTC"
)

// Order is an order at the venue, as the venue itself knows it.
type Order struct {
	Symbol                           string
	ID                               int64
	ClientID                         string
	Side, Type, TimeInForce, Status  string
	Price, Quantity, Executed, Quote decimal.Decimal
	StopPrice                        decimal.Decimal // of an order that waits for it
	List                             int64           // 0 for an order on its own
	Created, Updated                 time.Time
	word                             string          // shown in place of the status
	locked                           decimal.Decimal // of the asset that it would give
	counted10s, countedDay           int64           // the periods in which it counts as unfilled
}

// Open reports whether the order is on the book.
func (o *Order) Open() bool { return o.Status == statusNew || o.Status == statusPartial }

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
	ID, OrderID          int64
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
	rules rules
	quote func(symbol string, at time.Time) (price, volume float64)
	funds map[string]decimal.Decimal
	depth decimal.Decimal // see Config

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
	lastList int64 // id of a list given out
}

// tally counts orders in a period of the clock.
type tally struct {
	period int64
	n      int
}

// pace is how often prices move.
const pace = 4 * time.Second

func newExchange(quote func(string, time.Time) (float64, float64), c Config) *exchange {
	e := &exchange{rules: standard(), quote: quote, funds: c.Funds, depth: c.Depth, pinned: make(map[string]decimal.Decimal), sessions: make(map[*userSession]struct{})}
	e.wipe()
	return e
}

// wipe forgets everything but the keys, as testnets do.
func (e *exchange) wipe() {
	e.orders, e.trades, e.lastID = nil, nil, make(map[string]int64)
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
	for at := e.clock.Truncate(pace).Add(pace); !at.After(now); at = at.Add(pace) {
		if !e.match(at) {
			break // nothing rests
		}
	}
	e.clock = now
}

// match fills the resting orders that the price at a time reaches, and reports
// whether any rest.
func (e *exchange) match(at time.Time) bool {
	rest := false
	type level struct{ price, depth decimal.Decimal }
	books := map[string]level{}
	for _, o := range e.orders {
		if !o.Open() { // perhaps because another of its list traded
			continue
		}
		rest = true
		book, ok := books[o.Symbol]
		if !ok {
			book.price, book.depth = e.market(o.Symbol, at)
			books[o.Symbol] = book
		}
		if size := decimal.Min(o.left(), book.depth.Mul(decimal.NewFromInt(levels))); reaches(o, book.price) {
			e.fill(o, size, o.restPrice(book.price), true, at)
		}
	}
	return rest
}

// restPrice is what an order that rests trades at.
func (o *Order) restPrice(last decimal.Decimal) decimal.Decimal {
	if o.Type == typeStop {
		return last
	}
	return o.Price
}

// reaches reports whether an order trades at a price.
func reaches(o *Order, price decimal.Decimal) bool {
	if o.Type == typeStop {
		return price.LessThanOrEqual(o.StopPrice) || !o.Executed.IsZero()
	}
	if o.Side == sideBuy {
		return price.LessThanOrEqual(o.Price)
	}
	return price.GreaterThanOrEqual(o.Price)
}

// levels is how many prices a book has to take from.
const levels = 5

// place puts a new order in, or refuses it.
func (e *exchange) place(o *Order, now time.Time) *refusal {
	e.advance(now)
	last, depth := e.market(o.Symbol, now)
	open := 0
	for _, other := range e.orders {
		if !other.Open() {
			continue
		}
		if other.Symbol == o.Symbol {
			open++
		}
		if other.ClientID == o.ClientID && other.Symbol == o.Symbol {
			return &refusal{400, -2010, "Duplicate order sent."}
		}
	}
	if no := e.rules.check(o, last, open); no != nil {
		return no
	}
	if no := e.countOrder(o, now); no != nil {
		return no
	}
	if !e.lock(o, last) {
		return &refusal{400, -2010, "Account has insufficient balance for requested action."}
	}
	o.ID, o.Status, o.Created, o.Updated = e.id(o.Symbol), statusNew, now, now
	e.orders = append(e.orders, o)
	e.report(o, statusNew, "", nil, now)
	e.sweep(o, last, depth, now)
	if o.Type == typeMarket && o.Open() {
		e.finish(o, statusExpired, "", now)
	}
	return nil
}

// sweep takes what the book offers up to the order's price, level by level.
func (e *exchange) sweep(o *Order, last, depth decimal.Decimal, now time.Time) {
	between := decimal.Max(last.Mul(decimal.New(1, -4)).Round(4), e.rules.tick)
	for i := range int64(levels) {
		price := last.Add(between.Mul(decimal.NewFromInt(i)))
		if o.Side == sideSell {
			price = last.Sub(between.Mul(decimal.NewFromInt(i)))
		}
		if !o.Open() || !price.IsPositive() || o.Type == typeLimit && !reaches(o, price) {
			return
		}
		e.fill(o, decimal.Min(o.left(), depth), price, false, now)
	}
}

// countOrder counts an order against the limits of unfilled ones.
func (e *exchange) countOrder(o *Order, now time.Time) *refusal {
	o.counted10s, o.countedDay = now.Unix()/10, now.Unix()/86400
	if e.count10s.period != o.counted10s {
		e.count10s = tally{period: o.counted10s}
	}
	if e.countDay.period != o.countedDay {
		e.countDay = tally{period: o.countedDay}
	}
	if e.count10s.n >= e.rules.ordersPer10s {
		return &refusal{429, -1015, fmt.Sprintf("Too many new orders; current limit is %d orders per 10 SECOND.", e.rules.ordersPer10s)}
	}
	if e.countDay.n >= e.rules.ordersPerDay {
		return &refusal{429, -1015, fmt.Sprintf("Too many new orders; current limit is %d orders per 1 DAY.", e.rules.ordersPerDay)}
	}
	e.count10s.n++
	e.countDay.n++
	return nil
}

// uncount takes an order that traded out of the count of unfilled ones.
func (e *exchange) uncount(o *Order) {
	if o.counted10s == e.count10s.period {
		e.count10s.n = max(0, e.count10s.n-1)
	}
	if o.countedDay == e.countDay.period {
		e.countDay.n = max(0, e.countDay.n-1)
	}
	o.counted10s, o.countedDay = -1, -1
}

// gives returns the asset that an order gives.
func (o *Order) gives() string {
	base, quote := split(o.Symbol)
	if o.Side == sideBuy {
		return quote
	}
	return base
}

// lock sets aside what an order may cost and reports whether it is there.
func (e *exchange) lock(o *Order, last decimal.Decimal) bool {
	o.locked = o.Quantity
	if o.Side == sideBuy {
		price := o.Price
		if o.Type == typeMarket {
			price = last.Mul(decimal.RequireFromString("1.0005")) // as far as the book goes
		}
		o.locked = o.Quantity.Mul(price)
	}
	b := e.balance(o.gives())
	if b.Free.LessThan(o.locked) {
		return false
	}
	b.Free, b.Locked = b.Free.Sub(o.locked), b.Locked.Add(o.locked)
	return true
}

// fill trades some of an order.
func (e *exchange) fill(o *Order, quantity, price decimal.Decimal, maker bool, at time.Time) {
	e.exclude(o, at)
	base, quote := split(o.Symbol)
	value := quantity.Mul(price)
	t := Trade{Symbol: o.Symbol, OrderID: o.ID, Price: price, Quantity: quantity, Buyer: o.Side == sideBuy, Maker: maker, At: at}
	spent, got, receives := value, quantity, base
	release := value
	if o.Side == sideSell {
		spent, got, receives, release = quantity, value, quote, quantity
	} else if o.Type == typeLimit {
		release = quantity.Mul(o.Price) // it may trade for less than was set aside
	}
	t.Fee, t.FeeAsset = got.Mul(e.rules.commission).RoundDown(8), receives
	given := e.balance(o.gives())
	given.Locked, given.Free = given.Locked.Sub(release), given.Free.Add(release.Sub(spent))
	o.locked = o.locked.Sub(release)
	e.balance(receives).Free = e.balance(receives).Free.Add(got).Sub(t.Fee)
	if o.Executed.IsZero() {
		e.uncount(o)
	}
	t.ID = e.id(o.Symbol + " trades")
	e.trades = append(e.trades, t)
	o.Executed, o.Quote, o.Updated, o.Status = o.Executed.Add(quantity), o.Quote.Add(value), at, statusPartial
	if o.left().IsZero() {
		o.Status = statusFilled
		e.release(o)
	}
	e.report(o, executionTrade, "", &t, at)
}

// release frees what an order that is over had set aside.
func (e *exchange) release(o *Order) {
	b := e.balance(o.gives())
	b.Free, b.Locked = b.Free.Add(o.locked), b.Locked.Sub(o.locked)
	o.locked = decimal.Zero
}

// finish ends an order without a trade. by is the id of the cancel.
func (e *exchange) finish(o *Order, status, by string, at time.Time) {
	e.release(o)
	o.Status, o.Updated = status, at
	e.report(o, status, by, nil, at)
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
