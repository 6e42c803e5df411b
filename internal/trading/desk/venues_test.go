package desk_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	stocks "candela/internal/data/provider/alpaca"
	"candela/internal/data/upstream"
	"candela/internal/kit/secret"
	"candela/internal/testkit/fake"
	fakealpaca "candela/internal/testkit/fake/alpaca"
	fakebinance "candela/internal/testkit/fake/binance"
	"candela/internal/trading/broker"
	"candela/internal/trading/broker/alpaca"
	"candela/internal/trading/broker/binance"
	"candela/internal/trading/order"
	"candela/lib/market"
)

// sorted returns faults in a fixed order.
func sorted(all map[string]fake.Fault) []fake.Fault {
	out := make([]fake.Fault, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, all[name])
	}
	return out
}

// onBinance is the spot market of a fake Binance, with two symbols, whose orders it
// numbers apart.
type onBinance struct{ *fakebinance.Server }

func binanceFloor(network *fake.Network, seed uint64) (floor, func()) {
	// Books so thin that most orders are filled in parts.
	server := fakebinance.New(fakebinance.Config{Seed: seed, Depth: decimal.New(2, -2)})
	return onBinance{server}, network.Serve("binance.test:80", server)
}

func (onBinance) open(hosts *upstream.Hosts) (broker.Broker, error) {
	return binance.New(hosts, binance.Config{
		Environment: binance.Testnet, URL: "http://binance.test", Key: secret.New(fakebinance.Key), Secret: secret.New(fakebinance.Secret),
	})
}

func (onBinance) name() string            { return "binance" }
func (onBinance) assets() bool            { return true }
func (onBinance) now() time.Time          { return time.Now() }
func (onBinance) symbols() []string       { return []string{"BTCUSDT", "BTCUSDT", "ETHUSDT"} }
func (onBinance) faults() []fake.Fault    { return sorted(fakebinance.OrderFaults()) }
func (f onBinance) next(fault fake.Fault) { f.Next(fault) }
func (f onBinance) wipe()                 { f.Wipe() }
func (onBinance) Follow([]market.Symbol)  {}
func (onBinance) LaggingVenues() []string { return nil }

func (f onBinance) Quote(_ context.Context, s market.Symbol) (order.Quote, error) {
	q, _ := f.LastQuote(s)
	return q, nil
}

func (f onBinance) LastQuote(s market.Symbol) (order.Quote, bool) {
	return order.Quote{Last: f.Price(s.Name), At: time.Now()}, true
}

// size is a quantity that takes one to five trades, and is worth enough for the
// venue.
func (onBinance) size(random *rand.Rand, price decimal.Decimal) decimal.Decimal {
	return decimal.Max(decimal.New(int64(1000+random.IntN(9000)), -5), dec("6").Div(price)).RoundUp(5)
}

func (onBinance) limit(random *rand.Rand, price decimal.Decimal) decimal.Decimal {
	return price.Mul(decimal.New(int64(9980+random.IntN(40)), -4)).Round(4)
}

func (f onBinance) moods(random *rand.Rand) { f.SetLag(time.Duration(random.IntN(3)) * time.Second) }

func (f onBinance) stream(faults fake.StreamFaults) { f.User.Set(faults) }

func (f onBinance) drop(random *rand.Rand) {
	if random.IntN(4) == 0 {
		f.Terminate()
	} else {
		f.User.Drop()
	}
}

func (f onBinance) clear() {
	f.Clear()
	f.SetLag(0)
	f.User.Set(fake.StreamFaults{})
}

func (f onBinance) elsewhere(random *rand.Rand, number int, symbol string, quantity, price decimal.Decimal) int {
	if number > 2 {
		f.Cancel("web_" + strconv.Itoa(random.IntN(number)))
	}
	if f.Place("web_"+strconv.Itoa(number), symbol, []string{"BUY", "SELL"}[random.IntN(2)], quantity, price) == 0 {
		return 0
	}
	return 1
}

func (f onBinance) orders() []order.Report {
	status := map[string]order.Status{
		"PENDING_NEW": order.Held, "NEW": order.Accepted, "PARTIALLY_FILLED": order.PartiallyFilled, "FILLED": order.Filled, "CANCELED": order.Canceled, "EXPIRED": order.Expired,
	}
	var all []order.Report
	for _, o := range f.Orders() {
		side, _ := order.ParseSide(strings.ToLower(o.Side))
		all = append(all, order.Report{
			Spec: order.Spec{
				ID: o.ClientID, Symbol: market.Symbol{Venue: "binance", Name: o.Symbol}, Side: side, Quantity: o.Quantity, StopPrice: o.StopPrice, TrailPercent: decimal.New(o.TrailingDelta, -2),
			},
			VenueID: strconv.FormatInt(o.ID, 10), Status: status[o.Status], Filled: o.Executed,
		})
	}
	return all
}

func (f onBinance) fills() []order.Fill {
	var all []order.Fill
	for _, t := range f.Trades() {
		side := order.Sell
		if t.Buyer {
			side = order.Buy
		}
		all = append(all, order.Fill{
			TradeID: strconv.FormatInt(t.ID, 10), Symbol: market.Symbol{Venue: "binance", Name: t.Symbol}, Side: side,
			Quantity: t.Quantity, Price: t.Price, Fee: t.Fee, FeeAsset: t.FeeAsset,
		})
	}
	return all
}

