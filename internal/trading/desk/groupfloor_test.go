package desk_test

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/testkit/fake"
	fakealpaca "candela/internal/testkit/fake/alpaca"
	fakebinance "candela/internal/testkit/fake/binance"
	"candela/internal/trading/order"
)

// groupFloor is a fake venue as a day of groups needs it.
type groupFloor interface {
	floor
	guarded() string // the symbol in which each entry needs a stop
	plain() string   // the symbol in which entries have none, and stops come later
	shorts() bool
	trails() bool // an entry may have a stop that trails
	tick(decimal.Decimal) decimal.Decimal
	lot(random *rand.Rand, symbol string) decimal.Decimal
	unit(symbol string) decimal.Decimal // less than this of a position needs no stop
	whole(quantity decimal.Decimal) decimal.Decimal

	watch(symbol string, least decimal.Decimal) *fake.Gaps
	slow(answer time.Duration)
	shove(symbol string, price decimal.Decimal) // holds a price that meets the orders at once; zero lets go
	trade(o order.Order, quantity decimal.Decimal)
	expire(o order.Order)
	// quirk lets the venue do something of its own, and says what.
	quirk(random *rand.Rand, open []order.Order) string
	groups() int
	held(symbol string) decimal.Decimal     // by our trades, less fees
	reserved(symbol string) decimal.Decimal // of what is held
}

func binanceGroups(network *fake.Network, seed uint64) (groupFloor, func()) {
	// Levels of a book that hold forty of the cheaper symbol's quote currency or more.
	probe := fakebinance.New(fakebinance.Config{Seed: seed})
	cheap := decimal.Min(probe.Price("BTCUSDT"), probe.Price("ETHUSDT"))
	server := fakebinance.New(fakebinance.Config{
		Seed: seed, Depth: decimal.Max(dec("40").Div(cheap), dec("0.02")).Round(5), Symbols: map[string]fakebinance.Features{"ETHUSDT": {}, "BTCUSDT": {NoOPO: seed%3 == 0}},
	})
	server.Assume(fakebinance.Assumptions{TargetKeepsStop: seed%2 == 0, OTOLocksLegs: seed%4 == 0, ShowsUnsized: seed%5 == 0})
	return onBinance{server}, network.Serve("binance.test:80", server)
}

func (onBinance) guarded() string { return "BTCUSDT" }
func (onBinance) plain() string   { return "ETHUSDT" }
func (onBinance) shorts() bool    { return false }
func (onBinance) trails() bool    { return true }

func (onBinance) tick(price decimal.Decimal) decimal.Decimal { return price.Round(2) }

// lot is worth between 15 and 120 of the quote currency.
func (f onBinance) lot(random *rand.Rand, symbol string) decimal.Decimal {
	return decimal.NewFromInt(int64(15 + random.IntN(105))).Div(f.Price(symbol)).Round(5)
}

// unit is worth five of the quote currency.
func (f onBinance) unit(symbol string) decimal.Decimal {
	return dec("5").Div(f.Price(symbol)).RoundUp(5)
}

func (onBinance) whole(quantity decimal.Decimal) decimal.Decimal { return quantity.Truncate(5) }

func (f onBinance) watch(symbol string, least decimal.Decimal) *fake.Gaps {
	return f.Watch(symbol, least)
}
func (f onBinance) slow(answer time.Duration) { f.Delay(answer) }

func (f onBinance) shove(symbol string, price decimal.Decimal) {
	if price.IsZero() {
		f.Pin(symbol, price)
	} else {
		f.Move(symbol, price)
	}
}

func (f onBinance) trade(o order.Order, quantity decimal.Decimal) {
	if quantity = f.whole(quantity); quantity.IsPositive() {
		f.Trade(o.ID, quantity)
	}
}
func (f onBinance) expire(o order.Order) { f.Expire(o.ID) }

func (f onBinance) quirk(random *rand.Rand, open []order.Order) string {
	n := 1 + random.IntN(4)
	switch random.IntN(4) {
	case 0:
		f.Lose("listStatus", n)
		return fmt.Sprintf("%d list events are lost", n)
	case 1:
		f.Lose("executionReport", n)
		return fmt.Sprintf("%d reports are lost", n)
	case 2:
		f.SetLag(time.Duration(random.IntN(3)) * time.Second)
		return "reads lag behind"
	default:
		for _, o := range open {
			if o.Status == order.Held && f.RefuseLeg(o.ID) {
				return fmt.Sprintf("the %v %s will be refused", o.Role, o.ID)
			}
		}
		return ""
	}
}

func (f onBinance) groups() int { return len(f.Lists()) }

