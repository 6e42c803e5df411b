package market

import (
	"strings"

	"candela/lib/fault"
	"candela/lib/pattern"
)

// SymbolAllowed says what a symbol may be. It is the Allowed of every error of ParseSymbol.
const SymbolAllowed = `1 to 40 characters of A-Z 0-9 . - = ^ / _, optionally "venue:" in front, such as BTCUSDT, AAPL, EURUSD=X, ^GSPC, binance:BTCUSDT`

const maxSymbolBytes = 40

// symbolPattern is matched before the case is folded, so that a letter outside
// ASCII whose upper case is an ASCII letter cannot slip in as that letter. A
// name starts with a letter or digit, or with the ^ of an index such as ^GSPC;
// the colon ends the venue and stands nowhere else.
var symbolPattern = pattern.Of(`^(?:([A-Za-z0-9][A-Za-z0-9_\-]*):)?([A-Za-z0-9^][A-Za-z0-9.\-=^/_]*)$`)

// Symbol names an instrument, with the venue when the user named one.
// The zero value means "no symbol".
type Symbol struct {
	Venue string // lower case, "" when the user left the choice to us
	Name  string // upper case, as the venue spells it
}

// ParseSymbol reads a symbol with an optional venue prefix. Case does not matter
// and white space around it is dropped.
func ParseSymbol(s string) (Symbol, error) {
	text := strings.TrimSpace(s)
	parts := symbolPattern().FindStringSubmatch(text)
	if parts == nil || len(text) > maxSymbolBytes {
		return Symbol{}, fault.Field("symbol", s, SymbolAllowed)
	}
	return Symbol{Venue: strings.ToLower(parts[1]), Name: strings.ToUpper(parts[2])}, nil
}

// perpetualSuffix ends the name of a perpetual future, as TradingView writes it.
const perpetualSuffix = ".P"

// Pair returns the name of the pair that a perpetual future follows, such as BTCUSDT for BTCUSDT.P, and
// whether the symbol is written as one. Whether a venue has it, the venue knows: a share may be called so, too.
func (s Symbol) Pair() (pair string, perpetual bool) {
	pair, perpetual = strings.CutSuffix(s.Name, perpetualSuffix)
	return pair, perpetual && pair != ""
}

// PerpetualOf returns the name of the perpetual future of a pair.
func PerpetualOf(pair string) string { return pair + perpetualSuffix }

// IsZero reports whether no symbol was named.
func (s Symbol) IsZero() bool { return s == Symbol{} }

// String returns the symbol as ParseSymbol reads it.
func (s Symbol) String() string {
	if s.Venue == "" {
		return s.Name
	}
	return s.Venue + ":" + s.Name
}

// MarshalText writes what String returns; no symbol is the empty text.
func (s Symbol) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what ParseSymbol reads, and the empty text as no symbol.
func (s *Symbol) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*s = Symbol{}
		return nil
	}
	sym, err := ParseSymbol(string(text))
	if err != nil {
		return err
	}
	*s = sym
	return nil
}

// SeriesName names a series of values that does not come with a symbol's bars.
type SeriesName string

// The external series that providers deliver and indicators read.
const (
	FundingRate  SeriesName = "funding_rate"  // fraction per funding period
	OpenInterest SeriesName = "open_interest" // in quote currency
	LongAccounts SeriesName = "long_accounts" // share of accounts that are long, 0 to 1
	FearGreed    SeriesName = "fear_greed"    // index 0 to 100
)
