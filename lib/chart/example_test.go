package chart_test

import (
	"bytes"
	"context"
	"fmt"
	"image/png"
	"log"
	"os"

	"candela/lib/chart"
	"candela/lib/market"
	"candela/lib/market/csv"
	"candela/lib/ta"
)

// A picture of the bars of a file with an indicator over them.
func Example() {
	file, err := os.Open("../market/csv/testdata/invented.csv")
	if err != nil {
		log.Fatal(err)
	}
	bars, err := csv.File{Name: file.Name(), Interval: market.Hour1}.Read(context.Background(), file)
	if err != nil {
		log.Fatal(err)
	}
	bands, err := ta.Library{}.Resolve(ta.Request{Name: "bollinger"})
	if err != nil {
		log.Fatal(err)
	}
	picture, err := chart.NewRenderer().PNG(&chart.Spec{
		Bars: bars, Symbol: "INVENTED", Interval: market.Hour1, Width: 800, Height: 450,
		Results: []chart.Named{{Name: "bollinger", Result: bands.Compute(ta.Input{Env: ta.Env{Interval: market.Hour1}, Bars: &bars})}},
	})
	if err != nil {
		log.Fatal(err)
	}
	size, err := png.DecodeConfig(bytes.NewReader(picture))
	fmt.Println(size.Width, size.Height, err)
	// Output: 800 450 <nil>
}