func (f onBinance) held(symbol string) decimal.Decimal {
	sum := decimal.Zero
	for _, t := range f.Trades() {
		if t.Symbol == symbol && t.Buyer {
			sum = sum.Add(t.Quantity)
		} else if t.Symbol == symbol {
			sum = sum.Sub(t.Quantity)
		}
		if t.Symbol == symbol && t.FeeAsset == symbol[:3] {
			sum = sum.Sub(t.Fee)
		}
	}
	return sum
}

func (f onBinance) reserved(symbol string) decimal.Decimal { return f.Balances()[symbol[:3]].Locked }

func alpacaGroups(network *fake.Network, seed uint64) (groupFloor, func()) {
	f := onAlpaca{began: time.Now()}
	f.Server = fakealpaca.New(fakealpaca.Config{Now: f.now, Seed: seed, Partial: 0.4})
	f.SetUnlimited()
	return onAlpacaGroups{f}, network.Serve("alpaca.test:80", f.Server)
}

// onAlpacaGroups shows a leg whose entry is not filled as held.
type onAlpacaGroups struct{ onAlpaca }

func (onAlpacaGroups) symbols() []string                          { return []string{"AAPL", "MSFT"} }
func (onAlpacaGroups) guarded() string                            { return "AAPL" }
func (onAlpacaGroups) plain() string                              { return "MSFT" }
func (onAlpacaGroups) shorts() bool                               { return true }
func (onAlpacaGroups) trails() bool                               { return false }
func (onAlpacaGroups) tick(price decimal.Decimal) decimal.Decimal { return price.Round(2) }
func (onAlpacaGroups) unit(string) decimal.Decimal                { return decimal.NewFromInt(1) }

func (onAlpacaGroups) whole(quantity decimal.Decimal) decimal.Decimal { return quantity.Truncate(0) }

// lot is worth up to 5,000, and one share at least.
func (f onAlpacaGroups) lot(random *rand.Rand, symbol string) decimal.Decimal {
	bid, _ := f.Server.Quote(symbol)
	most := max(1, min(9, dec("5000").Div(bid).IntPart()))
	return decimal.NewFromInt(1 + random.Int64N(most))
}

func (f onAlpacaGroups) watch(symbol string, least decimal.Decimal) *fake.Gaps {
	return f.Watch(symbol, least)
}
func (f onAlpacaGroups) slow(answer time.Duration) { f.Delay(answer) }

func (f onAlpacaGroups) shove(symbol string, price decimal.Decimal) {
	if price.IsZero() {
		f.SetQuote(symbol, "", "")
	} else {
		f.SetQuote(symbol, price.String(), price.Add(dec("0.02")).String())
	}
}

func (f onAlpacaGroups) trade(o order.Order, quantity decimal.Decimal) {
	if quantity = f.whole(quantity); quantity.IsPositive() {
		f.Trade(o.VenueID, quantity)
	}
}
func (f onAlpacaGroups) expire(o order.Order) { f.Reject(o.ID) }

func (f onAlpacaGroups) quirk(random *rand.Rand, _ []order.Order) string {
	moods := []fakealpaca.Fault{fakealpaca.None, fakealpaca.QuietLegs, fakealpaca.TargetReplaced, fakealpaca.CancelSlow, fakealpaca.CancelLoses, fakealpaca.CancelRefused}
	switch random.IntN(4) {
	case 0:
		delay := time.Duration(random.IntN(20)) * time.Second
		f.SetCancelDelay(delay)
		f.SetRelease(delay / 4)
		return fmt.Sprintf("cancels take %v", delay)
	case 1:
		role := []string{"", "", "stop_loss", "take_profit", "both"}[random.IntN(5)]
		f.RejectLegs(role)
		return "legs are rejected: " + role
	default:
		mood := random.IntN(len(moods))
		f.SetFault(moods[mood])
		f.SetLag(time.Duration(random.IntN(3)) * time.Second)
		return fmt.Sprintf("mood %d", mood)
	}
}

func (f onAlpacaGroups) clear() {
	f.onAlpaca.clear()
	f.SetCancelDelay(0)
	f.SetRelease(0)
	f.RejectLegs("")
}

func (f onAlpacaGroups) orders() []order.Report {
	truth := f.Truth()
	waits := make(map[string]bool)
	for _, g := range truth.Groups {
		for _, leg := range g.Legs {
			waits[leg.VenueID] = leg.Waits
		}
	}
	for i, r := range truth.Orders {
		if waits[r.VenueID] {
			truth.Orders[i].Status = order.Held
		}
	}
	return truth.Orders
}

func (f onAlpacaGroups) groups() int                        { return len(f.Truth().Groups) }
func (f onAlpacaGroups) held(symbol string) decimal.Decimal { return f.Truth().Positions[symbol] }

func (f onAlpacaGroups) reserved(symbol string) decimal.Decimal { return f.Truth().Reserved[symbol] }
