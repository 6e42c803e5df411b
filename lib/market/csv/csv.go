// Package csv reads bars out of files with comma-separated values. The first line names the
// columns time, open, high, low, close and volume, in any order, and may name taker_buy; other
// columns are passed over. A time is that of the open: unix seconds, a date, or RFC 3339.
package csv

import (
	"bufio"
	"context"
	rows "encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"candela/lib/fault"
	"candela/lib/market"
)

// The columns, in the order of a row's values.
const (
	columnTime = iota
	columnOpen
	columnHigh
	columnLow
	columnClose
	columnVolume
	columnTakerBuy // the only one that may be absent
	columnCount
)

func columnName(column int) string {
	return [...]string{"time", "open", "high", "low", "close", "volume", "taker_buy"}[column]
}

// File says what a file holds.
type File struct {
	Name     string // for errors
	Interval market.Interval
	Calendar market.Calendar // the zero value never closes
}

// reader reads one file.
type reader struct {
	File
	rows    *rows.Reader
	columns [columnCount]int // where each column stands in a row, -1 when absent
}

// Read returns the bars of the file, oldest first, or the first thing that is wrong with it.
func (f File) Read(ctx context.Context, from io.Reader) (market.Bars, error) {
	var bars market.Bars
	r := reader{File: f}
	if err := r.begin(from); err != nil {
		return bars, err
	}
	var before market.Bar
	for n := 0; ; n++ {
		if n%4096 == 0 && ctx.Err() != nil {
			return bars, ctx.Err()
		}
		row, err := r.rows.Read()
		if errors.Is(err, io.EOF) {
			return bars, nil
		}
		if err != nil {
			return bars, r.broken(err)
		}
		bar, err := r.bar(row)
		if err != nil {
			return bars, err
		}
		if n > 0 && bar.Equal(before) {
			continue
		}
		if n > 0 && bar.T <= before.T {
			return bars, r.outOfOrder(row, bar, before)
		}
		bars.Append(bar)
		before = bar
	}
}

// Times returns the times of the first rows, at most so many, up to the first that is wrong: what
// is wrong with a row is said by [File.Read].
func (f File) Times(ctx context.Context, from io.Reader, most int) []int64 {
	r := reader{File: f}
	var all []int64
	if r.begin(from) != nil {
		return nil
	}
	for len(all) < most && ctx.Err() == nil {
		row, err := r.rows.Read()
		if err != nil {
			return all
		}
		t, ok := parseTime(row[r.columns[columnTime]])
		if !ok || len(all) > 0 && t < all[len(all)-1] {
			return all
		}
		all = append(all, t)
	}
	return all
}

// open reads the first line and returns the names of the columns. Columns are those that it must name.
func (r *reader) open(from io.Reader, columns string) (names []string, err error) {
	buffered := bufio.NewReaderSize(from, 1<<16)
	if mark, err := buffered.Peek(3); err == nil && string(mark) == "\ufeff" {
		_, _ = buffered.Discard(3) // spreadsheets put a byte order mark in front
	}
	r.rows = rows.NewReader(buffered)
	r.rows.ReuseRecord = true
	row, err := r.rows.Read()
	if errors.Is(err, io.EOF) {
		return nil, Bad("csv: %s is empty; the first line must name %s", r.Name, columns)
	}
	if err != nil {
		return nil, r.broken(err)
	}
	names = make([]string, len(row))
	for i, cell := range row {
		names[i] = strings.ToLower(strings.TrimSpace(cell))
	}
	return names, nil
}

// begin reads up to the first row of values and finds the columns.
func (r *reader) begin(from io.Reader) error {
	names, err := r.open(from, "time,open,high,low,close,volume")
	if err != nil {
		return err
	}
	for column := range columnCount {
		r.columns[column] = slices.Index(names, columnName(column))
		at := r.columns[column]
		if at < 0 && column != columnTakerBuy {
			return Bad("csv: %s line 1: no column %s; the first line is %q and must name time,open,high,low,close,volume", r.Name, columnName(column), clip(strings.Join(names, ",")))
		}
		if at >= 0 && slices.Contains(names[at+1:], names[at]) {
			return Bad("csv: %s line 1: two columns are called %s; rename one of them", r.Name, names[at])
		}
	}
	return nil
}

