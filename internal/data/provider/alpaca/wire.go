package alpaca

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"candela/internal/kit/strictjson"
	"candela/lib/market"
)

// ReadRefusal reads the venue's words out of an answer that is no success. Both
// are empty when it is not the venue's.
func ReadRefusal(body []byte) (code, message string) {
	j := strictjson.NewReader(body)
	j.Object(func(key []byte) {
		switch string(key) {
		case "code":
			code = strconv.FormatInt(j.Int(), 10)
		case "message":
			message = j.Text()
		}
	})
	if j.End() != nil {
		return "", ""
	}
	return code, message
}

// barKeys are the keys that a bar must have. They differ by case alone from others that
// the stream sends, such as T for the type.
const (
	barKeys  = "ohlcvt"
	wholeBar = 1<<len(barKeys) - 1
)

// field reads one field of a bar and returns its bit, 0 for another key.
func field(j *strictjson.Reader, key []byte, b *market.Bar) int {
	at := strings.Index(barKeys, string(key))
	switch {
	case len(key) != 1 || at < 0:
		return 0
	case key[0] == 't':
		b.T = instant(j).Unix()
	default:
		columns := [...]*float64{&b.O, &b.H, &b.L, &b.C, &b.V} // in the order of barKeys
		*columns[at] = j.Number()
	}
	return 1 << at
}

// instant reads a time.
func instant(j *strictjson.Reader) time.Time {
	text := j.Text()
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		j.Failf("want a time, found %q", text)
	}
	return at
}

// readBar reads a bar, and its symbol where it has one, as in the stream.
func readBar(j *strictjson.Reader) (b market.Bar, symbol string) {
	b.TakerBuy = math.NaN()
	seen := 0
	j.Object(func(key []byte) {
		if string(key) == "S" {
			symbol = j.Text()
			return
		}
		seen |= field(j, key, &b)
	})
	if seen != wholeBar {
		j.Failf("a bar without all of o, h, l, c, v, t")
	} else if err := b.Check(); err != nil {
		j.Failf("%v", err)
	}
	return b, symbol
}

// readBars reads one page of bars of one symbol and the token of the next, ""
// after the last. A symbol without bars in the range is left out by the venue;
// another symbol than the one asked for is an error.
func readBars(body []byte, symbol string) (rows []market.Bar, next string, err error) {
	j := strictjson.NewReader(body)
	seen := 0
	j.Object(func(key []byte) {
		switch string(key) {
		case "bars":
			seen |= 1
			if j.Null() {
				return
			}
			j.Object(func(key []byte) {
				if string(key) != symbol {
					j.Failf("it is about %q", key)
					return
				}
				j.Array(func(int) {
					row, _ := readBar(j)
					rows = append(rows, row)
				})
			})
		case "next_page_token":
			seen |= 2
			if !j.Null() {
				next = j.Text()
			}
		}
	})
	if seen != 3 {
		j.Failf("no bars or no next_page_token in it")
	}
	if err := j.End(); err != nil {
		return nil, "", fmt.Errorf("not a page of bars: %w", err)
	}
	return rows, next, nil
}

// readLatest returns the close of a symbol's newest bar, 0 when there is none.
func readLatest(body []byte, symbol string) (float64, error) {
	j := strictjson.NewReader(body)
	price, seen := 0.0, false
	j.Object(func(key []byte) {
		if string(key) != "bars" {
			return
		}
		if seen = true; j.Null() {
			return
		}
		j.Object(func(key []byte) {
			if string(key) != symbol {
				j.Failf("it is about %q", key)
				return
			}
			bar, _ := readBar(j)
			price = bar.C
		})
	})
	if !seen {
		j.Failf("no bars in it")
	}
	if err := j.End(); err != nil {
		return 0, fmt.Errorf("not the latest bar: %w", err)
	}
	return price, nil
}

// asset is an instrument of the trading API.
type asset struct {
	class        string
	fractionable bool
}

func readAsset(body []byte, symbol string) (asset, error) {
	j := strictjson.NewReader(body)
	var a asset
	found := ""
	j.Object(func(key []byte) {
		switch string(key) {
		case "symbol":
			found = j.Text()
		case "class":
			a.class = j.Text()
		case "fractionable":
			a.fractionable = j.Bool()
		}
	})
	// A crypto pair answers to its name without the slash, too.
	if strings.ReplaceAll(found, "/", "") != symbol {
		j.Failf("it is about %q", found)
	}
	if a.class == "" {
		j.Failf("no class in it")
	}
	if err := j.End(); err != nil {
		return asset{}, fmt.Errorf("not an asset: %w", err)
	}
	return a, nil
}
