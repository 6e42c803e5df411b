package tool

import (
	"slices"
	"strings"
)

// noProtection is what to know of orders that are not offered.
const noProtection = "protective orders (stop, stop-limit, take-profit, trailing) are not offered yet; " +
	"a limit sell below the market fills at once and protects from nothing: set_alert with price_below tells when a price is reached"

// protective reports whether a word is one for an order that waits for a price to go
// the wrong way.
func protective(word string) bool {
	word = strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(word))
	return strings.HasPrefix(word, "stop") || strings.HasPrefix(word, "trailing") || strings.HasPrefix(word, "takeprofit") ||
		slices.Contains([]string{"sl", "tp", "oco", "bracket", "trigger", "triggerprice"}, word)
}

// advice returns what to say of an argument that the tool does not take and that many
// would expect, and the arguments to use in its place.
func (fs args) advice(name string) (string, []string) {
	word := strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(name))
	switch {
	case fs.find("side") >= 0 && protective(word):
		return noProtection, nil
	case fs.find("bars") >= 0 && slices.Contains(rangeWords(), word):
		return "date ranges are not offered; bars says how many of the newest bars, interval how long each is", []string{"bars", "interval"}
	case fs.find("interval") >= 0 && fs.find("condition") < 0 && slices.Contains(append(rangeWords(), "bars"), word):
		return "the newest 200 bars are used; interval says how long each is, and generate_chart takes bars", []string{"interval"}
	case fs.find("quantity") >= 0 && slices.Contains([]string{"amount", "size", "qty", "volume", "units", "shares", "contracts", "notional"}, word):
		return "quantity is how many coins or shares, not how much money", []string{"quantity"}
	}
	return "", nil
}

// rangeWords are names of arguments that would say from when to when.
func rangeWords() []string {
	return []string{
		"start", "end", "from", "to", "since", "until", "startdate", "enddate", "starttime", "endtime",
		"fromdate", "todate", "daterange", "range", "period", "days", "date",
	}
}
