package ta

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"candela/lib/fault"
)

// Names are understood as people write them: sma200, SMA 200, EMA(50), ema_100, 200 sma,
// macd(12,26,9), ta.rsi(close, 14). The numbers set the parameters that the definition
// puts in an order, or its only length. Anything else is not a name.

// maxSpelled is the number of values in one name.
const maxSpelled = 8

// spelled is a name with the values that were written in it.
type spelled struct {
	base   string   // in lower case
	values []string // numbers and the names of prices, in order
	unit   string   // of time, as in 50-day
}

// spellings returns the ways to read a name, the plain one first and then those with
// fewer values.
func spellings(name string) []spelled {
	key := strings.TrimPrefix(strings.ToLower(strings.TrimSpace(name)), "ta.")
	all := []spelled{{base: key}}
	if s, ok := bracketed(key); ok {
		all = append(all, s)
	}
	all = append(all, trailing(key)...)
	if s, ok := leading(key); ok {
		all = append(all, s)
	}
	return all
}

// bracketed reads ema(50) and sma(close, 200).
func bracketed(key string) (spelled, bool) {
	open := strings.IndexAny(key, "([")
	if open < 1 || len(key) < open+2 || key[len(key)-1] != ")]"[strings.IndexByte("([", key[open])] {
		return spelled{}, false
	}
	values := strings.Split(key[open+1:len(key)-1], ",")
	for i, v := range values {
		values[i] = strings.TrimSpace(v)
		if !isNumber(values[i]) && !slices.Contains(sources(), values[i]) {
			return spelled{}, false
		}
	}
	return spelled{base: trimMarks(key[:open]), values: values}, len(values) <= maxSpelled
}

// trailing reads sma200, sma 200, ema_100 and macd 12 26 9, and t3 10 with either one or
// two values.
func trailing(key string) (all []spelled) {
	var values []string
	for rest := key; len(values) < maxSpelled; {
		at := len(rest)
		for at > 0 && (isDigit(rest[at-1]) || rest[at-1] == '.' && at < len(rest) && at > 1 && isDigit(rest[at-2])) {
			at--
		}
		base := trimMarks(rest[:at])
		if at == len(rest) || base == "" {
			break
		}
		values = append([]string{rest[at:]}, values...)
		all = append(all, spelled{base: base, values: values})
		if base == rest[:at] {
			break // letters touch the number
		}
		rest = base
	}
	return all
}

// leading reads 200 sma, 200-period sma and 50-day ema.
func leading(key string) (spelled, bool) {
	end := 0
	for end < len(key) && isDigit(key[end]) {
		end++
	}
	if end == 0 {
		return spelled{}, false
	}
	s := spelled{base: trimMarks(key[end:]), values: []string{key[:end]}}
	word, rest, more := strings.Cut(strings.ReplaceAll(s.base, "-", " "), " ")
	if more {
		switch strings.TrimSuffix(word, "s") {
		case "period", "bar", "candle", "length":
			s.base = trimMarks(rest)
		case "d", "day", "w", "week", "h", "hr", "hour", "m", "min", "minute", "month":
			s.base, s.unit = trimMarks(rest), word
		}
	}
	return s, s.base != ""
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// isNumber reports whether text is a plain decimal number, which is JSON too.
func isNumber(text string) bool {
	whole, part, dotted := strings.Cut(text, ".")
	digits := func(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
	return digits(whole) && (whole == "0" || whole[0] != '0') && (!dotted || digits(part))
}

func trimMarks(s string) string { return strings.Trim(s, " _-,:.") }

// compact is a name without case and the marks between its words.
func compact(name string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case ' ', '_', '-', '.', '\'':
			return -1
		}
		return r
	}, strings.ToLower(strings.TrimSpace(name)))
}

// title is what the description calls the indicator: its words up to the first mark.
func (d *Def) title() string {
	if end := strings.IndexAny(d.Doc, ":;,.("); end >= 0 {
		return d.Doc[:end]
	}
	return d.Doc
}

