package marketdata

import (
	"slices"
	"strings"

	"candela/internal/kit/fault"
	"candela/internal/market"
)

// Near returns likely symbols for one that no venue has, best first, and an explanation. It
// queries no venue: it knows well-known names and the spelling of pairs and currencies.
func (s *Service) Near(symbol market.Symbol) (near []string, why string) {
	return s.router.routes.near(symbol.Name)
}

func (r Routes) near(name string) ([]string, string) {
	name = strings.ToUpper(name)
	if spot, ok := perpetual(name); ok {
		return r.offered(spot), "perpetuals and other futures are not offered, the spot market is"
	}
	joined := strings.NewReplacer("/", "", "-", "", "_", "", ".", "").Replace(name)
	if len(joined) == 6 && currency(joined[:3]) && currency(joined[3:]) {
		return r.offered(joined + "=X"), "pairs of currencies are written so"
	}
	if known := wellKnown()[joined]; known != nil {
		return r.offered(known...), name + " is not the symbol of an instrument"
	}
	var all []string
	for _, symbols := range wellKnown() {
		all = append(all, symbols...)
	}
	slices.Sort(all)
	return r.offered(fault.Nearest(joined, slices.Compact(all))...), ""
}

// offered leaves out symbols without a configured venue.
func (r Routes) offered(symbols ...string) []string {
	return slices.DeleteFunc(symbols, func(s string) bool { return r.venue(s) == "" })
}

// venue returns the default venue of a symbol.
func (r Routes) venue(name string) string {
	if IsCryptoPair(name) {
		return r.Crypto
	}
	return r.Other
}

// perpetual returns the pair of a name such as BTCUSDT.P, BTCUSDT-PERP or BTC-PERP.
func perpetual(name string) (string, bool) {
	for _, suffix := range []string{".P", "-PERP", "_PERP", "/PERP", "PERP", "-SWAP", "_SWAP", ".PERP"} {
		base, ok := strings.CutSuffix(name, suffix)
		if base = strings.NewReplacer("/", "", "-", "", "_", "").Replace(base); !ok || base == "" {
			continue
		}
		if !IsCryptoPair(base) {
			base += "USDT"
		}
		return base, true
	}
	return "", false
}

func currency(code string) bool {
	return slices.Contains([]string{"USD", "EUR", "GBP", "JPY", "CHF", "AUD", "CAD", "NZD", "SEK", "NOK", "DKK", "CNY", "INR", "MXN", "ZAR", "TRY", "SGD", "HKD", "PLN"}, code)
}

// wellKnown returns symbols by common names.
func wellKnown() map[string][]string {
	names := map[string][]string{
		"APPLE": {"AAPL"}, "MICROSOFT": {"MSFT"}, "GOOGLE": {"GOOGL"}, "ALPHABET": {"GOOGL"}, "AMAZON": {"AMZN"}, "TESLA": {"TSLA"},
		"NVIDIA": {"NVDA"}, "FACEBOOK": {"META"}, "NETFLIX": {"NFLX"}, "INTEL": {"INTC"}, "DISNEY": {"DIS"}, "COINBASE": {"COIN"},
		"SP500": {"^GSPC", "SPY"}, "SPX": {"^GSPC", "SPY"}, "SPX500": {"^GSPC", "SPY"}, "NASDAQ": {"^IXIC", "QQQ"}, "NASDAQ100": {"^NDX", "QQQ"},
		"DOWJONES": {"^DJI", "DIA"}, "DOW": {"^DJI", "DIA"}, "VIX": {"^VIX"}, "DAX": {"^GDAXI"}, "NIKKEI": {"^N225"}, "FTSE": {"^FTSE"},
		"GOLD": {"GC=F", "GLD"}, "XAUUSD": {"GC=F"}, "SILVER": {"SI=F"}, "XAGUSD": {"SI=F"}, "OIL": {"CL=F"}, "WTI": {"CL=F"}, "BRENT": {"BZ=F"},
		"EURO": {"EURUSD=X"}, "DOLLAR": {"DX-Y.NYB"}, "DXY": {"DX-Y.NYB"},
	}
	for coin, name := range map[string]string{
		"BTC": "BITCOIN", "ETH": "ETHEREUM", "SOL": "SOLANA", "XRP": "RIPPLE", "DOGE": "DOGECOIN", "ADA": "CARDANO", "LTC": "LITECOIN",
		"DOT": "POLKADOT", "AVAX": "AVALANCHE", "LINK": "CHAINLINK", "BNB": "BINANCECOIN", "TRX": "TRON", "SHIB": "SHIBAINU", "XLM": "STELLAR",
	} {
		symbols := []string{coin + "USDT", coin + "-USD"}
		names[coin], names[name], names[coin+"USD"] = symbols, symbols, symbols
	}
	names["XBT"] = names["BTC"]
	return names
}
