package eval

import (
	"math"
	"strconv"
	"strings"
)

// spellNumber writes a number with a pattern or one of the named formats.
func (m *Machine) spellNumber(x float64, format string) string {
	if x != x {
		return "NaN"
	}
	switch format {
	case "", plainPattern:
		return plainNumber(x)
	case "mintick", "price", "inherit":
		tick := m.env.Symbol.Tick
		if !(tick > 0) {
			return plainNumber(x)
		}
		return strconv.FormatFloat(toTick(x, tick), 'f', decimals(tick), 64)
	case "percent":
		return patterned(x, "0.00") + "%"
	case "volume":
		return volumeText(x)
	}
	return patterned(x, format)
}

// decimals returns how many digits a price step has behind the point.
func decimals(tick float64) int {
	text := strconv.FormatFloat(tick, 'f', -1, 64)
	if i := strings.IndexByte(text, '.'); i >= 0 {
		return min(len(text)-i-1, 12)
	}
	return 0
}

func volumeText(x float64) string {
	for _, unit := range []struct {
		size float64
		name string
	}{{1e12, "T"}, {1e9, "B"}, {1e6, "M"}, {1e3, "K"}} {
		if math.Abs(x) >= unit.size {
			return patterned(x/unit.size, "#.###") + unit.name
		}
	}
	return patterned(x, "#.###")
}

// plainPattern is the documented default of str.tostring.
const plainPattern = "#.##########"

// largestPlain is the number from which the plain form has an exponent.
const largestPlain = 1e21

// plainNumber writes a number without a pattern: at most ten digits after the point.
func plainNumber(x float64) string {
	switch {
	case math.IsInf(x, 0):
		return infinite(x)
	case math.Abs(x) < largestPlain:
		return numberForm{least: 1, most: 10}.spell(x)
	}
	digits, exponent, _ := strings.Cut(strconv.FormatFloat(x, 'e', -1, 64), "e+")
	return digits + "E" + exponent
}

// numberForm is a number's form as Java writes it: "#.##", "0.00", "#,##0.0", "0%".
type numberForm struct {
	prefix, suffix string
	least          int  // digits before the point
	fixed, most    int  // digits after the point: those that always stand, and all
	grouped        bool // commas between thousands
	percent        bool
}

// numberFormOf reads a pattern, and reports false for a text without a place for a number.
func numberFormOf(pattern string) (f numberForm, ok bool) {
	from := strings.IndexAny(pattern, "#0.")
	if from < 0 {
		return f, false
	}
	to := from
	for to < len(pattern) && strings.IndexByte("#0.,", pattern[to]) >= 0 {
		to++
	}
	whole, part, point := strings.Cut(pattern[from:to], ".")
	f = numberForm{prefix: pattern[:from], suffix: pattern[to:], least: strings.Count(whole, "0"), fixed: strings.Count(part, "0"), most: len(part), grouped: strings.Contains(whole, ",")}
	if point && f.least == 0 && whole != "" {
		f.least = 1
	}
	f.percent = strings.HasPrefix(f.suffix, "%")
	return f, true
}

// patterned writes a number with a pattern. It rounds as Java does, to the even digit of an exact tie.
func patterned(x float64, pattern string) string {
	f, ok := numberFormOf(pattern)
	switch {
	case math.IsInf(x, 0):
		return infinite(x)
	case !ok:
		return pattern
	case f.percent:
		x *= 100
	}
	return f.spell(x)
}

func infinite(x float64) string {
	return strings.Replace(strconv.FormatFloat(x, 'f', -1, 64), "Inf", "∞", 1)
}

// spell writes a finite number in its form.
func (f numberForm) spell(x float64) string {
	digits, rest, _ := strings.Cut(decimal(math.Abs(x), f.most), ".")
	rest = strings.TrimRight(rest, "0")
	if lacks := f.fixed - len(rest); lacks > 0 {
		rest += strings.Repeat("0", lacks)
	}
	if digits == "0" {
		digits = ""
	}
	if lacks := f.least - len(digits); lacks > 0 {
		digits = strings.Repeat("0", lacks) + digits
	}
	if digits == "" && rest == "" {
		digits = "0"
	}
	if f.grouped {
		digits = grouped(digits)
	}
	if rest != "" {
		digits += "." + rest
	}
	digits = f.prefix + digits + f.suffix
	if x < 0 {
		return "-" + digits
	}
	return digits
}

// decimal writes a number with at most some digits after the point: the shortest that mean the
// number, or its value rounded where they are more.
func decimal(x float64, most int) string {
	short := strconv.FormatFloat(x, 'f', -1, 64)
	if i := strings.IndexByte(short, '.'); i < 0 || len(short)-i-1 <= most {
		return short
	}
	return strconv.FormatFloat(x, 'f', most, 64)
}

// grouped puts commas between thousands.
func grouped(digits string) string {
	var b strings.Builder
	for i := range len(digits) {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteByte(digits[i])
	}
	return b.String()
}

func formatNumber(x float64, kind, style string) string {
	switch {
	case x != x:
		return "NaN"
	case kind != "number" || style == "":
		return patterned(x, "#,##0.###")
	case style == "integer":
		return patterned(x, "#,##0")
	case style == "percent":
		return patterned(x, "#,##0%")
	case style == "currency":
		return patterned(x, "$#,##0.00")
	}
	return patterned(x, style)
}
