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
)

// notation is how the numbers of one pane are written.
type notation struct {
	style    notationStyle
	decimals int
	round    bool // the numbers are ticks: an exponent drops the zeros before it
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
	const tolerance = 1e-9 // relative; a price of seven digits is far from it
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
	if len(n.append(nil, largest)) > longest {
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
	case order >= 15 || order < -12:
		return notation{style: expo, decimals: 3}
	case order >= 6:
		return notation{style: compact, decimals: 2}
	case order >= 0:
		return notation{decimals: min(2, 5-order)}
	}
	return notation{decimals: 3 - order}
}

// with returns n with the decimals of a tick step, because ticks are round numbers.
func (n notation) with(decimals int) notation {
	n.round = true
	if n.style == fixed {
		n.decimals = decimals
	}
	return n
}

// append writes v at the end of dst.
func (n notation) append(dst []byte, v float64) []byte {
	if !finite(v) {
		return append(dst, "n/a"...)
	}
	switch n.style {
	case compact:
		return appendCompact(dst, v)
	case expo:
		return appendExpo(dst, v, n.decimals, n.round)
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
	const units = " KMBT"
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

// shortest returns the fewest decimals, up to n's own, that write v exactly.
func (n notation) shortest(v float64) int {
	for d := range n.decimals {
		scaled := float64(v * pow10(d))
		if scaled == math.Round(scaled) {
			return d
		}
	}
	return n.decimals
}
