package wording

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"candela/lib/pattern"

	"github.com/shopspring/decimal"

	"candela/internal/alerting/alert"
	"candela/lib/fault"
	"candela/lib/market"
	"candela/lib/ta"
)

// comparison matches words such as "rsi < 30", "price above 70000" and "close crosses
// above sma200".
var comparison = pattern.Of(`(?i)^\s*(.+?)\s*(<=|>=|<|>|\b(?:is\s+|goes\s+)?(?:below|under|above|over|less than|greater than)|\bcross(?:es|ing)?\s+(?:above|over|below|under))\s*(\S.*?)\s*%?\s*$`)

// fromWords returns the condition that words or the names of keys may mean, as JSON.
func fromWords(words string) (string, bool) {
	words = strings.Join(strings.Fields(strings.ReplaceAll(words, "_", " ")), " ")
	switch plain := strings.ToLower(words); plain {
	case "golden cross", "death cross":
		return `{"indicator_signal":{"indicator":"ma_cross","signal":"` + strings.ReplaceAll(plain, " ", "_") + `"}}`, true
	}
	match := comparison().FindStringSubmatch(words)
	if match == nil {
		return "", false
	}
	ops := Ops(match[2])
	if op, ok := alert.ParseOp(match[2]); ok {
		ops = []string{op.String()}
	}
	left, isPrice, ok := sideWords(match[1])
	if len(ops) == 0 || !ok {
		return "", false
	}
	number, isNumber := Number(match[3])
	right := number.String()
	switch traded := map[string]string{"<": "price_below", "<=": "price_below", ">": "price_above", ">=": "price_above", "crosses_above": "price_crosses", "crosses_below": "price_crosses"}[ops[0]]; {
	case isPrice && isNumber && traded != "" && number.IsPositive():
		return `{"` + traded + `":` + right + `}`, true
	case !isNumber:
		other, _, known := sideWords(match[3])
		if !known {
			return "", false
		}
		right = "{" + other + "}"
	}
	return fmt.Sprintf(`{"value":{%s,"op":"%s","value":%s}}`, left, ops[0], right), true
}

// sideWords returns one side of a comparison as the keys of a condition, and whether it
// is the price.
func sideWords(words string) (keys string, isPrice, ok bool) {
	name := strings.ToLower(strings.TrimSpace(words))
	switch {
	case name == "price" || name == "close":
		return `"price":"close"`, true, true
	case slices.Contains(alert.Prices(), name):
		return `"price":"` + name + `"`, false, true
	case len(name) > 40:
		return "", false, false
	}
	for _, spelling := range []string{name, strings.ReplaceAll(name, " ", "_"), strings.ReplaceAll(name, " ", "")} {
		selection, err := ta.Resolve(ta.Request{Name: spelling})
		if err != nil {
			continue
		}
		keys = `"indicator":` + quote(spelling)
		if lines := selection.Def.Lines; len(lines) > 1 {
			keys += `,"line":` + quote(lines[0])
		}
		return keys, false, true
	}
	return "", false, false
}

// Number parses a number that people may have written with separators.
func Number(text string) (decimal.Decimal, bool) {
	text = strings.NewReplacer(",", "", "$", "", "%", "").Replace(text)
	if text == "" {
		return decimal.Decimal{}, false
	}
	return Exact(json.RawMessage(text))
}

// opOf returns the operator that a spelling means, if it is one.
func opOf(spelling string) (string, bool) {
	if op, ok := alert.ParseOp(strings.TrimSpace(spelling)); ok {
		return op.String(), true
	}
	word := strings.TrimPrefix(strings.TrimPrefix(Joined(spelling), "is"), "goes")
	for i, spellings := range opSpellings() {
		if slices.Contains(spellings, word) {
			return alert.Ops()[i], true
		}
	}
	return "", false
}

// opSpellings has other spellings of each operator, in the order of alert.Ops.
func opSpellings() [][]string {
	return [][]string{
		{"<", "lt", "less", "lessthan", "below", "under", "lower", "lowerthan", "smaller"},
		{"<=", "=<", "≤", "lte", "le", "atmost"},
		{">", "gt", "greater", "greaterthan", "above", "over", "higher", "higherthan", "more", "morethan", "exceeds"},
		{">=", "=>", "≥", "gte", "ge", "atleast"},
		{"crossesabove", "crossabove", "crossingabove", "crossover", "crossesover", "crossup", "crossesup", "crossingup"},
		{"crossesbelow", "crossbelow", "crossingbelow", "crossunder", "crossesunder", "crossdown", "crossesdown", "crossingdown"},
		{"enters", "enter"},
		{"leaves", "leave", "exits"},
	}
}

