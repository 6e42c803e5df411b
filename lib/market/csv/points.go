package csv

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"time"
)

// Points reads a file of values by time instead of bars: columns time and value, in any order; other
// columns are passed over. Times ascend.
func (f File) Points(ctx context.Context, from io.Reader, value string) (times []int64, values []float64, err error) {
	r := reader{File: f}
	names, err := r.open(from, "time,"+value)
	if err != nil {
		return nil, nil, err
	}
	columns := [2]int{slices.Index(names, "time"), slices.Index(names, value)}
	for i, name := range []string{"time", value} {
		if columns[i] < 0 {
			return nil, nil, Bad("csv: %s line 1: no column %s; the first line is %q and must name time,%s", r.Name, name, clip(strings.Join(names, ",")), value)
		}
	}
	for n := 0; ; n++ {
		if n%4096 == 0 && ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		row, err := r.rows.Read()
		if errors.Is(err, io.EOF) {
			return times, values, nil
		}
		if err != nil {
			return nil, nil, r.broken(err)
		}
		t, isTime := parseTime(row[columns[0]])
		v, isNumber := parseNumber(row[columns[1]])
		switch {
		case !isTime:
			return nil, nil, Bad("csv: %s line %d, column time: %q %s", r.Name, r.line(), clip(row[columns[0]]), noTime)
		case !isNumber:
			return nil, nil, Bad("csv: %s line %d, column %s: %q %s", r.Name, r.line(), value, clip(row[columns[1]]), noNumber)
		case len(times) > 0 && t <= times[len(times)-1]:
			return nil, nil, Bad("csv: %s line %d, column time: %q is not later than the row before (%s); sort the rows, oldest first, and keep one of each time",
				r.Name, r.line(), clip(row[columns[0]]), time.Unix(times[len(times)-1], 0).UTC().Format(time.RFC3339))
		}
		times, values = append(times, t), append(values, v)
	}
}
