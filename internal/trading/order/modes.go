package order

import (
	"strings"

	"github.com/shopspring/decimal"
)

// Modes are how an account holds positions in a perpetual future, as its owner chose at the venue.
type Modes struct {
	Known    bool            // the venue has said it
	Hedged   bool            // a long and a short stand beside each other; else there is one position
	Cross    bool            // positions share the balance as their margin; else each has its own
	Leverage decimal.Decimal // with which positions open
	Change   string          // where the owner changes them, such as "futures.example, Preferences"
}

// Wrong says which modes are not those that orders are checked for, at most this leverage among them; "" for none.
func (m Modes) Wrong(most decimal.Decimal) string {
	var wrong []string
	if m.Hedged {
		wrong = append(wrong, "hedge mode instead of one-way mode")
	}
	if m.Cross {
		wrong = append(wrong, "cross margin instead of isolated margin")
	}
	if m.Leverage.GreaterThan(most) {
		wrong = append(wrong, "a leverage of "+m.Leverage.String()+" instead of at most "+most.String())
	}
	return strings.Join(wrong, ", ")
}