// Ops returns the operators that another spelling may mean.
func Ops(spelling string) []string {
	word := Joined(spelling)
	word = strings.TrimPrefix(strings.TrimPrefix(word, "is"), "goes")
	if op, ok := opOf(spelling); ok {
		return []string{op}
	}
	switch word {
	case "cross", "crosses", "crossing", "=", "==", "eq", "equals", "equal":
		return []string{"crosses_above", "crosses_below"}
	case "inside", "in", "between", "within":
		return []string{"enters"}
	case "outside", "out", "exit":
		return []string{"leaves"}
	}
	return fault.Nearest(spelling, alert.Ops())
}

// sentence reads conditions in words that can mean one thing only.
type sentence struct {
	library  ta.Library
	interval market.Interval // zero if it is not known
}

// Words between conditions.
var (
	wordAnd = pattern.Of(`(?i)\s+(?:and|&&?)\s+`)
	wordOr  = pattern.Of(`(?i)\s+(?:or|\|\|?)\s+`)
)

// crossing matches words such as "rsi crosses 50", in either direction.
var crossing = pattern.Of(`(?i)^\s*(.+?)\s+cross(?:es|ing)?\s+(\S.*?)\s*$`)

// read returns the condition that words mean, as JSON.
func (s sentence) read(words string, where place) (string, bool) {
	if where == alone {
		if parts := wordAnd().Split(words, -1); len(parts) > 1 {
			return s.joined(parts, "all")
		}
		if parts := wordOr().Split(words, -1); len(parts) > 1 {
			return s.joined(parts, "any")
		}
	}
	plain := plainWords(words)
	if right, ok := s.phrase(plain); ok {
		return right, true
	}
	if lower := strings.ToLower(plain); lower == "golden cross" || lower == "death cross" {
		return fromWords(lower)
	}
	if right, ok := s.changed(plain); ok {
		return right, true
	}
	if strings.Contains(words, "%") {
		return "", false // of what?
	}
	if right, ok := s.zone(plain, where); ok {
		return right, true
	}
	left, op, right := "", "", ""
	if match := comparison().FindStringSubmatch(plain); match != nil {
		left, right = match[1], match[3]
		op, _ = opOf(match[2])
	} else if match := crossing().FindStringSubmatch(plain); match != nil {
		left, op, right = match[1], "crosses", match[2]
	} else if match := reaching().FindStringSubmatch(plain); match != nil {
		left, op, right = match[1], "crosses", match[2]
	}
	if op == "" {
		return "", false
	}
	return s.compare(left, op, right, where)
}

// readAny returns the condition or the signal that words mean, as JSON.
func (s sentence) readAny(words string, where place) (string, bool) {
	if condition, ok := s.read(words, where); ok {
		return condition, true
	}
	signal, ok := (&reader{library: s.library}).signalText(words)
	return string(signal), ok
}

// joined reads several conditions.
func (s sentence) joined(parts []string, kind string) (string, bool) {
	all := make([]string, len(parts))
	for i, part := range parts {
		one, ok := s.read(part, inAll)
		if !ok {
			one, ok = s.onOwnBars(part, inAll)
		}
		if !ok || len(parts) > alert.MaxMembers {
			return "", false
		}
		all[i] = one
	}
	return `{"` + kind + `":[` + strings.Join(all, ",") + `]}`, true
}

// compare returns a comparison of two sides as a condition.
func (s sentence) compare(left, op, right string, where place) (string, bool) {
	keys, label, ok := s.side(left)
	if !ok {
		return "", false
	}
	number, isNumber := quotedNumber(thousands(right))
	traded := map[string]string{"<": "price_below", "<=": "price_below", ">": "price_above", ">=": "price_above", "crosses": "price_crosses"}[op]
	if isNumber && label == "" && keys == `"price":"close"` && traded != "" && where == alone {
		return `{"` + traded + `":` + number + `}`, number[0] != '-' && strings.Trim(number, "0.") != ""
	}
	value := number
	if !isNumber {
		other, _, known := s.side(right)
		if line, ok := s.lineOf(left, right); ok && !known {
			other, known = line, true
		}
		if !known {
			return "", false
		}
		value = "{" + other + "}"
	}
	form := func(op string) string { return fmt.Sprintf(`{"value":{%s,"op":"%s","value":%s}}`, keys, op, value) }
	switch {
	case op != "crosses":
		return form(op), true
	case where != alone:
		return "", false
	}
	return `{"any":[` + form("crosses_above") + "," + form("crosses_below") + "]}", true
}

