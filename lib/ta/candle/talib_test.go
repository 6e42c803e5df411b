package candle

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"candela/internal/testkit/sharedtest"
	"candela/lib/ta/calc"
)

// recorded is what TA-Lib said about a set of bars; testdata/generate.py wrote it.
type recorded struct {
	Set     string            `json:"set"`
	Bars    int               `json:"bars"`
	Unit    float64           `json:"unit"` // ticks in a price of 1
	Rounded map[string]int    `json:"rounded"`
	Values  map[string]string `json:"values"` // a digest for each pattern
}

func readJSON(t *testing.T, name string, dst any) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, dst); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// bar is open, high, low and close.
type bar [4]float64

// priced gives bars in whole ticks their prices.
func priced(all []ticks, unit float64) []bar {
	bars := make([]bar, len(all))
	for i, b := range all {
		for k, x := range b {
			bars[i][k] = float64(x) / unit
		}
	}
	return bars
}

// column holds the values of one pattern that are not 0, in the order of the bars.
type column struct {
	bars, values []int
}

func run(bars []bar) map[string]*column {
	found := make(map[string]*column)
	s := New(calc.NewSlab())
	for i, b := range bars {
		s.Step(b[0], b[1], b[2], b[3])
		for p := range Count {
			if v := s.Value(p); v != 0 {
				c := found[p.Name()]
				if c == nil {
					c = &column{}
					found[p.Name()] = c
				}
				c.bars, c.values = append(c.bars, i), append(c.values, v)
			}
		}
	}
	return found
}

// digest is a hash of the column and how often it has each value.
func (c *column) digest() string {
	if c == nil {
		return ""
	}
	h, counts := fnv.New64a(), map[int]int{}
	for i, v := range c.values {
		counts[v]++
		fmt.Fprintf(h, "%d:%d;", c.bars[i], v)
	}
	words := []string{fmt.Sprintf("%016x", h.Sum64())}
	for _, v := range slices.Sorted(maps.Keys(counts)) {
		words = append(words, fmt.Sprintf("%d:%d", v, counts[v]))
	}
	return strings.Join(words, " ")
}

// compare reports the patterns whose values differ from those of TA-Lib.
func compare(t *testing.T, set string, got map[string]*column, want map[string]string) {
	t.Helper()
	for p := range Count {
		if ours, theirs := got[p.Name()].digest(), want[p.Name()]; ours != theirs {
			t.Errorf("%s on %s: ours %q, TA-Lib's %q", p.Name(), set, ours, theirs)
		}
	}
}

// barsOf returns the bars of a set.
func barsOf(t *testing.T, r *recorded) []bar {
	t.Helper()
	switch r.Set {
	case "walk_half":
		return priced(walk(1, 20_000, 12), r.Unit)
	case "walk_one":
		return priced(walk(2, 20_000, 6), r.Unit)
	case "walk_ten":
		return priced(walk(3, 20_000, 24), r.Unit)
	case "walk_cent":
		return priced(walk(4, 20_000, 40), r.Unit)
	case "walk_tenth":
		return priced(walk(5, 20_000, 9), r.Unit)
	case "walk_fine":
		return priced(walk(6, 20_000, 4000), r.Unit)
	}
	if name, ok := strings.CutPrefix(r.Set, "real/"); ok {
		return csvBars(t, sharedtest.Path(t, "data/"+name+".csv"))
	}
	return oracleBars(t, r.Set)
}

// oracleBars are those that other indicators are compared on.
func oracleBars(t *testing.T, name string) []bar {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("../testdata/oracle/bars", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var s struct{ O, H, L, C []float64 }
	if err := json.Unmarshal(raw, &s); err != nil {
		t.Fatal(err)
	}
	bars := make([]bar, len(s.O))
	for i := range bars {
		bars[i] = bar{s.O[i], s.H[i], s.L[i], s.C[i]}
	}
	return bars
}

// csvBars reads real bars beside the repository.
func csvBars(t *testing.T, path string) []bar {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(bytes.NewReader(raw)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	bars := make([]bar, 0, len(rows))
	for _, row := range rows[1:] {
		var b bar
		for k := range b {
			if b[k], err = strconv.ParseFloat(row[k+1], 64); err != nil {
				t.Fatal(err)
			}
		}
		bars = append(bars, b)
	}
	return bars
}

// TestTALib requires every value of every pattern on every set to be TA-Lib's.
func TestTALib(t *testing.T) {
	t.Parallel()
	var file struct{ Sets []recorded }
	readJSON(t, "talib.json", &file)
	if len(file.Sets) < 20 {
		t.Fatalf("only %d sets", len(file.Sets))
	}
	for _, r := range file.Sets {
		t.Run(r.Set, func(t *testing.T) {
			t.Parallel()
			bars := barsOf(t, &r)
			if len(bars) != r.Bars {
				t.Fatalf("%d bars, recorded %d", len(bars), r.Bars)
			}
			compare(t, r.Set, run(bars), r.Values)
			// The same bars in other units have the same patterns.
			other := slices.Clone(bars)
			for i := range other {
				for k := range other[i] {
					other[i][k] = math.Round(other[i][k]*r.Unit) / 3e5
				}
			}
			compare(t, r.Set+" in other units", run(other), r.Values)
		})
	}
}
