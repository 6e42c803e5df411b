// Package simulate fills the orders of a strategy over bars, by the rules that
// TradingView documents for its broker emulator. It is pure: bars and orders go in,
// trades and equity come out.
//
// For each bar the caller runs [Account.Bar], which fills what waits along the assumed
// path of the price, then computes the strategy, which places orders, then runs
// [Account.Computed]. Simulated money is float64 rounded to the tick and the quantity
// step, and never enters an account that trades.
package simulate

import (
	"fmt"
	"math"
)

// Side is the direction of an order or a position.
type Side int8

// The two directions.
const (
	Long  Side = 1
	Short Side = -1
)

// String returns the direction as a word.
func (s Side) String() string {
	if s == Long {
		return "long"
	}
	return "short"
}

// Sizing says how the quantity of an order without one is found.
type Sizing uint8

// A quantity is a number of units, an amount of money, or a percentage of the equity.
const (
	Fixed Sizing = iota
	Cash
	PercentOfEquity
)

// Charge says what a commission is counted by.
type Charge uint8

// A commission is a percentage of the value, or an amount for each unit or each order.
const (
	Percent Charge = iota
	PerUnit
	PerOrder
)

// Config holds the settings of a simulated account.
type Config struct {
	Capital    float64
	Tick       float64 // the least step of a price
	Step       float64 // the least step of a quantity
	PointValue float64 // money for a move of 1 of one unit
	Pyramiding int     // entries of one direction; 0 means 1

	Sizing Sizing
	Size   float64

	Charge     Charge
	Commission float64

	Slippage    int     // ticks against the order, on market and stop fills
	SlipPercent float64 // the same in percent of the price
	LimitBeyond int     // ticks the price must pass a limit before it fills
	MarginLong  float64 // percent of the value that equity must cover; 0 means no limit
	MarginShort float64

	CloseAny bool // close the named entry instead of the oldest
	OnClose  bool // try to fill at the close that placed the order
	Path     Path
	Paper    bool // fill orders as the paper account would
	Perp     *Perp
}

// check returns an error that names the first setting that cannot be used.
func (c *Config) check() error {
	for _, f := range []struct {
		name  string
		value float64
		least float64
	}{
		{"tick", c.Tick, 0}, {"step", c.Step, 0}, {"point value", c.PointValue, 0},
	} {
		if !(f.value > f.least) || math.IsInf(f.value, 0) {
			return fmt.Errorf("simulate: %s is %v; it must be a number above 0", f.name, f.value)
		}
	}
	for _, f := range []struct {
		name  string
		value float64
	}{{"capital", c.Capital}, {"commission", c.Commission}, {"slippage", c.SlipPercent}, {"margin_long", c.MarginLong}, {"margin_short", c.MarginShort}, {"size", c.Size}} {
		if !(f.value >= 0) || math.IsInf(f.value, 0) {
			return fmt.Errorf("simulate: %s is %v; it must be a number of at least 0", f.name, f.value)
		}
	}
	return c.Perp.check(c)
}

// Bar is one bar of prices.
type Bar struct {
	Time                   int64 // start of the bar
	Open, High, Low, Close float64
	Volume                 float64 // caps the limits of the paper model; 0 is unknown
}

// Account is a simulated account that trades one symbol. It is not safe for use by
// several goroutines.
type Account struct {
	cfg    Config
	bar    int // index of the newest bar, -1 before the first
	time   int64
	price  float64 // where the path is; the close after a bar
	high   float64 // of the newest bar
	low    float64
	orders []*order
	spare  []*order // memory of filled ones
	lots   []Lot
	trades []Trade
	entry  int // number of the newest entry

	size     float64 // signed position
	realized float64 // result of closed trades, after costs
	paid     float64 // commission of open trades
	totals   Totals
	requests Requests
	risk     riskState
	day      int64   // day of the newest bar
	unit     float64 // money of the account for a move of 1 of one unit
	paper    paperState
	paused   bool    // requests have no effect
	perTick  float64 // ticks in 1, if that is a whole number; otherwise 0
	perStep  float64 // the same of the least quantity

	again   func() // computes the strategy in the middle of a bar; nil without
	fills   int    // orders filled so far
	resting Issued // what stops and limits did in the newest bar
	seen    int    // those that the strategy knows of
}

// New returns an account without orders.
func New(cfg Config) (*Account, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	return &Account{cfg: cfg, bar: -1, unit: cfg.PointValue, perTick: whole(cfg.Tick), perStep: whole(cfg.Step), totals: Totals{high: cfg.Capital, low: cfg.Capital}}, nil
}

// whole returns how many of a step are 1, if it is a whole number; otherwise 0.
func whole(step float64) float64 {
	if n := math.Round(1 / step); math.Abs(n*step-1) < 1e-12 {
		return n
	}
	return 0
}

// Reuse lets the account keep its trades in memory that nobody else reads any more.
func (a *Account) Reuse(trades []Trade) { a.trades = trades[:0] }

// Position returns the signed quantity held.
func (a *Account) Position() float64 { return a.size }

// AveragePrice returns the mean entry price of the open trades, NaN without one.
func (a *Account) AveragePrice() float64 {
	if len(a.lots) == 0 {
		return math.NaN()
	}
	var sum, qty float64
	for i := range a.lots {
		sum += float64(a.lots[i].Price * a.lots[i].Quantity)
		qty += a.lots[i].Quantity
	}
	return sum / qty
}

// Price returns the newest price: after a bar, its close.
func (a *Account) Price() float64 { return a.price }

// NetProfit returns the result of the closed trades after costs.
func (a *Account) NetProfit() float64 { return a.realized }

// OpenProfit returns the result of the open trades at the newest price, before the
// commission of their exit.
func (a *Account) OpenProfit() float64 { return a.openAt(a.price) }

// Equity returns capital, closed and open results at the newest price.
func (a *Account) Equity() float64 { return a.cfg.Capital + a.realized + a.openAt(a.price) }

// openAt returns the result of the open trades if the price were p.
func (a *Account) openAt(p float64) float64 {
	var sum float64
	for i := range a.lots {
		l := &a.lots[i]
		sum += float64(float64((p-l.Price)*float64(l.Side)) * float64(l.Quantity*a.unit))
	}
	return sum - a.paid
}

// Open returns the open trades, oldest first. The slice is valid until the next call.
func (a *Account) Open() []Lot { return a.lots }

// Trades returns the closed trades in the order in which they were closed. The slice
// is valid until the next call.
func (a *Account) Trades() []Trade { return a.trades }

// Pause makes requests have no effect until it is called with false: a strategy sees bars
// before it trades.
func (a *Account) Pause(on bool) { a.paused = on }

// OnFills makes the account call a function in the middle of a bar: where the path of the
// price has a point and orders were filled on the way there. The function computes the
// strategy. Its market orders fill at that point, its others on the rest of the path. So a
// bar of four points has at most four rounds of fills: two at the open and one at each extreme.
func (a *Account) OnFills(compute func()) { a.again = compute }

// Rate sets what one unit of the currency of the prices is worth in the account's from
// now on: results, sizes and margins are converted at it. It is 1 until it is set.
func (a *Account) Rate(rate float64) { a.unit = a.cfg.PointValue * rate }

// Config returns the settings of the account.
func (a *Account) Config() *Config { return &a.cfg }

// Index returns the index of the newest bar, -1 before the first.
func (a *Account) Index() int { return a.bar }