// side returns one side of a comparison as the keys of a condition, and the label of its indicator, "" for a price.
func (s sentence) side(words string) (keys, label string, ok bool) {
	name := strings.ToLower(strings.TrimSpace(words))
	name = s.average(strings.TrimPrefix(strings.TrimPrefix(name, "the "), "its "))
	switch {
	case name == "price" || name == "close" || name == "closing price":
		return `"price":"close"`, "", true
	case slices.Contains(alert.Prices(), name):
		return `"price":"` + name + `"`, "", true
	case name == "" || len(name) > 40:
		return "", "", false
	}
	if line := map[string]string{"+di": "+DI", "di+": "+DI", "plus di": "+DI", "-di": "-DI", "di-": "-DI", "minus di": "-DI"}[name]; line != "" {
		return `"indicator":"adx","line":` + quote(line), line, true
	}
	if base, line, ok := s.dotted(name); ok {
		return `"indicator":` + quote(base) + `,"line":` + quote(line), base + " " + line, true
	}
	_, _, named := s.resolve(name)
	if at := strings.LastIndexByte(name, ' '); at > 0 && !named {
		if line, ok := s.lineOf(name[:at], name[at+1:]); ok {
			return line, name, true
		}
	}
	if line, ok := s.edge(name); ok {
		return line, name, true
	}
	selection, spelling, ok := s.resolve(name)
	if !ok {
		return "", "", false
	}
	keys = `"indicator":` + quote(spelling)
	if lines := selection.Outputs(); len(lines) > 1 {
		if Joined(lines[0].Label) != Joined(selection.Def.Name) {
			return "", "", false // which of its lines?
		}
		keys += `,"line":` + quote(lines[0].Label)
	}
	return keys, selection.Label(), true
}

// resolve finds an indicator by a name with or without blanks.
func (s sentence) resolve(name string) (*ta.Selection, string, bool) {
	for i, spelling := range []string{name, strings.ReplaceAll(name, " ", "_"), strings.ReplaceAll(name, " ", "")} {
		if i > 0 && (spelling == name || twoNumbers().MatchString(name)) {
			break
		}
		if selection, err := s.library.Resolve(ta.Request{Name: spelling}); err == nil {
			return selection, spelling, true
		}
	}
	return nil, "", false
}

// dotted reads macd.histogram: an indicator and one of its lines.
func (s sentence) dotted(text string) (name, line string, ok bool) {
	name, line, ok = strings.Cut(strings.TrimSpace(text), ".")
	if !ok || name == "" || len(text) > 40 {
		return "", "", false
	}
	selection, spelling, ok := s.resolve(strings.ToLower(name))
	if !ok {
		return "", "", false
	}
	lines := selection.Outputs()
	i := slices.IndexFunc(lines, func(l ta.Output) bool { return Joined(l.Label) == Joined(line) })
	if i < 0 { // such as upper of BB Upper
		i = slices.IndexFunc(lines, func(l ta.Output) bool {
			words := strings.Fields(strings.ToLower(l.Label))
			return len(words) == 2 && (words[1] == strings.TrimSpace(line) || words[1]+"dle" == strings.TrimSpace(line))
		})
	}
	if i < 0 || len(lines) < 2 {
		return "", "", false
	}
	return spelling, lines[i].Label, true
}

// lineOf returns the line of an indicator that a word names, such as signal of macd.
func (s sentence) lineOf(indicator, word string) (string, bool) {
	word = strings.TrimSuffix(strings.TrimSuffix(strings.ToLower(strings.TrimSpace(word)), " line"), " value")
	word = strings.TrimPrefix(strings.TrimPrefix(word, "its "), "the ")
	name, line, ok := s.dotted(strings.TrimSpace(strings.TrimSuffix(strings.ToLower(indicator), " line")) + "." + word)
	if !ok {
		return "", false
	}
	return `"indicator":` + quote(name) + `,"line":` + quote(line), true
}
