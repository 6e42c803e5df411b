package guard

import (
	"fmt"
	"strings"

	"github.com/shopspring/decimal"
)

// asked names in a denial the argument that the client gave where a rule names what followed from it: notional, or a risk, in
// place of quantity, and a distance in place of a price.
func (q *orderCheck) asked(d *Denial) *Denial {
	given, followed := q.given(d.Field)
	if given.name == "" {
		return d
	}
	is := d.Field + " " + followed.String()
	if rest, ok := strings.CutPrefix(d.Text, is); ok {
		d.Text = fmt.Sprintf("%s %v, which is %s,%s", given.name, given.value, is, rest)
	} else {
		d.Text = fmt.Sprintf("%s %v is %s. %s", given.name, given.value, is, d.Text)
	}
	nearest := d.Nearest
	d.Field, d.Nearest = given.name, nil
	if given.name != "notional" {
		return d // what the text names is no value of this argument
	}
	for _, text := range nearest {
		if quantity, err := decimal.NewFromString(text); err == nil && q.Sizing.Price.IsPositive() {
			worth := quantity.Mul(q.Sizing.Price).String()
			d.Nearest = append(d.Nearest, worth)
			d.Text += " As notional that is " + worth + "."
		}
	}
	return d
}

// given returns the argument from which one that a rule names followed, and the value that followed; without a name if the
// client gave it.
func (q *orderCheck) given(field string) (argument, decimal.Decimal) {
	s, legs := q.Sizing, planOf(q.Spec)
	var all []argument
	followed := q.Quantity
	switch field {
	case "quantity":
		all = []argument{{"notional", s.Notional}, {"risk_pct", s.Percent}, {"risk_amount", s.Amount}}
	case "stop_loss":
		all, followed = []argument{{"stop_loss_pct", s.StopLossPct}}, legs.StopLoss
	case "take_profit":
		all, followed = []argument{{"take_profit_pct", s.TakeProfitPct}}, legs.TakeProfit
	}
	for _, a := range all {
		if a.value.IsPositive() {
			return a, followed
		}
	}
	return argument{}, followed
}
