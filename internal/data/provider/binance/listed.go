package binance

import (
	"slices"

	"candela/internal/data/provider"
)

// listed returns well-known pairs and perpetual futures of the venue, by quote currency and with the most traded
// first. docs/venues.md says how the list is made.
func listed() []provider.Listing {
	futures := provider.PairsIn("USDT", "", "BTC ETH SOL XRP BNB DOGE ADA TRX AVAX LINK SUI LTC BCH DOT UNI NEAR APT AAVE ARB OP "+
		"1000PEPE 1000SHIB 1000BONK TON WIF ENA WLD SEI INJ TIA FIL ICP ETC ATOM HBAR XLM ALGO RUNE")
	return slices.Concat(
		provider.PairsIn("USDT", "", "BTC ETH SOL XRP BNB DOGE ADA TRX AVAX LINK SUI LTC BCH DOT SHIB PEPE TON XLM HBAR UNI NEAR "+
			"APT AAVE ETC ICP FIL ATOM ARB OP INJ SEI TIA TAO FET RENDER WLD ENA ONDO POL S VET ALGO GRT IMX LDO CRV COMP SNX "+
			"SUSHI 1INCH DYDX GALA SAND MANA AXS CHZ ENJ THETA EGLD FLOW KAVA NEO QTUM IOTA XTZ ZEC DASH ZIL BAT YFI RUNE STX "+
			"JUP PYTH WIF BONK FLOKI ORDI PENDLE JASMY CAKE TWT ENS BLUR APE MASK USDC FDUSD"),
		provider.PairsIn("USDC", "", "BTC ETH SOL XRP BNB DOGE ADA TRX AVAX LINK SUI LTC BCH DOT PEPE UNI NEAR AAVE ARB"),
		provider.PairsIn("FDUSD", "", "BTC ETH SOL XRP BNB DOGE"),
		provider.PairsIn("EUR", "", "BTC ETH SOL XRP BNB DOGE ADA"),
		provider.PairsIn("BTC", "", "ETH SOL XRP BNB DOGE ADA TRX AVAX LINK LTC BCH DOT XLM UNI NEAR AAVE ETC ATOM"),
		provider.PairsIn("ETH", "", "BNB SOL XRP ADA LINK LTC TRX"),
		provider.PairsIn("BNB", "", "SOL XRP ADA TRX AVAX LTC DOT"),
		provider.Perpetuals(futures),
		provider.Perpetuals(provider.PairsIn("USDC", "", "BTC ETH SOL XRP BNB DOGE")),
	)
}
