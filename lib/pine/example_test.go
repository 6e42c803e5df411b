package pine_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"candela/lib/market"
	"candela/lib/market/csv"
	"candela/lib/pine"
	"candela/lib/ta"
)

// A program that runs a script over the bars of a file and prints its lines.
func Example() {
	const source = `//@version=6
indicator("Band")
length = input.int(20, "Length")
plot(ta.sma(close, length), "Mean")
plot(ta.sma(close, length) + ta.stdev(close, length), "Upper")
`
	file, err := os.Open("../market/csv/testdata/invented.csv")
	if err != nil {
		log.Fatal(err)
	}
	bars, err := csv.File{Name: file.Name(), Interval: market.Hour1}.Read(context.Background(), file)
	if err != nil {
		log.Fatal(err)
	}
	script, err := pine.Compile("band", source, nil)
	if err != nil {
		log.Fatal(err)
	}
	band, err := script.Resolve(nil)
	if err != nil {
		log.Fatal(err)
	}
	result := band.Compute(ta.Input{Env: ta.Env{Interval: market.Hour1}, Bars: &bars})
	for _, line := range result.Lines {
		fmt.Printf("%s %.2f\n", line.Label, line.Values[bars.Len()-1])
	}
	// Output:
	// Mean 114.94
	// Upper 118.70
}

// A script that cannot run is refused with the line and what is allowed there.
func ExampleCompile_refused() {
	_, err := pine.Compile("band", "//@version=6\nindicator(\"Band\")\nplot(ta.smma(close, 20))\n", nil)
	fmt.Println(err)
	// Output: The script does not compile. line 3, column 6: Unknown function "ta.smma". Wilder's average is ta.rma. Write: plot(ta.rma(close, 20))
}