// find returns the definition of a name without values. With parameters, a name that an
// entry shares with a member is the member's: ema alone is the stack of four averages.
func (c *register) find(base string, parameters bool) *Def {
	if d := c.plain[base]; d != nil && parameters {
		return d
	}
	if d := c.names[base]; d != nil {
		return d
	}
	key := compact(base)
	if d := c.plain[key]; d != nil && parameters {
		return d
	}
	return c.loose[key]
}

// lookup returns the definition that a name means and the parameters written in it. It
// returns nil for an unknown name.
func lookup(name string, parameters bool) (*Def, map[string]json.RawMessage, error) {
	c := catalogue()
	for _, s := range spellings(name) {
		d := c.find(s.base, parameters || len(s.values) > 0)
		if d == nil {
			continue
		}
		if s.unit != "" {
			return nil, nil, d.inTime(name, &s)
		}
		params, err := d.placed(name, s.values)
		return d, params, err
	}
	return nil, nil, nil
}

// placed gives the values written in a name to the parameters they belong to.
func (d *Def) placed(name string, values []string) (map[string]json.RawMessage, error) {
	if len(values) == 0 {
		return nil, nil
	}
	order := d.order()
	params := make(map[string]json.RawMessage, len(values))
	next := 0
	for _, v := range values {
		parameter := "source"
		if isDigit(v[0]) {
			if next == len(order) {
				return nil, d.tooMany(name, values, order)
			}
			parameter = order[next]
			next++
		} else if d.param(parameter) < 0 {
			return nil, d.unknownParam(parameter)
		} else {
			v = strconv.Quote(v)
		}
		if _, twice := params[parameter]; twice {
			return nil, d.tooMany(name, values, order)
		}
		params[parameter] = json.RawMessage(v)
	}
	return params, nil
}

// order returns the parameters that numbers in a name set, in order: those that the
// definition says, or its only length.
func (d *Def) order() []string {
	if d.Order != nil {
		return slices.DeleteFunc(slices.Clone(d.Order), func(name string) bool { return d.param(name) < 0 })
	}
	for _, name := range []string{"length", "period"} {
		if i := d.param(name); i >= 0 && d.Params[i].Kind == IntParam {
			return []string{d.Params[i].Name}
		}
	}
	return nil
}

// tooMany refuses a name with numbers that no parameter takes.
func (d *Def) tooMany(name string, values, order []string) error {
	allowed := d.Name + " with its parameters by name"
	if len(order) > 0 {
		allowed = fmt.Sprintf("%s with at most %s, in this order", d.Name, strings.Join(order, ", "))
	}
	e := fault.Field("indicators", name, allowed, d.Name)
	e.Message = fmt.Sprintf("indicators: %q has %d values in the name of %s; write %s, such as %s", name, len(values), d.Name, allowed, d.example())
	return e
}

// example is a request of the indicator with its first parameter by name.
func (d *Def) example() string {
	if len(d.Params) == 0 {
		return strconv.Quote(d.Name)
	}
	p := d.Params[0]
	raw, err := json.Marshal(p.Default)
	if err != nil || p.Default == nil {
		return strconv.Quote(d.Name)
	}
	return fmt.Sprintf(`{"name":%q,%q:%s}`, d.Name, p.Name, raw)
}

// inTime refuses a length that is given as a time: the bars of the chart may have another
// length.
func (d *Def) inTime(name string, s *spelled) error {
	n, short := s.values[0], s.base+"_"+s.values[0]
	interval := map[byte]string{'d': "1d", 'w': "1w", 'h': "1h"}[s.unit[0]]
	e := fault.Field("indicators", name, fmt.Sprintf(`a length in bars: {"name":%q,"length":%s}`, s.base, n), short)
	e.Message = fmt.Sprintf("indicators: %q names a time, and lengths are bars: use %s, which is {\"name\":%q,\"length\":%s}", name, short, s.base, n)
	if interval != "" {
		e.Message += fmt.Sprintf(`, for %s bars of the chart, or with "interval":%q for bars of %s`, n, interval, interval)
	}
	return e
}