// The faults of cells.
const (
	noTime   = "is no time; write unix seconds, a date such as 2024-01-31, or RFC 3339 such as 2024-01-31T14:30:00Z"
	noNumber = "is not a finite decimal number; write one such as 1234.5"
)

// bar reads one row.
func (r *reader) bar(row []string) (market.Bar, error) {
	t, ok := parseTime(row[r.columns[columnTime]])
	if !ok {
		return market.Bar{}, r.wrong(row, columnTime, noTime)
	}
	var v [columnCount]float64
	v[columnTakerBuy] = math.NaN()
	for column := columnOpen; column < columnCount; column++ {
		at := r.columns[column]
		if column == columnTakerBuy && (at < 0 || row[at] == "") {
			continue
		}
		if v[column], ok = parseNumber(row[at]); !ok {
			return market.Bar{}, r.wrong(row, column, noNumber)
		}
	}
	bar := market.Bar{
		T: t, O: v[columnOpen], H: v[columnHigh], L: v[columnLow], C: v[columnClose],
		V: v[columnVolume], TakerBuy: v[columnTakerBuy],
	}
	if err := bar.Check(); err != nil {
		return bar, Bad("csv: %s line %d: %v; correct the row or delete it", r.Name, r.line(), err)
	}
	if span, ok := r.Calendar.Bucket(r.Interval, t); !ok || span.Open != t {
		return bar, r.wrong(row, columnTime, "is not the open of a bar of "+r.Interval.String()+", "+r.Calendar.String()+"; write the time at which the bar opens")
	}
	return bar, nil
}

// parseTime reads unix seconds, RFC 3339, or a date, which is its midnight in UTC.
func parseTime(s string) (int64, bool) {
	if t, err := strconv.ParseInt(s, 10, 64); err == nil {
		return t, true
	}
	if t, err := time.Parse(time.DateOnly, s); err == nil {
		return t.Unix(), true
	}
	t, err := time.Parse(time.RFC3339, s)
	return t.Unix(), err == nil && t.Nanosecond() == 0
}

// parseNumber reads a decimal number. ParseFloat alone would also take
// hexadecimal, infinities and NaN.
func parseNumber(s string) (float64, bool) {
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil && !math.IsInf(f, 0) && !math.IsNaN(f) && !strings.ContainsAny(s, "xX_")
}

func (r *reader) line() int {
	line, _ := r.rows.FieldPos(0)
	return line
}

// wrong reports a cell.
func (r *reader) wrong(row []string, column int, what string) error {
	return Bad("csv: %s line %d, column %s: %q %s", r.Name, r.line(), columnName(column), clip(row[r.columns[column]]), what)
}

func (r *reader) outOfOrder(row []string, bar, before market.Bar) error {
	if bar.T == before.T {
		return r.wrong(row, columnTime, "stands in the row before too, with other values; keep one of the two rows")
	}
	return r.wrong(row, columnTime, "is earlier than the row before ("+time.Unix(before.T, 0).UTC().Format(time.RFC3339)+"); sort the rows, oldest first")
}

// broken reports a row that is no row.
func (r *reader) broken(err error) error {
	if p, ok := errors.AsType[*rows.ParseError](err); ok {
		return Bad("csv: %s line %d: %v; every row must have the columns of the first line", r.Name, p.Line, p.Err)
	}
	return Unreadable(r.Name, err)
}

// clip bounds how much of a file comes back in an error.
func clip(s string) string { return s[:min(len(s), 60)] }

// Bad reports what is wrong with a file. It is the user's own, so the message says where to look
// and what to write there; no other venue and no later moment would help.
func Bad(format string, args ...any) *fault.Error {
	return &fault.Error{Kind: fault.Unavailable, Code: "bad_file", Message: fmt.Sprintf(format, args...)}
}

// Unreadable reports a file that cannot be read.
func Unreadable(file string, err error) error {
	e := Bad("csv: %s cannot be read; check that it is there and that its mode allows it", file)
	e.Cause = err
	return e
}