// unlike adds positions and fees to what the account began with.
func (f onBinance) unlike(positions []order.Position) string {
	want := map[string]decimal.Decimal{"USDT": dec("100000"), "USDC": dec("100000"), "BTC": dec("2"), "ETH": dec("20")}
	for _, p := range positions {
		base := p.Symbol.Name[:3]
		want[base], want["USDT"] = want[base].Add(p.Quantity), want["USDT"].Add(p.Cash())
		for asset, fee := range p.FeesBeside() {
			want[asset] = want[asset].Sub(fee)
		}
	}
	var text strings.Builder
	for asset, b := range f.Balances() {
		if !b.Free.Add(b.Locked).Equal(want[asset]) {
			fmt.Fprintf(&text, "the venue has %s %s, the books make it %s. ", b.Free.Add(b.Locked), asset, want[asset])
		}
	}
	return text.String()
}

// onAlpaca is a paper account at a fake Alpaca on a Wednesday at noon, with a stock
// and a pair.
type onAlpaca struct {
	*fakealpaca.Server
	began time.Time
}

func alpacaFloor(network *fake.Network, seed uint64) (floor, func()) {
	f := onAlpaca{began: time.Now()}
	f.Server = fakealpaca.New(fakealpaca.Config{Now: f.now, Seed: seed, Partial: 0.4})
	return f, network.Serve("alpaca.test:80", f.Server)
}

func (f onAlpaca) now() time.Time {
	return time.Date(2025, time.July, 9, 16, 2, 11, 0, time.UTC).Add(time.Since(f.began))
}

func (f onAlpaca) open(hosts *upstream.Hosts) (broker.Broker, error) {
	return alpaca.New(hosts, alpaca.Config{
		Keys: stocks.NewKeys(fakealpaca.KeyID, fakealpaca.Secret), URL: "http://alpaca.test", DataURL: "http://alpaca.test", Now: f.now,
	})
}

func (onAlpaca) name() string                      { return "alpaca" }
func (onAlpaca) assets() bool                      { return false }
func (onAlpaca) symbols() []string                 { return []string{"AAPL", "AAPL", "BTC/USD"} }
func (onAlpaca) faults() []fake.Fault              { return sorted(fakealpaca.OrderFaults()) }
func (f onAlpaca) next(fault fake.Fault)           { f.Next(fault) }
func (f onAlpaca) wipe()                           { f.Wipe() }
func (f onAlpaca) stream(faults fake.StreamFaults) { f.Updates.Set(faults) }
func (f onAlpaca) drop(*rand.Rand)                 { f.Updates.Drop() }
func (onAlpaca) Follow([]market.Symbol)            {}
func (onAlpaca) LaggingVenues() []string           { return nil }

func (f onAlpaca) Quote(_ context.Context, s market.Symbol) (order.Quote, error) {
	q, _ := f.LastQuote(s) //nolint:contextcheck // prices are made up at once
	return q, nil
}

func (f onAlpaca) LastQuote(s market.Symbol) (order.Quote, bool) {
	bid, _ := f.Server.Quote(s.Name)
	return order.Quote{Last: bid, At: f.now()}, true
}

func (onAlpaca) size(random *rand.Rand, price decimal.Decimal) decimal.Decimal {
	if price.GreaterThan(dec("10000")) { // the pair
		return decimal.New(int64(100+random.IntN(300)), -4)
	}
	return decimal.NewFromInt(int64(1 + random.IntN(9)))
}

func (onAlpaca) limit(random *rand.Rand, price decimal.Decimal) decimal.Decimal {
	return price.Mul(decimal.New(int64(9980+random.IntN(40)), -4)).Round(2)
}

func (f onAlpaca) moods(random *rand.Rand) {
	moods := []fakealpaca.Fault{fakealpaca.None, fakealpaca.None, fakealpaca.CancelSlow, fakealpaca.CancelRefused, fakealpaca.CancelLoses}
	f.SetFault(moods[random.IntN(len(moods))])
	f.SetLag(time.Duration(random.IntN(3)) * time.Second)
}

func (f onAlpaca) clear() {
	f.Clear()
	f.SetFault(fakealpaca.None)
	f.SetLag(0)
	f.Updates.Set(fake.StreamFaults{})
}

func (f onAlpaca) elsewhere(random *rand.Rand, number int, symbol string, quantity, price decimal.Decimal) int {
	if number > 2 {
		f.Cancel("web_" + strconv.Itoa(random.IntN(number)))
	}
	_, why := f.Place(order.Spec{
		ID: "web_" + strconv.Itoa(number), Symbol: market.Symbol{Venue: "alpaca", Name: symbol}, Side: order.Side(1 + random.IntN(2)), Type: order.Limit,
		Quantity: quantity, Price: price,
	})
	if why != "" {
		return 0
	}
	return 1
}

func (f onAlpaca) orders() []order.Report { return f.Truth().Orders }
func (f onAlpaca) fills() []order.Fill    { return f.Truth().Fills }

// unlike compares positions, and the cash that they leave.
func (f onAlpaca) unlike(positions []order.Position) string {
	truth := f.Truth()
	cash := dec("100000")
	var text strings.Builder
	for _, p := range positions {
		cash = cash.Add(p.Cash())
		if !p.Quantity.Equal(truth.Positions[p.Symbol.Name]) {
			fmt.Fprintf(&text, "%s of %s, the venue has %s. ", p.Quantity, p.Symbol, truth.Positions[p.Symbol.Name])
		}
	}
	if !cash.Equal(truth.Cash) {
		fmt.Fprintf(&text, "the venue has %s in cash, the books make it %s", truth.Cash, cash)
	}
	return text.String()
}
