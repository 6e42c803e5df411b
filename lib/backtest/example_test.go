package backtest_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"candela/lib/backtest"
	"candela/lib/market"
	"candela/lib/market/csv"
	"candela/lib/pine"
	"candela/lib/pine/eval"
)

// A strategy written in Pine, run over the bars of a file.
func Example() {
	const source = `//@version=6
strategy("Cross", initial_capital = 10000, default_qty_type = strategy.percent_of_equity, default_qty_value = 50)
fast = ta.sma(close, 5)
slow = ta.sma(close, 20)
if ta.crossover(fast, slow)
    strategy.entry("long", strategy.long)
if ta.crossunder(fast, slow)
    strategy.close("long")
`
	file, err := os.Open("../market/csv/testdata/invented.csv")
	if err != nil {
		log.Fatal(err)
	}
	bars, err := csv.File{Name: file.Name(), Interval: market.Hour1}.Read(context.Background(), file)
	if err != nil {
		log.Fatal(err)
	}
	program, found := pine.Check(source, nil)
	if program == nil {
		log.Fatal(found)
	}
	script := &backtest.Script{Program: program.Program, Env: eval.Env{Interval: market.Hour1}, Tick: 0.01, Step: 0.001}
	run, err := backtest.Over(context.Background(), script, &bars, 0)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d trades, %.2f\n", len(run.Trades), run.Net)
	// Output: 5 trades, -166.51
}
