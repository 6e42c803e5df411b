package eval

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"candela/internal/analysis/pine/check"
)

// stringFunction are the functions on strings.
func stringFunction(name string) plain {
	rest, ok := strings.CutPrefix(name, "str.")
	if !ok {
		return nil
	}
	switch rest {
	case "tostring":
		return func(s *site, a []float64) float64 {
			return s.h.newText(s.m.spell(a[0], s.call.Args[0].Type(), s.text(a, 1, "")))
		}
	case "format":
		return func(s *site, a []float64) float64 { return s.h.newText(s.format(a)) }
	case "format_time":
		return func(s *site, a []float64) float64 {
			if a[0] != a[0] {
				return s.h.newText("NaN")
			}
			t := s.m.local(a[0]).In(s.zoneOf(a, 2))
			return s.h.newText(formatDate(t, s.text(a, 1, "yyyy-MM-dd'T'HH:mm:ssZ")))
		}
	case "length":
		return func(s *site, a []float64) float64 { return float64(utf8.RuneCountInString(s.text(a, 0, ""))) }
	case "contains", "startswith", "endswith":
		test := map[string]func(a, b string) bool{"contains": strings.Contains, "startswith": strings.HasPrefix, "endswith": strings.HasSuffix}[rest]
		return func(s *site, a []float64) float64 { return toFloat(test(s.text(a, 0, ""), s.text(a, 1, ""))) }
	case "upper", "lower", "trim":
		change := map[string]func(string) string{"upper": strings.ToUpper, "lower": strings.ToLower, "trim": strings.TrimSpace}[rest]
		return func(s *site, a []float64) float64 { return s.h.newText(change(s.text(a, 0, ""))) }
	case "tonumber":
		return func(s *site, a []float64) float64 {
			x, err := strconv.ParseFloat(strings.TrimSpace(s.text(a, 0, "")), 64)
			if err != nil || math.IsInf(x, 0) {
				return math.NaN()
			}
			return x
		}
	}
	return stringPart(rest)
}

// stringPart are the functions that look for parts.
func stringPart(name string) plain {
	switch name {
	case "substring":
		return substring
	case "pos":
		return func(s *site, a []float64) float64 {
			text := s.text(a, 0, "")
			i := strings.Index(text, s.text(a, 1, ""))
			if i < 0 {
				return math.NaN()
			}
			return float64(utf8.RuneCountInString(text[:i]))
		}
	case "replace", "replace_all":
		return func(s *site, a []float64) float64 {
			text, old, with := s.text(a, 0, ""), s.text(a, 1, ""), s.text(a, 2, "")
			s.m.spend(s.at, len(text))
			if name == "replace_all" {
				return s.h.newText(s.replaceAll(text, old, with))
			}
			return s.h.newText(replaceNth(text, old, with, whole(s.number(a, 3, 0))))
		}
	case "split":
		return func(s *site, a []float64) float64 {
			parts := strings.Split(s.text(a, 0, ""), s.text(a, 1, ""))
			s.m.spend(s.at, len(parts))
			out := make([]float64, len(parts))
			for i, p := range parts {
				out[i] = s.h.newText(p)
			}
			return s.h.newArray(&check.Type{Kind: check.String}, out)
		}
	case "repeat":
		return func(s *site, a []float64) float64 {
			text, n, between := s.text(a, 0, ""), whole(a[1]), s.text(a, 2, "")
			if n <= 0 {
				return s.h.newText("")
			}
			if (len(text)+len(between))*n > maxText {
				s.m.fail(s.at, CodeMemory, "A string has more than %d characters.", maxText)
			}
			return s.h.newText(strings.TrimSuffix(strings.Repeat(text+between, n), between))
		}
	case "match":
		return func(s *site, a []float64) float64 {
			re, err := regexp.Compile(s.text(a, 1, ""))
			if err != nil {
				s.fail("The pattern of str.match is wrong: %v.", err)
			}
			text := s.text(a, 0, "")
			s.m.spend(s.at, len(text))
			return s.h.newText(re.FindString(text))
		}
	}
	return nil
}

func (s *site) replaceAll(text, old, with string) string {
	if n := strings.Count(text, old); len(text)+n*(len(with)-len(old)) > maxText {
		s.m.fail(s.at, CodeMemory, "A string has more than %d characters.", maxText)
	}
	return strings.ReplaceAll(text, old, with)
}

// replaceNth replaces one occurrence, counted from 0.
func replaceNth(text, old, with string, n int) string {
	if old == "" {
		return text
	}
	at := 0
	for {
		i := strings.Index(text[at:], old)
		if i < 0 {
			return text
		}
		at += i
		if n == 0 {
			return text[:at] + with + text[at+len(old):]
		}
		n--
		at += len(old)
	}
}

func substring(s *site, a []float64) float64 {
	runes := []rune(s.text(a, 0, ""))
	from, to := whole(a[1]), len(runes)
	if s.given(2) && a[2] == a[2] {
		to = min(whole(a[2]), len(runes))
	}
	s.m.spend(s.at, len(runes))
	if from < 0 || from > to {
		return s.h.newText("")
	}
	return s.h.newText(string(runes[from:to]))
}

