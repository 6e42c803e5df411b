package candle

import "strings"

// Pattern is one of the patterns, numbered from 0 in the order of their names.
type Pattern uint8

// Role says in which trend a pattern means what its name says.
type Role uint8

// The roles.
const (
	Shape        Role = iota // in any trend
	Reversal                 // after a trend against it
	Continuation             // in a trend of its direction
)

// pattern is a row of the table.
type pattern struct {
	name, title string
	candles     int // that it is made of
	lookback    int // bars before the first that may have a value
	value       func(*window) int
	role        Role
	common      bool // among those that traders ask for first

	plain, bull, bear string // the events, for the directions that the pattern has
}

// Count is the number of patterns.
const Count = Pattern(len(rules))

// Name returns TA-Lib's name of the pattern in lower case, without CDL.
func (p Pattern) Name() string { return rules[p].name }

// Title returns the name that traders use.
func (p Pattern) Title() string { return rules[p].title }

// Candles returns the number of candles that make the pattern.
func (p Pattern) Candles() int { return rules[p].candles }

// Lookback returns the number of bars before the first that may have a value.
func (p Pattern) Lookback() int { return rules[p].lookback }

// Role returns the trend that the pattern belongs to.
func (p Pattern) Role() Role { return rules[p].role }

// Common reports whether the pattern is among those that traders ask for first.
func (p Pattern) Common() bool { return rules[p].common }

// Plain says what happened, for a pattern without a direction; it is empty for others.
func (p Pattern) Plain() string { return rules[p].plain }

// Bull says what happened in the bullish form; it is empty if there is none.
func (p Pattern) Bull() string { return rules[p].bull }

// Bear says what happened in the bearish form; it is empty if there is none.
func (p Pattern) Bear() string { return rules[p].bear }

// Confirmed reports whether the pattern is confirmed by a later bar, with a value of 200.
func (p Pattern) Confirmed() bool { return strings.HasPrefix(rules[p].name, "hikkake") }

// Find returns the pattern with that name or title. Case, spaces, underscores and
// hyphens do not matter, numbers may be words, and TA-Lib's prefix CDL may stand before it.
func Find(name string) (Pattern, bool) {
	key := spelling(name)
	for i := range rules {
		if rules[i].name == key || spelling(rules[i].title) == key {
			return Pattern(i), true
		}
	}
	return 0, false
}

// spelling reduces a name to what matters.
func spelling(name string) string {
	key := strings.NewReplacer(" ", "", "_", "", "-", "", "two", "2", "three", "3").Replace(strings.ToLower(name))
	return strings.TrimPrefix(key, "cdl")
}
