package tool

import (
	"slices"
	"strings"
)

// noProtection explains the lack of protective orders.
const noProtection = "protective orders (stop, stop-limit, take-profit, trailing) are not supported yet; " +
	"a limit sell below the market fills immediately and protects nothing: use set_alert with price_below to learn when a price is reached"

// protective reports whether a word names a stop or take-profit order.
func protective(word string) bool {
	word = strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(word))
	return strings.HasPrefix(word, "stop") || strings.HasPrefix(word, "trailing") || strings.HasPrefix(word, "takeprofit") ||
		slices.Contains([]string{"sl", "tp", "oco", "bracket", "trigger", "triggerprice"}, word)
}

// advice explains an argument that the tool does not have but many models expect, and
// returns the arguments to use instead.
func (fs args) advice(name string) (string, []string) {
	word := strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(name))
	switch {
	case fs.find("side") >= 0 && protective(word):
		return noProtection, nil
	case fs.find("bars") >= 0 && slices.Contains(rangeWords(), word):
		return "date ranges are not supported; set bars to the number of newest bars and interval to their length", []string{"bars", "interval"}
	case fs.find("interval") >= 0 && fs.find("condition") < 0 && slices.Contains(append(rangeWords(), "bars"), word):
		return "the newest 200 bars are used; interval sets their length, and generate_chart has bars", []string{"interval"}
	case fs.find("quantity") >= 0 && slices.Contains([]string{"amount", "size", "qty", "volume", "units", "shares", "contracts", "notional"}, word):
		return "quantity is a number of coins or shares, not an amount of money", []string{"quantity"}
	}
	return "", nil
}

// rangeWords returns names of arguments for a date range.
func rangeWords() []string {
	return []string{
		"start", "end", "from", "to", "since", "until", "startdate", "enddate", "starttime", "endtime",
		"fromdate", "todate", "daterange", "range", "period", "days", "date",
	}
}
