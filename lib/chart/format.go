package chart

import (
	"bytes"
	"math"
	"strconv"
)

const (
	minus       = "\u2212" // as wide as a digit, unlike the hyphen
	significant = 7        // digits of a price worth showing
	longest     = 18       // characters of a fixed-point price before it turns to an exponent
	longestTiny = 12       // the same for a price whose first digits are zeros
)

// units are the signs of the powers of a thousand.
const units = " KMBT"

// notation is how the numbers of one pane are written.
type notation struct {
	style    notationStyle
	decimals int
	unit     int // compact ticks: all in this power of a thousand, if not 0
}

type notationStyle uint8

const (
	fixed   notationStyle = iota // 60,004.25
	compact                      // 1.38K
	expo                         // 1.23009e-12
)

// priceNotation finds how many decimals the prices themselves use: the most seen
// in any of them, not counting what is noise at the scale of a price, and no
// more than makes seven significant digits of the largest.
func priceNotation(columns ...[]float64) notation {
	const tolerance = 7e-8 // relative: of prices kept in 32 bits; one of seven digits is further from it
	largest := 0.0
	for _, column := range columns {
		for _, v := range column {
			if a := math.Abs(v); a <= math.MaxFloat64 && a > largest {
				largest = a
			}
		}
	}
	if largest == 0 {
		return notation{decimals: 2}
	}
	order := int(math.Floor(math.Log10(largest)))
	most := min(max(0, significant-1-order), 300)
	if order > longest {
		return notation{style: expo, decimals: significant - 1}
	}
	decimals := min(most, 2)
	power := pow10(decimals)
	for _, column := range columns {
		for _, v := range column {
			for decimals < most {
				scaled := math.Abs(float64(v * power))
				if !(math.Abs(scaled-math.Round(scaled)) > scaled*tolerance) {
					break
				}
				decimals++
				power = pow10(decimals)
			}
		}
	}
	n := notation{decimals: decimals}
	if size := len(n.append(nil, largest)); size > longest || order < -1 && size > longestTiny {
		return notation{style: expo, decimals: significant - 2}
	}
	return n
}

// valueNotation is for the numbers of a panel, whose size determines the decimals.
// Bounded panels such as RSI show two.
func valueNotation(r span) notation {
	largest := max(math.Abs(r.lo), math.Abs(r.hi))
	if r.empty() || largest == 0 {
		return notation{decimals: 2}
	}
	order := int(math.Floor(math.Log10(largest)))
	switch {
	case order >= 15 || order < -4:
		return notation{style: expo, decimals: 3}
	case largest >= 5e5: // a tick above it may be a million
		return notation{style: compact, decimals: 2}
	case order >= 0:
		return notation{decimals: min(2, 5-order)}
	}
	return notation{decimals: 3 - order}
}

// ticks returns the form in which n writes the ticks of an axis: round numbers with
// the same decimals and the same unit.
func (n notation) ticks(values []float64, decimals int) notation {
	switch n.style {
	case fixed:
		n.decimals = decimals
	case compact:
		largest := 0.0
		for _, v := range values {
			largest = max(largest, math.Abs(v))
		}
		for n.unit = 0; largest >= 1000 && n.unit < len(units)-1; n.unit++ {
			largest /= 1000
		}
		n.decimals = 0
		for _, v := range values {
			n.decimals = max(n.decimals, notation{decimals: 3}.shortest(v/math.Pow10(3*n.unit)))
		}
	case expo:
		n.decimals = 0
		for _, v := range values {
			if v != 0 {
				mantissa := math.Abs(v) / pow10(int(math.Floor(math.Log10(math.Abs(v)))))
				n.decimals = max(n.decimals, notation{decimals: significant - 2}.shortest(mantissa))
			}
		}
	}
	return n
}

// value is text for a single value: a zero has no decimals.
func (n notation) value(v float64) string {
	if v == 0 {
		return "0"
	}
	return n.text(v)
}

// append writes v at the end of dst.
func (n notation) append(dst []byte, v float64) []byte {
	if !finite(v) {
		return append(dst, "n/a"...)
	}
	switch n.style {
	case compact:
		if n.unit > 0 {
			return append(appendFixed(dst, v/math.Pow10(3*n.unit), n.decimals), units[n.unit])
		}
		return appendCompact(dst, v)
	case expo:
		return appendExpo(dst, v, n.decimals, false)
	case fixed:
	}
	return appendFixed(dst, v, n.decimals)
}

// appendFixed writes v with the given decimals and thousands separators.
func appendFixed(dst []byte, v float64, decimals int) []byte {
	var room [400]byte
	digits := strconv.AppendFloat(room[:0], math.Abs(v), 'f', decimals, 64)
	if v < 0 && bytes.ContainsAny(digits, "123456789") { // a value that rounds to zero has no sign
		dst = append(dst, minus...)
	}
	whole := len(digits)
	if decimals > 0 {
		whole -= decimals + 1
	}
	for i, c := range digits {
		if i > 0 && i < whole && (whole-i)%3 == 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, c)
	}
	return dst
}

// trimDecimals drops the zeros at the end of a number with decimals, and a bare point.
func trimDecimals(text []byte) []byte {
	return bytes.TrimSuffix(bytes.TrimRight(text, "0"), []byte("."))
}

// appendCompact writes v with three significant digits and a unit: 1.38K.
func appendCompact(dst []byte, v float64) []byte {
	a, unit := math.Abs(v), 0
	for a >= 999.5 && unit < len(units)-1 {
		a, unit = a/1000, unit+1
	}
	if a >= 999.5 {
		return appendExpo(dst, v, 2, true)
	}
	decimals := 2
	switch {
	case a >= 99.95:
		decimals = 0
	case a >= 9.995:
		decimals = 1
	}
	if v < 0 && a > 0 {
		dst = append(dst, minus...)
	}
	dst = strconv.AppendFloat(dst, a, 'f', decimals, 64)
	if decimals > 0 && unit == 0 { // 0 and whole numbers stay as they are
		dst = trimDecimals(dst)
	}
	if unit > 0 {
		dst = append(dst, units[unit])
	}
	return dst
}

// appendExpo writes v as a mantissa and a power of ten, on request without the
// zeros at the mantissa's end.
func appendExpo(dst []byte, v float64, decimals int, round bool) []byte {
	if v == 0 {
		return append(dst, '0')
	}
	var room [32]byte
	text := strconv.AppendFloat(room[:0], math.Abs(v), 'e', decimals, 64)
	if v < 0 {
		dst = append(dst, minus...)
	}
	mantissa, exponent, _ := bytes.Cut(text, []byte("e"))
	if round && decimals > 0 {
		mantissa = trimDecimals(mantissa)
	}
	dst = append(append(dst, mantissa...), 'e')
	if exponent[0] == '-' {
		dst = append(dst, minus...)
	}
	return append(dst, bytes.TrimPrefix(exponent[1:], []byte("0"))...)
}

// text returns v as a string.
func (n notation) text(v float64) string {
	var room [64]byte
	return string(n.append(room[:0], v))
}

// shortest returns the fewest decimals, up to n's own, that write v, apart from rounding.
func (n notation) shortest(v float64) int {
	for d := range n.decimals {
		if scaled := float64(v * pow10(d)); math.Abs(scaled-math.Round(scaled)) <= math.Abs(scaled)*1e-9 {
			return d
		}
	}
	return n.decimals
}
