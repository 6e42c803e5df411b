package eval

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"candela/lib/pine/check"
)

// stringRows are the functions on strings.
func stringRows() functions {
	return functions{
		"str.contains":    priced(texts(0, 1), compared(strings.Contains)),
		"str.endswith":    priced(texts(0, 1), compared(strings.HasSuffix)),
		"str.format":      priced(texts(0), func(s *site, a []float64) float64 { return s.format(a).text() }),
		"str.format_time": priced(flat(1), formatTime),
		"str.length":      priced(texts(0), func(s *site, a []float64) float64 { return float64(utf8.RuneCountInString(s.text(a, 0, ""))) }),
		"str.lower":       priced(texts(0, 0, 0, 0), rewritten(strings.ToLower)),
		"str.match":       priced(texts(0, 1, 1, 1, 1), match),
		"str.pos":         priced(texts(0, 0, 1), position),
		"str.repeat":      priced(flat(1), repeat),
		"str.replace":     priced(texts(0, 0, 0, 1, 2), replaceOne),
		"str.replace_all": priced(texts(0, 0, 0, 1, 2), replaceAll),
		"str.split":       priced(texts(0, 0, 1), split),
		"str.startswith":  priced(texts(0, 1), compared(strings.HasPrefix)),
		"str.substring":   priced(texts(0, 0, 0, 0), substring),
		"str.tonumber":    priced(texts(0, 0), toNumber),
		"str.tostring":    priced(flat(1), toString),
		"str.trim":        priced(texts(0, 0, 0, 0), rewritten(strings.TrimSpace)),
		"str.upper":       priced(texts(0, 0, 0, 0), rewritten(strings.ToUpper)),
	}
}

// compared is a question about two texts.
func compared(is func(a, b string) bool) plain {
	return func(s *site, a []float64) float64 { return toFloat(is(s.text(a, 0, ""), s.text(a, 1, ""))) }
}

// rewritten is a text made of another.
func rewritten(of func(string) string) plain {
	return func(s *site, a []float64) float64 { return s.h.newText(strings.Clone(of(s.text(a, 0, "")))) }
}

func toString(s *site, a []float64) float64 {
	w := s.writer()
	w.spell(a[0], s.call.Args[0].Type(), s.text(a, 1, ""))
	return w.text()
}

func toNumber(s *site, a []float64) float64 {
	x, err := strconv.ParseFloat(strings.TrimSpace(s.text(a, 0, "")), 64)
	if err != nil || math.IsInf(x, 0) {
		return math.NaN()
	}
	return x
}

func formatTime(s *site, a []float64) float64 {
	if a[0] != a[0] {
		return s.h.newText("NaN")
	}
	t := s.m.local(a[0]).In(s.zoneOf(a, 2))
	w := s.writer()
	w.date(t, s.text(a, 1, "yyyy-MM-dd'T'HH:mm:ssZ"))
	return w.text()
}

func position(s *site, a []float64) float64 {
	text := s.text(a, 0, "")
	i := strings.Index(text, s.text(a, 1, ""))
	if i < 0 {
		return math.NaN()
	}
	return float64(utf8.RuneCountInString(text[:i]))
}

func split(s *site, a []float64) float64 {
	var out []float64
	for part := range strings.SplitSeq(s.text(a, 0, ""), s.text(a, 1, "")) {
		s.pay(1)
		out = append(out, s.h.newText(strings.Clone(part)))
	}
	return s.h.newArray(s.h.m.types.plain(check.String), out)
}

func repeat(s *site, a []float64) float64 {
	text, n, between := s.text(a, 0, ""), whole(a[1]), s.text(a, 2, "")
	if n <= 0 || text+between == "" {
		return s.h.newText("")
	}
	if len(text)*n+len(between)*(n-1) > maxText {
		s.m.tooLong(s.at)
	}
	w := s.writer()
	w.write(text)
	for range n - 1 {
		w.write(between)
		w.write(text)
	}
	return w.text()
}

func replaceAll(s *site, a []float64) float64 {
	text, old, with := s.text(a, 0, ""), s.text(a, 1, ""), s.text(a, 2, "")
	if n := strings.Count(text, old); len(text)+n*(len(with)-len(old)) > maxText {
		s.m.tooLong(s.at)
	}
	return s.h.newText(strings.ReplaceAll(text, old, with))
}

