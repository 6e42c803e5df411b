// Package exportedtest reads the strategies, bars and lists of trades that were
// exported from TradingView, from the archive beside the repository.
package exportedtest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"candela/internal/testkit/sharedtest"
	"candela/lib/market"
)

// Trade is one closed trade of a list.
type Trade struct {
	Long                  bool
	EntryTime, ExitTime   int64 // milliseconds, start of the bar
	EntryPrice, ExitPrice float64
	Quantity, Profit      float64
	EntrySignal           string
	ExitSignal            string
	Open                  bool // still open when the list was exported
}

// Strategy is a script with its exported trades.
type Strategy struct {
	Name   string
	Source string
	Inputs map[string]any // values that differ from the defaults of the script

	list []byte
}

// Trades parses the exported trades, oldest first.
func (s *Strategy) Trades(tb testing.TB) []Trade {
	tb.Helper()
	trades, err := parseTrades(s.list)
	if err != nil {
		tb.Fatalf("%s: %v", s.Name, err)
	}
	return trades
}

// Archive is what the file holds.
type Archive struct {
	Bars       []market.Bar // 15 minutes of ETH, used by all strategies but those of other symbols
	Strategies []Strategy   // by name
	files      map[string][]byte
}

// Load reads the archive, or skips the test where it is absent.
func Load(tb testing.TB) *Archive {
	tb.Helper()
	a := &Archive{files: map[string][]byte{}}
	if err := a.read(sharedtest.Path(tb, "data/pine/strategies.tar.gz")); err != nil {
		tb.Fatal(err)
	}
	return a
}

// Strategy returns one strategy by its name.
func (a *Archive) Strategy(tb testing.TB, name string) *Strategy {
	tb.Helper()
	i := slices.IndexFunc(a.Strategies, func(s Strategy) bool { return s.Name == name })
	if i < 0 {
		tb.Fatalf("the archive has no strategy %q", name)
	}
	return &a.Strategies[i]
}

func (a *Archive) read(file string) error {
	f, err := os.Open(file) //nolint:gosec // G304: the shared data
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	z, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		if a.files[path.Clean(h.Name)], err = io.ReadAll(r); err != nil {
			return err
		}
	}
	return a.parse()
}

func (a *Archive) parse() error {
	for name, text := range a.files {
		switch {
		case strings.HasPrefix(name, "data/") && strings.HasSuffix(name, ".csv"):
			bars, err := parseBars(text)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			a.Bars = bars
		case path.Base(name) == "strategy.pine":
			s, err := a.strategy(path.Dir(name))
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			a.Strategies = append(a.Strategies, s)
		}
	}
	slices.SortFunc(a.Strategies, func(x, y Strategy) int { return strings.Compare(x.Name, y.Name) })
	return nil
}

func (a *Archive) strategy(dir string) (Strategy, error) {
	s := Strategy{Name: strings.TrimPrefix(dir, "validation/"), Source: string(a.files[dir+"/strategy.pine"])}
	if text, ok := a.files[dir+"/inputs.json"]; ok {
		if err := json.Unmarshal(text, &s.Inputs); err != nil {
			return s, err
		}
	}
	s.list = a.files[dir+"/tv_trades.csv"]
	return s, nil
}

// parseBars reads timestamp in milliseconds, open, high, low, close, volume.
func parseBars(text []byte) ([]market.Bar, error) {
	rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		return nil, err
	}
	bars := make([]market.Bar, 0, len(rows))
	for _, row := range rows[1:] {
		var v [6]float64
		for i := range v {
			if v[i], err = strconv.ParseFloat(row[i], 64); err != nil {
				return nil, err
			}
		}
		bars = append(bars, market.Bar{T: int64(v[0]) / 1000, O: v[1], H: v[2], L: v[3], C: v[4], V: v[5]})
	}
	return bars, nil
}

// zone is the time zone in which the lists were exported.
const zone = 8 * time.Hour

// parseTrades reads two rows a trade, the exit first.
func parseTrades(text []byte) ([]Trade, error) {
	r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(text, []byte("\ufeff"))))
	rows, err := r.ReadAll()
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	column := map[string]int{}
	for i, name := range rows[0] {
		name, _, _ = strings.Cut(name, " US")
		name = strings.TrimPrefix(strings.Replace(name, "PnL", "P&L", 1), "Position ")
		column[strings.ToLower(name)] = i
	}
	byNumber, order := map[string]*Trade{}, []string{}
	for _, row := range rows[1:] {
		t := byNumber[row[0]]
		if t == nil {
			t = &Trade{}
			byNumber[row[0]] = t
			order = append(order, row[0])
		}
		if err := t.add(row, column); err != nil {
			return nil, err
		}
	}
	trades := make([]Trade, len(order))
	for i, n := range order {
		trades[i] = *byNumber[n]
	}
	return trades, nil
}

func (t *Trade) add(row []string, column map[string]int) error {
	number := func(name string) float64 {
		v, err := strconv.ParseFloat(row[column[strings.ToLower(name)]], 64)
		if err != nil {
			return 0
		}
		return v
	}
	at, err := time.Parse("2006-01-02 15:04", row[column["date and time"]])
	if err != nil {
		return err
	}
	ms := at.Add(-zone).UnixMilli()
	kind, signal := row[column["type"]], row[column["signal"]]
	t.Long = strings.HasSuffix(kind, "long")
	if strings.HasPrefix(kind, "Entry") {
		t.EntryTime, t.EntryPrice, t.EntrySignal, t.Quantity = ms, number("Price"), signal, number("Size (qty)")
		return nil
	}
	t.ExitTime, t.ExitPrice, t.ExitSignal, t.Profit = ms, number("Price"), signal, number("Net P&L")
	t.Open = signal == "Open" || signal == ""
	return nil
}
