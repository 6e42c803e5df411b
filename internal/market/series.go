package market

// SeriesName names a series of values that does not come with a symbol's bars.
type SeriesName string

// The external series that providers deliver and indicators read.
const (
	FundingRate  SeriesName = "funding_rate"  // fraction per funding period
	OpenInterest SeriesName = "open_interest" // in quote currency
	LongAccounts SeriesName = "long_accounts" // share of accounts that are long, 0 to 1
	FearGreed    SeriesName = "fear_greed"    // index 0 to 100
)