// replaceOne replaces one occurrence, counted from 0.
func replaceOne(s *site, a []float64) float64 {
	text, old, with, n := s.text(a, 0, ""), s.text(a, 1, ""), s.text(a, 2, ""), whole(s.number(a, 3, 0))
	w := s.writer()
	if old == "" {
		w.write(text)
		return w.text()
	}
	at := 0
	for {
		i := strings.Index(text[at:], old)
		if i < 0 {
			w.write(text)
			return w.text()
		}
		at += i
		if n == 0 {
			w.write(text[:at])
			w.write(with)
			w.write(text[at+len(old):])
			return w.text()
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
	if from < 0 || from > to {
		return s.h.newText("")
	}
	return s.h.newText(string(runes[from:to]))
}

// spell writes a value as str.tostring does.
func (w *writer) spell(x float64, t *check.Type, format string) {
	kind := check.Float
	if t != nil {
		kind = t.Kind
	}
	switch kind {
	case check.String, check.Option, check.Bool, check.Enum, check.Array, check.Matrix, check.Int, check.Float:
	default: // a type that str.tostring does not take
		return
	}
	if x != x {
		w.write("NaN")
		return
	}
	switch kind {
	case check.String, check.Option:
		w.write(w.m.heap.text(x))
	case check.Bool:
		w.write(strconv.FormatBool(x != 0))
	case check.Enum:
		title := "NaN"
		if i := whole(x); i >= 0 && i < len(t.Enum.Titles) {
			title = t.Enum.Titles[i]
		}
		w.write(title)
	case check.Array:
		w.row(w.m.heap.elements(x), t.Elem, format)
	case check.Matrix:
		w.rows(&w.m.heap.objects[int(x)], t.Elem, format)
	default: // a number
		w.m.spend(w.at, len(format)/readAStep)
		w.write(w.m.spellNumber(x, format))
	}
}

// rows writes a matrix, a row on each line.
func (w *writer) rows(o *object, elem *check.Type, format string) {
	for r := range o.rows {
		w.m.spend(w.at, 1)
		if r > 0 {
			w.write("\n")
		}
		w.row(o.n[r*o.cols:(r+1)*o.cols], elem, format)
	}
}

// row writes values between brackets.
func (w *writer) row(values []float64, elem *check.Type, format string) {
	w.write("[")
	w.list(values, elem, format, ", ")
	w.write("]")
}

// list writes values with a text between them.
func (w *writer) list(values []float64, elem *check.Type, format, between string) {
	for i, v := range values {
		w.m.spend(w.at, 1)
		if i > 0 {
			w.write(between)
		}
		w.spell(v, elem, format)
	}
}

// format fills the places {0}, {1,number,#.##} of a text.
func (s *site) format(a []float64) *writer {
	text, w := s.text(a, 0, ""), s.writer()
	quoted := false
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\'' && i+1 < len(text) && text[i+1] == '\'':
			w.write("'")
			i++
		case text[i] == '\'':
			quoted = !quoted
		case text[i] == '{' && !quoted:
			end := len(text)
			if n := strings.IndexByte(text[i:], '}'); n >= 0 {
				end = i + n
			}
			w.formatted(s, text[i+1:end], a)
			i = end
		default:
			w.write(text[i : i+1])
		}
	}
	return w
}

// formatted writes one place of a format.
func (w *writer) formatted(s *site, place string, a []float64) {
	s.pay(1 + len(place)/readAStep)
	parts := strings.SplitN(place, ",", 3)
	i, err := strconv.Atoi(strings.TrimSpace(parts[0]))
	if err != nil || i < 0 {
		w.write("{" + place + "}")
		return
	}
	at, t := i+1, (*check.Type)(nil)
	if at < len(s.exprs) && s.exprs[at] != nil {
		t = s.exprs[at].Type()
	}
	if t == nil || at >= len(a) {
		w.write("{" + place + "}")
		return
	}
	kind, style := "", ""
	if len(parts) > 1 {
		kind = strings.TrimSpace(parts[1])
	}
	if len(parts) > 2 {
		style = strings.TrimSpace(parts[2])
	}
	switch {
	case !t.Numeric():
		w.spell(a[at], t, "")
	case a[at] == a[at] && (kind == "date" || kind == "time"):
		if style == "" {
			style = map[string]string{"date": "yyyy-MM-dd", "time": "HH:mm:ss"}[kind]
		}
		w.date(s.m.local(a[at]), style)
	default:
		w.write(formatNumber(a[at], kind, style))
	}
}
