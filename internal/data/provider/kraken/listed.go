package kraken

import (
	"cmp"
	"slices"

	"candela/internal/data/provider"
)

// listed returns well-known pairs of the venue, by quote currency and with the most traded
// first, for the time before the venue's own list is read. docs/venues.md says how the
// list is made.
func listed() []provider.Listing {
	return slices.Concat(
		provider.PairsIn("USD", "/", "BTC ETH SOL XRP DOGE ADA TRX AVAX LINK SUI LTC BCH DOT SHIB PEPE TON XLM UNI NEAR APT AAVE ETC "+
			"ICP FIL ATOM ARB OP INJ SEI TIA TAO FET RENDER ONDO POL ALGO GRT IMX LDO CRV COMP SNX SUSHI 1INCH SAND MANA AXS CHZ "+
			"EGLD FLOW XTZ XMR ZEC DASH BAT YFI STX WIF BONK FLOKI"),
		provider.PairsIn("EUR", "/", "BTC ETH SOL XRP DOGE ADA TRX AVAX LINK LTC BCH DOT XLM UNI AAVE ATOM XMR"),
		provider.PairsIn("USDT", "/", "BTC ETH SOL XRP DOGE ADA LTC"),
		provider.PairsIn("GBP", "/", "BTC ETH SOL XRP ADA"),
		provider.PairsIn("BTC", "/", "ETH SOL XRP ADA LTC LINK DOT XMR"),
		provider.Renamed(provider.Currency, "USD", "/USD", "EUR GBP AUD"),
		provider.Renamed(provider.Currency, "JPY", "/JPY", "USD EUR"),
		provider.Renamed(provider.Currency, "CHF", "/CHF", "USD"),
		provider.Renamed(provider.Currency, "CAD", "/CAD", "USD"),
	)
}

// Loaded returns the venue's own list once it was read.
func (p *Provider) Loaded() []provider.Listing {
	all, ok := p.pairs.Kept(p.config.Now(), "")
	if !ok {
		return nil
	}
	found := make(map[string]*pair, len(all))
	for _, one := range all {
		found[one.symbol] = one // each pair has several spellings
	}
	list := make([]provider.Listing, 0, len(found))
	for _, one := range found {
		inst := one.instrument
		class := provider.Crypto
		if fiat(inst.Base) && fiat(inst.Quote) {
			class = provider.Currency
		}
		list = append(list, provider.Listing{Name: one.symbol, Class: class, Asset: inst.Base, Quote: inst.Quote})
	}
	// As the fixed list: the usual quote currencies first.
	quotes := []string{"USD", "EUR", "USDT", "USDC", "GBP", "BTC"}
	rank := func(l provider.Listing) int {
		if i := slices.Index(quotes, l.Quote); i >= 0 {
			return i
		}
		return len(quotes)
	}
	slices.SortFunc(list, func(a, b provider.Listing) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Name, b.Name))
	})
	return list
}

// fiat reports whether a code is a national currency.
func fiat(code string) bool {
	return slices.Contains([]string{"USD", "EUR", "GBP", "JPY", "CHF", "CAD", "AUD"}, code)
}
