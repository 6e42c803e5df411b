package order

import (
	"maps"
	"strings"

	"github.com/shopspring/decimal"
)

// Fees are the fees paid per asset. The map is read-only: add returns a new one.
type Fees map[string]decimal.Decimal

// add returns the fees plus an amount.
func (f Fees) add(asset string, amount decimal.Decimal) Fees {
	if amount.IsZero() {
		return f
	}
	sum := make(Fees, len(f)+1)
	maps.Copy(sum, f)
	if sum[asset] = f[asset].Add(amount); sum[asset].IsZero() {
		delete(sum, asset)
	}
	return sum
}

// FeeInBase returns the fee if it was taken in the asset that is traded, and else zero.
func (f Fill) FeeInBase() decimal.Decimal {
	switch {
	case f.FeeAsset == "", f.Base != "" && f.FeeAsset != f.Base, f.Base == "" && !spelledBase(f.Symbol.Name, f.FeeAsset):
		return decimal.Zero
	default:
		return f.Fee
	}
}

// feesInBase returns the fees of an order that were taken in the asset that is traded.
func (o Order) feesInBase() decimal.Decimal {
	var sum decimal.Decimal
	for _, f := range o.Fills {
		sum = sum.Add(f.FeeInBase())
	}
	return sum
}

// spelledBase reports whether the name of a symbol begins with an asset and ends with the currency
// of the price. It decides for fills that were stored without Base. A ticker such as USDU,
// which begins with the currency of its fees, has no currency at the end.
func spelledBase(name, asset string) bool {
	quote, ok := strings.CutPrefix(name, asset)
	if !ok {
		return false
	}
	switch strings.TrimLeft(quote, "/-") {
	case "USD", "USDT", "USDC", "FDUSD", "TUSD", "BUSD", "USDP", "USDS", "USD1", "USDE", "PAX", "DAI",
		"BTC", "XBT", "ETH", "BNB", "SOL", "XRP", "TRX", "DOGE", "DOT",
		"EUR", "EURI", "GBP", "JPY", "AUD", "CAD", "CHF", "TRY", "BRL", "RUB", "UAH", "NGN", "ZAR", "PLN", "RON", "CZK", "MXN", "ARS", "COP", "IDR", "IDRT", "BIDR", "BKRW", "VAI":
		return true
	default:
		return false
	}
}
