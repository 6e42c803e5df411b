package report

import (
	"bytes"
	"math"
	"slices"
	"strconv"
)

// None stands for a number that cannot be computed.
const None = "none"

// Grouped writes a number with so many decimals and a comma between thousands. One that cannot be
// computed is none, and one that rounds to 0 has no sign.
func Grouped(x float64, decimals int) string {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return None
	}
	digits := strconv.AppendFloat(nil, math.Abs(x), 'f', decimals, 64)
	whole := len(digits)
	if decimals > 0 {
		whole -= decimals + 1
	}
	var out []byte
	if x < 0 && bytes.ContainsAny(digits, "123456789") {
		out = append(out, '-')
	}
	for i, c := range digits {
		if i > 0 && i < whole && (whole-i)%3 == 0 {
			out = append(out, ',')
		}
		out = append(out, c)
	}
	return string(out)
}

// Money writes an amount: with two decimals, or with three digits if it is below 1.
func Money(x float64) string {
	decimals := 2
	if a := math.Abs(x); a > 0 && a < 1 {
		decimals = min(8, 2-int(math.Floor(math.Log10(a))))
	}
	return Grouped(x, decimals)
}

// Percent writes a percentage with its sign of percent.
func Percent(x float64) string {
	if text := Grouped(x, 2); text != None {
		return text + " %"
	}
	return None
}

// Count writes a number of things by their names for one and for several.
func Count(n int, one, several string) string {
	if n == 1 {
		return "1 " + one
	}
	return Grouped(float64(n), 0) + " " + several
}

// signed writes a number or a text with the sign of minus where a hyphen stands before a digit and after
// nothing that it could belong to. JSON and files keep the hyphen.
func signed(text string) string {
	b := []byte(text)
	var out []byte
	for i, c := range b {
		if c == '-' && i+1 < len(b) && b[i+1] >= '0' && b[i+1] <= '9' && (i == 0 || b[i-1] == ' ' || b[i-1] == '(') {
			out = append(out, minus...)
			continue
		}
		out = append(out, c)
	}
	return string(out)
}

const minus = "\u2212"

// usefulDigits is the number of digits that a column shows of its largest value.
const usefulDigits = 6

// decimalsOf returns the decimals with which values of a column are written alike: those of amounts
// have two, prices as many as they have themselves, others as many as the largest value needs for its
// digits, and no more than one of them has.
func decimalsOf(column string, values []float64) int {
	largest, longest, own := 0.0, 0, 0
	for _, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			continue
		}
		largest = max(largest, math.Abs(v))
		text := strconv.FormatFloat(v, 'f', -1, 64)
		if point := bytes.IndexByte([]byte(text), '.'); point >= 0 {
			longest = max(longest, len(text)-point-1)
		}
		own = max(own, priceDecimals(v))
	}
	amount := column == "profit" || column == "commission"
	switch {
	case isPercent(column) || amount && largest >= 1:
		return 2
	case largest == 0:
		return 0
	case isPrice(column):
		return own
	}
	return min(longest, max(0, usefulDigits-1-int(math.Floor(math.Log10(largest)))), 10)
}

// isPrice reports whether a column has prices of a venue.
func isPrice(column string) bool {
	return slices.Contains([]string{"price", "open", "high", "low", "close", "entry", "exit", "entry_price", "exit_price", "stop", "target"}, column)
}

// priceDecimals returns the decimals of a price, at least two from 1 on, apart from what is noise of a
// price kept in 32 bits.
func priceDecimals(v float64) int {
	const most, noise = 10, 7e-8
	n := 0
	if math.Abs(v) >= 1 {
		n = 2
	}
	for ; n < most; n++ {
		scaled := math.Abs(v) * math.Pow10(n)
		if math.Abs(scaled-math.Round(scaled)) <= scaled*noise {
			break
		}
	}
	return n
}
