package guard

import (
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"candela/lib/fault"
	"candela/lib/market"
)

// Limit is an upper bound, or none.
type Limit struct {
	Value decimal.Decimal
	Off   bool // written "none"
}

// exceeded reports whether a value is above the limit.
func (l Limit) exceeded(v decimal.Decimal) bool { return !l.Off && v.GreaterThan(l.Value) }

// String returns the limit as it is written in the file.
func (l Limit) String() string {
	if l.Off {
		return none
	}
	return l.Value.String()
}

// none turns a limit off. It is a word, so that no typing error does it.
const none = "none"

// Limits are the limits that can be set per symbol.
type Limits struct {
	MaxOrderQuantity    Limit // in units of the symbol
	MaxOrderNotional    Limit
	PriceBandPct        Limit // how far a limit price may be beyond the last price, where it trades immediately
	RestingBandPct      Limit // how far it may be on the other side, where it rests
	MaxSymbolExposure   Limit
	MaxSymbolOpenOrders Limit
	AllowShort          bool
	Perpetual
	Protective
	Reasoning
}

// Policy is what the owner allows. Money is in the account's currency.
type Policy struct {
	Limits                                      // of symbols without limits of their own
	Symbols            map[market.Symbol]Limits // of single symbols; read-only
	AllowedSymbols     []market.Symbol          // empty: all on paper, none live
	Currencies         []string                 // counted one for one as the account's
	MaxExposure        Limit
	MaxOpenOrders      Limit
	MaxOrdersPerMinute Limit // per token
	MaxDailyNotional   Limit
	MaxDailyLoss       Limit
	MaxQuoteAge        time.Duration
	DuplicateWindow    time.Duration
	MaxClockSkew       time.Duration
	Approval           Approval
	MaxOpenRisk        Limit // what all positions and open orders together may lose at their stops
	HeldStops          HeldStops
	OnUnprotected      OnUnprotected
	UnprotectedGrace   time.Duration
}

// Default is the policy without a file. It is meant for small sums.
func Default() Policy {
	limit := func(n int64) Limit { return Limit{Value: decimal.NewFromInt(n)} }
	return Policy{
		Limits: Limits{
			MaxOrderQuantity:    Limit{Off: true}, // units differ too much between symbols
			MaxOrderNotional:    limit(10_000),
			PriceBandPct:        limit(5),
			RestingBandPct:      limit(5),
			MaxSymbolExposure:   limit(25_000),
			MaxSymbolOpenOrders: limit(10),
			Perpetual:           defaultPerpetual(),
			Protective:          defaultProtective(),
			Reasoning:           defaultReasoning(),
		},
		Currencies:         []string{"USD", "USDT", "USDC", "FDUSD", "TUSD", "DAI"},
		MaxExposure:        limit(50_000),
		MaxOpenOrders:      limit(20),
		MaxOrdersPerMinute: limit(20),
		MaxDailyNotional:   limit(100_000),
		MaxDailyLoss:       limit(1_000),
		MaxQuoteAge:        10 * time.Second,
		DuplicateWindow:    2 * time.Second,
		MaxClockSkew:       time.Second,
		Approval:           Approval{Above: Limit{Off: true}, RiskAbove: Limit{Off: true}, Expires: 5 * time.Minute, DriftPct: Limit{Value: decimal.RequireFromString("0.5")}},
		MaxOpenRisk:        Limit{Off: true},
		HeldStops:          HeldRefuse,
		OnUnprotected:      UnprotectedAlarm,
		UnprotectedGrace:   10 * time.Second,
	}
}

// For returns the limits of a symbol, else of its name at every venue, else the general.
// A pair in the file may have another separator than the venue's.
func (p Policy) For(s market.Symbol) Limits {
	anywhere := market.Symbol{Name: s.Name}
	for _, want := range []market.Symbol{s, anywhere} {
		if l, ok := p.Symbols[want]; ok {
			return l
		}
		for listed, l := range p.Symbols { // Parse allows one spelling of each
			if listed.Venue == want.Venue && spelling(listed) == spelling(want) {
				return l
			}
		}
	}
	return p.Limits
}

// spelling returns a symbol's name without the separators of pairs, so that BTC/USDT in a
// policy stands for BTCUSDT, as it does in orders. No venue has two symbols that differ
// in these alone.
func spelling(s market.Symbol) string {
	return strings.NewReplacer("/", "", "-", "", "_", "").Replace(s.Name)
}

// Allows reports whether a symbol is allowed. A listed symbol without a venue allows the
// name at every venue; an empty list allows all. A pair may have another separator than
// the venue's.
func (p Policy) Allows(s market.Symbol) bool {
	return len(p.AllowedSymbols) == 0 || slices.ContainsFunc(p.AllowedSymbols, func(listed market.Symbol) bool {
		return (listed.Venue == "" || listed.Venue == s.Venue) && spelling(listed) == spelling(s)
	})
}

// Live returns an error unless the policy permits live trading, with allowed_symbols set.
func (p Policy) Live() error {
	if len(p.AllowedSymbols) == 0 {
		return fault.Missing("allowed_symbols", `live trading needs the list of symbols that may be traded, such as allowed_symbols = ["BTCUSDT"], in policy.toml`)
	}
	return nil
}

// joinSymbols formats symbols as they are written in the file.
func joinSymbols(symbols []market.Symbol) string {
	names := make([]string, 0, len(symbols))
	for _, s := range symbols {
		names = append(names, s.String())
	}
	return strings.Join(names, ", ")
}
