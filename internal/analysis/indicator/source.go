package indicator

import "candela/internal/market"

// sources are the prices an indicator can be computed from.
func sources() []string {
	return []string{"close", "open", "high", "low", "hl2", "hlc3", "ohlc4", "hlcc4"}
}

// source describes the parameter that chooses one of them.
func source(def string) Param {
	return Choice("source", def, sources(), "price the indicator is computed from").As("src")
}

// sourceOf returns the price of a bar by its name in sources.
func sourceOf(name string) func(market.Bar) float64 {
	switch name {
	case "open":
		return func(b market.Bar) float64 { return b.O }
	case "high":
		return func(b market.Bar) float64 { return b.H }
	case "low":
		return func(b market.Bar) float64 { return b.L }
	case "hl2":
		return func(b market.Bar) float64 { return (b.H + b.L) / 2 }
	case "hlc3":
		return hlc3
	case "ohlc4":
		return func(b market.Bar) float64 { return (b.O + b.H + b.L + b.C) / 4 }
	case "hlcc4":
		return func(b market.Bar) float64 { return (b.H + b.L + b.C + b.C) / 4 }
	}
	return func(b market.Bar) float64 { return b.C }
}

// hlc3 is the typical price.
func hlc3(b market.Bar) float64 { return (b.H + b.L + b.C) / 3 }
