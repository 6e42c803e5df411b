package ta_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"

	"candela/lib/market"
	"candela/lib/market/csv"
	"candela/lib/ta"
)

// The relative strength index of the bars of a file.
func Example() {
	file, err := os.Open("../market/csv/testdata/invented.csv")
	if err != nil {
		log.Fatal(err)
	}
	bars, err := csv.File{Name: file.Name(), Interval: market.Hour1}.Read(context.Background(), file)
	if err != nil {
		log.Fatal(err)
	}
	rsi, err := ta.Library{}.Resolve(ta.Request{Name: "rsi", Params: map[string]json.RawMessage{"length": json.RawMessage("9")}})
	if err != nil {
		log.Fatal(err)
	}
	result := rsi.Compute(ta.Input{Env: ta.Env{Interval: market.Hour1}, Bars: &bars})
	fmt.Printf("%s %.2f\n", result.Label, result.Lines[0].Values[bars.Len()-1])
	// Output: RSI(9) 91.99
}

// The same values bar by bar, as alerts compute them.
func ExampleStream() {
	sma, err := ta.Library{}.Resolve(ta.Request{Name: "sma(3)"})
	if err != nil {
		log.Fatal(err)
	}
	stream := sma.Stream(ta.Env{Interval: market.Day1})
	for i, price := range []float64{10, 11, 15, 16} {
		row := stream.Step(market.Bar{T: int64(i) * 86400, O: price, H: price, L: price, C: price})
		fmt.Println(row.Values[0])
	}
	// Output:
	// NaN
	// NaN
	// 12
	// 14
}
