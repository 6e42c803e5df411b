package coinbase

import (
	"slices"

	"candela/internal/data/provider"
)

// listed returns well-known products of the venue, by quote currency and with the most
// traded first. docs/venues.md says how the list is made.
func listed() []provider.Listing {
	return slices.Concat(
		provider.PairsIn("USD", "-", "BTC ETH SOL XRP DOGE ADA AVAX LINK SUI LTC BCH DOT SHIB PEPE XLM HBAR UNI NEAR APT AAVE ETC "+
			"ICP FIL ATOM ARB OP INJ SEI TIA FET RENDER ONDO POL VET ALGO GRT IMX LDO CRV COMP SNX SUSHI 1INCH SAND MANA AXS CHZ "+
			"EGLD FLOW XTZ ZEC DASH BAT YFI STX BONK FLOKI JASMY ENS BLUR APE MASK"),
		provider.PairsIn("USDT", "-", "BTC ETH SOL XRP DOGE ADA"),
		provider.PairsIn("EUR", "-", "BTC ETH SOL XRP DOGE ADA LTC LINK"),
		provider.PairsIn("GBP", "-", "BTC ETH SOL XRP ADA DOGE"),
		provider.PairsIn("BTC", "-", "ETH SOL LTC LINK"),
	)
}
