package yahoo

import (
	"slices"
	"strings"

	"candela/internal/data/provider"
)

// listed returns well-known symbols of the venue. docs/venues.md says how the list is made.
func listed() []provider.Listing {
	return slices.Concat(
		indices(),
		provider.Renamed(provider.Future, "USD", "=F", futures),
		currencies(),
		provider.Securities(provider.Stock, "USD", stocks),
		provider.Securities(provider.Fund, "USD", funds),
		provider.PairsIn("USD", "-", "BTC ETH SOL XRP BNB DOGE ADA TRX AVAX LINK LTC BCH DOT SHIB XLM HBAR NEAR AAVE ETC ICP FIL ATOM "+
			"INJ VET ALGO XTZ XMR ZEC DASH NEO QTUM"),
		provider.PairsIn("EUR", "-", "BTC ETH"),
		provider.PairsIn("GBP", "-", "BTC ETH"),
		abroad(),
	)
}

const (
	stocks = "AAPL MSFT NVDA GOOGL GOOG AMZN META TSLA AVGO BRKB:BRK-B BRKA:BRK-A LLY JPM V MA UNH XOM COST WMT PG HD JNJ ORCL NFLX ABBV " +
		"BAC KO CRM CVX AMD PEP TMO CSCO ADBE LIN MCD ACN ABT WFC INTC IBM QCOM TXN DIS GE GS MS CAT VZ T PFE BA NKE UPS F GM " +
		"C AXP BLK SCHW UBER ABNB PYPL SHOP SPOT SNOW PLTR CRWD PANW NOW INTU ADP AMAT MU LRCX ASML TSM BABA JD PDD NIO TM SONY " +
		"SAP NVO AZN SHEL BP TTE RIO BHP HSBC UL DEO COIN HOOD MSTR MARA RIOT GME AMC RBLX U ROKU DKNG SOFI RIVN LCID ARM SMCI " +
		"DELL HPQ SBUX CMG LOW TGT CVS MRK BMY GILD AMGN MRNA DE HON LMT RTX NOC MMM DOW FCX NEM AA CCL DAL UAL AAL LUV"
	funds = "SPY VOO IVV QQQ DIA IWM VTI VT VEA VWO EFA EEM AGG BND TLT IEF SHY HYG LQD TIP GLD IAU SLV USO UNG GDX XLF XLE XLK XLV XLI " +
		"XLY XLP XLU XLB XLRE SMH SOXX ARKK VNQ SCHD VIG JEPI TQQQ SQQQ UVXY IBIT FBTC GBTC ETHA FXI EWJ EWG EWU EWZ INDA"
	futures = "XAU:GC XAG:SI WTI:CL BRENT:BZ NATGAS:NG COPPER:HG PLATINUM:PL PALLADIUM:PA CORN:ZC WHEAT:ZW SOYBEANS:ZS COFFEE:KC SUGAR:SB " +
		"COCOA:CC COTTON:CT ES NQ YM RTY ZN ZB"
)

// indices lists indices by the currency of their prices.
func indices() []provider.Listing {
	in := func(quote, items string) []provider.Listing {
		return provider.Renamed(provider.Index, quote, "", items)
	}
	return slices.Concat(
		in("USD", "SPX:^GSPC NDX:^NDX COMP:^IXIC DJI:^DJI RUT:^RUT VIX:^VIX SOX:^SOX DXY:DX-Y.NYB US10Y:^TNX US30Y:^TYX US05Y:^FVX US03M:^IRX"),
		in("EUR", "DAX:^GDAXI CAC40:^FCHI STOXX50:^STOXX50E IBEX35:^IBEX AEX:^AEX"),
		in("GBP", "FTSE100:^FTSE"), in("CHF", "SMI:^SSMI"), in("JPY", "NIKKEI225:^N225"), in("HKD", "HSI:^HSI"),
		in("CNY", "SSEC:000001.SS"), in("INR", "NIFTY50:^NSEI SENSEX:^BSESN"), in("KRW", "KOSPI:^KS11"),
		in("AUD", "ASX200:^AXJO"), in("CAD", "TSX:^GSPTSE"), in("BRL", "IBOVESPA:^BVSP"),
	)
}

// currencies lists every pair of the eight major currencies in its usual direction, and
// others against the dollar and the euro.
func currencies() []provider.Listing {
	majors := strings.Fields("EUR GBP AUD NZD USD CAD CHF JPY")
	var all []provider.Listing
	pair := func(base, quote string) {
		all = append(all, provider.Listing{Name: base + quote + "=X", Class: provider.Currency, Asset: base, Quote: quote})
	}
	for _, base := range majors {
		pair(base, "USD")
	}
	all = slices.DeleteFunc(all, func(l provider.Listing) bool { return slices.Index(majors, l.Asset) >= slices.Index(majors, "USD") })
	for i, base := range majors {
		for _, quote := range majors[i+1:] {
			if quote != "USD" {
				pair(base, quote)
			}
		}
	}
	for quote := range strings.FieldsSeq("CNY INR MXN BRL KRW SEK NOK DKK PLN TRY ZAR SGD HKD THB HUF CZK ILS") {
		pair("USD", quote)
	}
	for quote := range strings.FieldsSeq("SEK NOK DKK PLN TRY HUF CZK") {
		pair("EUR", quote)
	}
	return all
}

// abroad lists shares at exchanges outside the United States, by currency and suffix.
func abroad() []provider.Listing {
	at := func(quote, suffix, items string) []provider.Listing {
		return provider.Renamed(provider.Stock, quote, suffix, items)
	}
	return slices.Concat(
		at("EUR", ".DE", "SAP SIE ALV DTE BMW MBG VOW3 BAS BAYN ADS DBK IFX"),
		at("EUR", ".PA", "MC OR TTE AIR SAN BNP RMS"), at("EUR", ".AS", "ASML INGA"), at("CHF", ".SW", "NESN ROG NOVN UBSG"),
		at("GBP", ".L", "SHEL AZN BP HSBA VOD GSK RIO BARC LLOY ULVR"),
		at("JPY", ".T", "7203 6758 9984 7974"), at("HKD", ".HK", "0700 9988 3690 1810"),
		at("INR", ".NS", "RELIANCE TCS INFY HDFCBANK"), at("CAD", ".TO", "SHOP RY TD ENB"), at("AUD", ".AX", "BHP CBA CSL"),
	)
}
