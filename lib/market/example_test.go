package market_test

import (
	"fmt"
	"log"

	"candela/lib/market"
)

// Four bars of an hour make one of four hours; a day needs more.
func ExampleAggregate() {
	var hours market.Bars
	for i, price := range []float64{100, 103, 99, 101} {
		hours.Append(market.Bar{T: int64(i) * 3600, O: price, H: price + 1, L: price - 1, C: price, V: 10})
	}
	sum, err := market.Aggregate(&hours, market.Hour1, market.Hour4, market.Calendar{})
	if err != nil {
		log.Fatal(err)
	}
	bar := sum.Bars.At(0)
	fmt.Println(bar.O, bar.H, bar.L, bar.C, bar.V)
	// Output: 100 104 98 101 40
}

func ExampleParseSymbol() {
	s, err := market.ParseSymbol("binance:BTCUSDT")
	fmt.Println(s, err)
	_, err = market.ParseSymbol("BTC USDT")
	fmt.Println(err)
	// Output:
	// binance:BTCUSDT <nil>
	// symbol: invalid value "BTC USDT"; use 1 to 40 characters of A-Z 0-9 . - = ^ / _, optionally "venue:" in front, such as BTCUSDT, AAPL, EURUSD=X, ^GSPC, binance:BTCUSDT
}
