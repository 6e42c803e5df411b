package alpaca

import (
	"slices"

	"candela/internal/data/provider"
)

// listed returns well-known symbols of the venue. docs/venues.md says how the list is made.
func listed() []provider.Listing {
	return slices.Concat(
		provider.Securities(provider.Stock, "USD", "AAPL MSFT NVDA GOOGL GOOG AMZN META TSLA AVGO BRKB:BRK.B BRKA:BRK.A LLY JPM V MA UNH XOM COST WMT PG HD JNJ "+
			"ORCL NFLX ABBV BAC KO CRM CVX AMD PEP CSCO ADBE MCD WFC INTC IBM QCOM DIS GE GS MS CAT VZ T PFE BA NKE F GM C AXP UBER "+
			"ABNB PYPL SHOP PLTR CRWD NOW MU TSM BABA COIN HOOD MSTR GME"),
		provider.Securities(provider.Fund, "USD", "SPY VOO IVV QQQ DIA IWM VTI VEA VWO EFA EEM AGG BND TLT IEF SHY HYG LQD GLD SLV USO GDX XLF XLE XLK XLV SMH SOXX "+
			"ARKK VNQ SCHD TQQQ SQQQ IBIT FBTC ETHA"),
	)
}
