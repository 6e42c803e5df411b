package market

import (
	"regexp"
	"strings"

	"candela/internal/fault"
)

const symbolAllowed = `1 to 40 characters of A-Z 0-9 . - = ^ / _, optionally "venue:" in front, such as BTCUSDT, AAPL, EURUSD=X, binance:BTCUSDT`

//nolint:gochecknoglobals // compiled once, never written
var symbolPattern = regexp.MustCompile(`^[A-Z0-9^][A-Z0-9.\-=^/_]*$`)

// Symbol names an instrument, with the venue when the user named one.
// The zero value means "no symbol".
type Symbol struct {
	Venue string // lower case, "" when the user left the choice to us
	Name  string // upper case, as the venue spells it
}

// ParseSymbol reads a symbol with an optional venue prefix. Case does not matter.
func ParseSymbol(s string) (Symbol, error) {
	text := strings.TrimSpace(s)
	venue, name, prefixed := strings.Cut(text, ":")
	if !prefixed {
		venue, name = "", text
	}
	sym := Symbol{Venue: strings.ToLower(venue), Name: strings.ToUpper(name)}
	if len(text) > 40 || prefixed && !venueName(sym.Venue) || !symbolPattern.MatchString(sym.Name) {
		return Symbol{}, fault.Field("symbol", s, symbolAllowed)
	}
	return sym, nil
}

func venueName(s string) bool {
	for _, c := range s {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return s != ""
}

// IsZero reports whether no symbol was named.
func (s Symbol) IsZero() bool { return s == Symbol{} }

// String returns the symbol as ParseSymbol reads it.
func (s Symbol) String() string {
	if s.Venue == "" {
		return s.Name
	}
	return s.Venue + ":" + s.Name
}
