// Package drift says where the difference between what the model of a strategy earned and what its account earned comes
// from: a sum whose parts add up to it exactly.
//
// Between the two lie books, each of which differs from the one before in one respect: the quantities are those of the
// account, then its prices when it decided, then those it got, then the fees and the funding that it paid. Each step of
// the sum is the difference of two books at one price, the last close.
package drift

import (
	"cmp"
	"slices"
	"time"

	"github.com/shopspring/decimal"
)

// Fill is a trade of the model or of the account.
type Fill struct {
	At       time.Time       // of the venue
	Quantity decimal.Decimal // above zero if bought, below if sold
	Taken    decimal.Decimal // of the account: what the venue kept of a bought quantity as its fee, beside Quantity
	Price    decimal.Decimal
	Fee      decimal.Decimal // of the account, in the currency of the price
	Quote    decimal.Decimal // of the account: the price when it was sent, or that of an order that rested; zero for Price
	Rested   bool            // Quote is a price that the order waited for
}

// Entry is an entry that the model made, with what closed it.
type Entry struct {
	Key     string // of the order that the account had for it
	In, Out []Fill
	Funding decimal.Decimal // paid; below zero if received
	Cause   string          // why the account had no part in it, if that is known
}

// Account is what the account did.
type Account struct {
	In      map[string][]Fill // the fills of entries, by the key of their order
	Out     []Fill
	Asked   map[string]decimal.Decimal // by key: what an entry was sent for, also where nothing of it was filled
	Funding decimal.Decimal
}

// Causes of a difference of quantities.
const (
	Missed    = "missed"    // no order was asked for
	Refused   = "refused"   // an order was asked for and nothing of it was filled
	Partial   = "partial"   // a part of the order was filled
	Smaller   = "smaller"   // the order was for less
	Unmatched = "unmatched" // a trade of the account that the model has not made, or has made at another time
)

// Step is a part of the difference. Cause is only of quantities.
type Step struct {
	Name   string          `json:"step"`
	Cause  string          `json:"cause,omitempty"`
	Amount decimal.Decimal `json:"amount"`
}

// The steps from the model to the account.
const (
	Quantity = "quantity" // what the account did not trade, or traded besides
	Delay    = "delay"    // from the price of the model to that when the order was sent
	Path     = "path"     // from the price of the model to that of an order that rested
	Slippage = "slippage" // from there to the price of the fill
	Fees     = "fees"     // paid beyond those that the model counts with
	Funding  = "funding"
)

// Report is the difference and its parts.
type Report struct {
	Model   decimal.Decimal `json:"model"`   // earned by the model, at the last close
	Account decimal.Decimal `json:"account"` // earned by the account, at the same price
	Gap     decimal.Decimal `json:"gap"`     // Account less Model: the sum of the steps
	Steps   []Step          `json:"steps"`
	Entries int             `json:"entries"` // of the model
	Causes  map[string]int  `json:"causes"`  // of entries whose quantities differ
	Held    decimal.Decimal `json:"held"`    // by the account, from its fills
}

// Of compares. rate is the fee of the model as a part of the value of a trade, mark the price of what is still held.
// The entries of the model are in the order in which they were made.
func Of(model []Entry, account Account, rate, mark decimal.Decimal) Report {
	rounds := give(roundsOf(model, account), account.Out)
	r := Report{Entries: len(model), Causes: make(map[string]int)}
	sums := make(map[Step]decimal.Decimal)
	add := func(name, cause string, amount decimal.Decimal) {
		if !amount.IsZero() {
			sums[Step{Name: name, Cause: cause}] = sums[Step{Name: name, Cause: cause}].Add(amount)
		}
	}
	funding := account.Funding.Neg()
	for _, x := range rounds {
		b := x.books(rate, mark)
		r.Model, r.Account = r.Model.Add(b.model), r.Account.Add(b.paid)
		r.Held = r.Held.Add(x.holds(time.Time{}))
		cause := x.cause()
		if cause != "" {
			r.Causes[cause]++
		}
		add(Quantity, cmp.Or(cause, Unmatched), b.quantity.Sub(b.model).Sub(x.model.Funding))
		add(Delay, "", b.delay)
		add(Path, "", b.path)
		add(Slippage, "", b.slippage)
		add(Fees, "", b.paid.Sub(b.priced))
		funding = funding.Add(x.model.Funding)
	}
	add(Funding, "", funding)
	r.Account = r.Account.Sub(account.Funding)
	r.Gap = r.Account.Sub(r.Model)
	r.Steps = listed(sums)
	return r
}

// listed returns the steps in their order.
func listed(sums map[Step]decimal.Decimal) []Step {
	order := []string{Quantity, Delay, Path, Slippage, Fees, Funding}
	steps := make([]Step, 0, len(sums))
	for s, amount := range sums {
		s.Amount = amount
		steps = append(steps, s)
	}
	slices.SortFunc(steps, func(a, b Step) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a.Name), slices.Index(order, b.Name)), cmp.Compare(a.Cause, b.Cause))
	})
	return steps
}
