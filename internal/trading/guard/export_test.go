package guard

// QuoteFractions is quoteFractions, for the tests.
func QuoteFractions(src string) string { return quoteFractions(src) }