// spell writes a value as str.tostring does.
func (m *Machine) spell(x float64, t *check.Type, format string) string {
	if t == nil {
		t = &check.Type{Kind: check.Float}
	}
	switch t.Kind {
	case check.String, check.Option:
		if x != x {
			return "NaN"
		}
		return m.heap.text(x)
	case check.Bool:
		if x != x {
			return "NaN"
		}
		return strconv.FormatBool(x != 0)
	case check.Enum:
		if i := whole(x); x == x && i >= 0 && i < len(t.Enum.Titles) {
			return t.Enum.Titles[i]
		}
		return "NaN"
	case check.Array:
		if x != x {
			return "NaN"
		}
		var parts []string
		for _, v := range m.heap.elements(x) {
			parts = append(parts, m.spell(v, t.Elem, format))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case check.Matrix:
		return m.spellMatrix(x, t, format)
	case check.Int, check.Float:
		return m.spellNumber(x, format)
	default: // a type that str.tostring does not take
		return ""
	}
}

func (m *Machine) spellMatrix(x float64, t *check.Type, format string) string {
	if x != x {
		return "NaN"
	}
	o := &m.heap.objects[int(x)]
	var b strings.Builder
	for r := range o.rows {
		parts := make([]string, o.cols)
		for c := range parts {
			parts[c] = m.spell(o.n[r*o.cols+c], t.Elem, format)
		}
		b.WriteString("[" + strings.Join(parts, ", ") + "]\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// spellNumber writes a number with a pattern or one of the named formats.
func (m *Machine) spellNumber(x float64, format string) string {
	if x != x {
		return "NaN"
	}
	switch format {
	case "":
		return patterned(x, "#.##########")
	case "mintick", "price", "inherit":
		tick := m.env.Symbol.Tick
		if !(tick > 0) {
			return patterned(x, "#.##########")
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

// patterned writes a number with a pattern such as "#.##", "0.00", "#,##0.0" or "0%".
func patterned(x float64, pattern string) string {
	if math.IsInf(x, 0) {
		return strings.Replace(strconv.FormatFloat(x, 'f', -1, 64), "Inf", "∞", 1)
	}
	from := strings.IndexAny(pattern, "#0.")
	if from < 0 {
		return pattern
	}
	to := from
	for to < len(pattern) && strings.IndexByte("#0.,", pattern[to]) >= 0 {
		to++
	}
	prefix, core, suffix := pattern[:from], pattern[from:to], pattern[to:]
	if strings.HasPrefix(suffix, "%") {
		x *= 100
	}
	whole, part, _ := strings.Cut(core, ".")
	least, most := strings.Count(part, "0"), len(part)
	text := strconv.FormatFloat(math.Abs(x), 'f', min(most, 16), 64)
	digits, rest, _ := strings.Cut(text, ".")
	for len(rest) > least && strings.HasSuffix(rest, "0") {
		rest = rest[:len(rest)-1]
	}
	need := strings.Count(whole, "0")
	if digits == "0" && need == 0 && whole != "" && rest != "" && !strings.Contains(whole, "#") {
		digits = ""
	}
	for len(digits) < need {
		digits = "0" + digits
	}
	if strings.Contains(whole, ",") {
		digits = grouped(digits)
	}
	if rest != "" {
		digits += "." + rest
	}
	if x < 0 && strings.Trim(digits, "0.,") != "" {
		digits = "-" + digits
	}
	return prefix + digits + suffix
}

// grouped puts commas between thousands.
func grouped(digits string) string {
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// format fills the places {0}, {1,number,#.##} of a text.
func (s *site) format(a []float64) string {
	text := []rune(s.text(a, 0, ""))
	var b strings.Builder
	quoted := false
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\'' && i+1 < len(text) && text[i+1] == '\'':
			b.WriteByte('\'')
			i++
		case text[i] == '\'':
			quoted = !quoted
		case text[i] == '{' && !quoted:
			end := i + 1
			for end < len(text) && text[end] != '}' {
				end++
			}
			b.WriteString(s.formatted(string(text[i+1:min(end, len(text))]), a))
			i = end
		default:
			b.WriteRune(text[i])
		}
		if b.Len() > maxText {
			s.m.fail(s.at, CodeMemory, "A string has more than %d characters.", maxText)
		}
	}
	return b.String()
}

// formatted writes one place of a format.
func (s *site) formatted(place string, a []float64) string {
	parts := strings.SplitN(place, ",", 3)
	i, err := strconv.Atoi(strings.TrimSpace(parts[0]))
	if err != nil || i < 0 {
		return "{" + place + "}"
	}
	at, t := i+1, (*check.Type)(nil)
	if at < len(s.exprs) && s.exprs[at] != nil {
		t = s.exprs[at].Type()
	}
	if t == nil || at >= len(a) {
		return "{" + place + "}"
	}
	kind, style := "", ""
	if len(parts) > 1 {
		kind = strings.TrimSpace(parts[1])
	}
	if len(parts) > 2 {
		style = strings.TrimSpace(parts[2])
	}
	if !t.Numeric() {
		return s.m.spell(a[at], t, "")
	}
	return s.formatNumber(a[at], kind, style)
}

func (s *site) formatNumber(x float64, kind, style string) string {
	if x != x {
		return "NaN"
	}
	switch {
	case kind == "date" || kind == "time":
		if style == "" {
			style = map[string]string{"date": "yyyy-MM-dd", "time": "HH:mm:ss"}[kind]
		}
		return formatDate(s.m.local(x), style)
	case kind != "number" || style == "":
		return patterned(x, "#,###.###")
	case style == "integer":
		return patterned(x, "#,###")
	case style == "percent":
		return patterned(x, "#,###%")
	case style == "currency":
		return "$" + patterned(x, "#,##0.00")
	}
	return patterned(x, style)
}
