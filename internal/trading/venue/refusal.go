package venue

import (
	"slices"
	"strings"

	"candela/internal/data/upstream"
	"candela/internal/trading/order"
	"candela/lib/fault"
)

// Refusal is what a refusal of the venue means. Codes, Status, Words and Bare say which one: all that are set
// must fit.
type Refusal struct {
	Codes  string // one of these, separated by spaces
	Status int
	Words  string // in the message, in lower case
	Bare   bool   // without a code

	Kind      fault.Kind // what is not set here stays as the caller has it
	Code      string
	Field     string // "stop_price" becomes the argument of the stop
	Allowed   string
	Means     string
	Retryable bool
}

// Refusals are the refusals that are known. The first that fits counts.
type Refusals []Refusal

// Explain fills in what a refusal of an order means, and reports whether it is known. The message is the
// meaning alone.
func (all Refusals) Explain(f *fault.Error, e *upstream.Error, o order.Spec) bool {
	words := strings.ToLower(e.Message)
	i := slices.IndexFunc(all, func(r Refusal) bool { return r.fits(e, words) })
	if i < 0 {
		return false
	}
	r := all[i]
	f.Message, f.Retryable, f.Allowed = r.Means, r.Retryable, r.Allowed
	if r.Kind != 0 {
		f.Kind = r.Kind
	}
	if r.Code != "" {
		f.Code = r.Code
	}
	if r.Field != "" {
		f.Field = r.Field
	}
	if r.Field == "stop_price" {
		f.Field = StopField(o)
	}
	return true
}

func (r Refusal) fits(e *upstream.Error, words string) bool {
	return (r.Codes == "" || Lists(r.Codes, e.Code)) && (r.Status == 0 || r.Status == e.Status) && (!r.Bare || e.Code == "") && strings.Contains(words, r.Words)
}

// Lists reports whether a list separated by spaces has a word.
func Lists(list, word string) bool {
	return slices.Contains(strings.Fields(list), word)
}

// StopField returns the argument that an order's stop price comes from.
func StopField(o order.Spec) string {
	if o.Role == order.StopLoss {
		return "stop_loss"
	}
	return "stop_price"
}
