package csv_test

import (
	"context"
	"fmt"
	"strings"

	"candela/lib/market"
	"candela/lib/market/csv"
)

func ExampleFile_Read() {
	const days = `time,open,high,low,close,volume
2026-01-01,100,103,99,102,1500
2026-01-02,102,105,101,104,1400
2026-01-02,104,106,103,105,1300
`
	file := csv.File{Name: "days.csv", Interval: market.Day1}
	bars, err := file.Read(context.Background(), strings.NewReader(days))
	fmt.Println(bars.Len(), "bars")
	fmt.Println(err)
	// Output:
	// 2 bars
	// csv: days.csv line 4, column time: "2026-01-02" stands in the row before too, with other values; keep one of the two rows
}
