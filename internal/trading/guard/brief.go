package guard

import (
	"strconv"
	"strings"
)

// briefSymbols is how many symbols Brief names.
const briefSymbols = 6

// Brief returns the limits that an owner wants to know before a client may trade, in one
// line without a full stop. Money is in the account's currency.
func (p Policy) Brief() string {
	var parts []string
	add := func(l Limit, before, after string) {
		if !l.Off {
			parts = append(parts, before+grouped(l.Value.String())+after)
		}
	}
	add(p.MaxOrderNotional, "", " at most in one order")
	if p.Approval.on() {
		add(p.Approval.Above, "above ", " you are asked")
		add(p.Approval.RiskAbove, "above a risk of ", " you are asked")
	}
	add(p.MaxDailyLoss, "", " loss a day")
	text := strings.Join(parts, ", ")
	if names := briefNames(p); names != "" {
		text += "; " + names
	}
	return strings.TrimPrefix(text, "; ")
}

// briefNames lists the allowed symbols, or how many there are.
func briefNames(p Policy) string {
	listed, more := p.AllowedSymbols, ""
	if len(listed) > briefSymbols {
		listed, more = listed[:briefSymbols], " and "+strconv.Itoa(len(listed)-briefSymbols)+" more"
	}
	return joinSymbols(listed) + more
}

// grouped writes the whole part of a number in groups of three digits.
func grouped(number string) string {
	whole, fraction, dotted := strings.Cut(number, ".")
	for i := len(whole) - 3; i > 0 && whole[i-1] != '-'; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if dotted {
		return whole + "." + fraction
	}
	return whole
}
