// Package sharedtest finds the reference data that tests read in place: a
// directory named shared beside the repository. It is never copied in, because
// its files have licences and sources of their own. Tests without it skip on a
// developer's machine and fail where CI is set.
package sharedtest

import (
	"bytes"
	"encoding/csv"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"candela/lib/market"
)

// Path returns the place of a file below the shared directory, such as
// "data/AAPL_1d.csv". Where the file is absent the test skips, or fails when the
// environment variable CI is set.
func Path(tb testing.TB, name string) string {
	tb.Helper()
	root, err := moduleRoot()
	if err != nil {
		tb.Fatal(err)
	}
	file := filepath.Join(root, "..", "shared", filepath.FromSlash(name))
	if _, err := os.Stat(file); err != nil {
		//nolint:forbidigo // whether a skip is allowed is the environment's to say, and no product code comes here
		if os.Getenv("CI") != "" {
			tb.Fatalf("the shared data is missing under CI: %v", err)
		}
		tb.Skipf("no shared data here: %v", err)
	}
	return file
}

// moduleRoot walks up from the working directory, which for a test is its package.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("no go.mod above the working directory")
		}
		dir = parent
	}
}

// Bars reads a shared bar file as it stands, rows in file order and duplicates
// kept: "data/BTCUSDT_1h.csv" with its header, or a raw file without one whose
// columns are time, open, close, low, high, volume, trades.
func Bars(tb testing.TB, name string) market.Bars {
	tb.Helper()
	data, err := os.ReadFile(Path(tb, name))
	if err != nil {
		tb.Fatal(err)
	}
	rows, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
	if err != nil {
		tb.Fatalf("%s: %v", name, err)
	}
	order := [5]int{1, 4, 3, 2, 5} // of open, high, low, close, volume in a raw file
	if rows[0][0] == "time" {
		order = [5]int{1, 2, 3, 4, 5}
		rows = rows[1:]
	}
	bars := market.MakeBars(len(rows), false)
	for i, row := range rows {
		t, err := strconv.ParseInt(row[0], 10, 64)
		var v [5]float64
		for k, column := range order {
			f, ferr := strconv.ParseFloat(row[column], 64)
			v[k], err = f, errors.Join(err, ferr)
		}
		if err != nil {
			tb.Fatalf("%s: row %d: %v", name, i, err)
		}
		bars.Append(market.Bar{T: t, O: v[0], H: v[1], L: v[2], C: v[3], V: v[4], TakerBuy: math.NaN()})
	}
	return bars
}
