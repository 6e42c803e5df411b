package provider

import (
	"slices"
	"strings"

	"candela/lib/market"
)

// Class says what an instrument is.
type Class string

// The classes.
const (
	Crypto    Class = "crypto"    // a coin against a currency or another coin
	Perpetual Class = "perpetual" // a future of a coin that has no end
	Stock     Class = "stock"     // a share of a company
	Fund      Class = "fund"      // a fund that is traded like a share
	Index     Class = "index"     // an index, a rate or a yield
	Future    Class = "future"    // a commodity or index future
	Currency  Class = "currency"  // one currency against another
	File      Class = "file"      // whatever the user's file holds
)

// Classes lists every class.
func Classes() []Class { return []Class{Crypto, Perpetual, Stock, Fund, Index, Future, Currency, File} }

// Listing is an instrument that a venue is known to have.
type Listing struct {
	Name  string // as the venue spells it
	Class Class
	Asset string // code of what is traded, such as BTC, AAPL or XAU
	Quote string // currency of the price, "" when unknown
}

// Lister is a Provider that has read its venue's list.
type Lister interface {
	// Loaded returns the list if it is there, and never asks the venue. It replaces the
	// list of the Descriptor.
	Loaded() []Listing
}

// Loaded returns the list that p has read, nil for none.
func Loaded(p Provider) []Listing {
	if l, ok := p.(Lister); ok {
		return l.Loaded()
	}
	return nil
}

// PairsIn lists the pairs in one quote currency. The codes of bases are separated by
// white space.
func PairsIn(quote, separator, bases string) []Listing {
	codes := strings.Fields(bases)
	all := make([]Listing, len(codes))
	for i, code := range codes {
		all[i] = Listing{Name: code + separator + quote, Class: Crypto, Asset: code, Quote: quote}
	}
	return all
}

// Perpetuals lists the perpetual futures of pairs.
func Perpetuals(pairs []Listing) []Listing {
	all := slices.Clone(pairs)
	for i := range all {
		all[i].Name, all[i].Class = market.PerpetualOf(all[i].Name), Perpetual
	}
	return all
}

// Securities lists instruments of one class whose symbols are their codes. The codes are
// separated by white space.
func Securities(class Class, quote, codes string) []Listing {
	return Renamed(class, quote, "", codes)
}

// Renamed lists instruments of one class. An item is CODE, or CODE:SYMBOL where the venue
// spells the symbol in another way; suffix is added to both forms.
func Renamed(class Class, quote, suffix, items string) []Listing {
	fields := strings.Fields(items)
	all := make([]Listing, len(fields))
	for i, item := range fields {
		code, symbol, other := strings.Cut(item, ":")
		if !other {
			symbol = code
		}
		all[i] = Listing{Name: symbol + suffix, Class: class, Asset: code, Quote: quote}
	}
	return all
}
