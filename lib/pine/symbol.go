package pine

import (
	"math"
	"strings"

	"candela/lib/market"
	"candela/lib/pine/eval"
)

// SymbolOf returns what syminfo says about an instrument. What is not known is na.
func SymbolOf(f market.Facts) eval.Symbol {
	s := eval.Symbol{
		Ticker: f.Symbol.Name, Prefix: strings.ToUpper(f.Symbol.Venue), Currency: f.Quote, Base: f.Base,
		Tick: known(f.Tick), Step: known(f.Step),
	}
	switch f.Class {
	case "crypto", "stock", "fund", "index":
		s.Type = f.Class
	case "future":
		s.Type = "futures"
	case "currency":
		s.Type = "forex"
	}
	return s
}

// leastQuantity is the step of quantities of an instrument that does not say one.
const leastQuantity = 1e-6

// QuantityStep returns the step of the quantities of a strategy: that of the venue, and whole shares where it
// says none, as on TradingView.
func QuantityStep(f market.Facts) float64 {
	switch {
	case f.Step > 0:
		return f.Step
	case f.Class == "stock" || f.Class == "fund":
		return 1
	}
	return leastQuantity
}

func known(x float64) float64 {
	if x <= 0 {
		return math.NaN()
	}
	return x
}

// namesFacts reports whether a source names something of the symbol that only its venue
// knows.
func namesFacts(source string) bool {
	for _, name := range []string{"mintick", "currency", "syminfo.type", "syminfo.volumetype", "syminfo.min", "syminfo.pricescale", "format.price"} {
		if strings.Contains(source, name) {
			return true
		}
	}
	return false
}

// ReadsFacts reports whether the script may read more of the symbol than its name.
func (s *instance) ReadsFacts() bool { return s.program.facts }
