package paper

import (
	"maps"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"candela/internal/kit/setting"
	"candela/internal/trading/broker"
)

// Descriptor declares the broker.
func Descriptor() broker.Descriptor {
	return broker.Descriptor{
		Part: setting.Part{
			Name: Name, Title: "paper",
			Networks: []setting.Network{{}}, // one, without a name
			Settings: []setting.Spec{{
				Name: "paper-cash", Arg: "LIST", Default: "USD=100000,USDC=100000,USDT=100000", NeedsTrade: true,
				Doc: "initial cash of the paper account, by currency",
				Kind: setting.Kind{
					Shape: setting.ShapeList, Allowed: "amounts by currency, such as USDT=100000,USD=50000", Read: readCash,
				},
			}},
		},
		Open: func(env broker.Env) (broker.Broker, error) {
			cash, _ := parseCash(env.Values.Text("paper-cash")) // the setting has read it
			return New(Config{
				Journal: env.Journal, Market: env.Market, Rates: Usual(), Cash: cash, Clock: env.Clock, Now: env.Now, Log: env.Log,
				Leverage: env.Leverage, Funding: env.Rates,
			}), nil
		},
	}
}

func readCash(text string) (string, bool) {
	cash, ok := parseCash(text)
	items := make([]string, 0, len(cash))
	for _, currency := range slices.Sorted(maps.Keys(cash)) {
		items = append(items, currency+"="+cash[currency].String())
	}
	return strings.Join(items, ","), ok
}

// parseCash reads amounts by currency, such as USDT=100000,USD=50000.
func parseCash(text string) (map[string]decimal.Decimal, bool) {
	cash := make(map[string]decimal.Decimal)
	for item := range strings.SplitSeq(text, ",") {
		currency, amount, _ := strings.Cut(item, "=")
		currency = strings.ToUpper(strings.TrimSpace(currency))
		d, err := decimal.NewFromString(strings.TrimSpace(amount))
		if _, twice := cash[currency]; twice || err != nil || !plainCurrency(currency) || d.IsNegative() || d.Exponent() > 0 || d.Exponent() < -8 || d.NumDigits() > 24 {
			return nil, false
		}
		cash[currency] = d
	}
	return cash, true
}

func plainCurrency(s string) bool {
	return len(s) >= 2 && len(s) <= 12 && !strings.ContainsFunc(s, func(r rune) bool { return (r < 'A' || r > 'Z') && (r < '0' || r > '9') })
}
