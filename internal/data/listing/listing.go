// Package listing knows instruments by name: which symbols a venue has, what they are
// called, and which of them somebody means who writes bitcoin, XBTUSD or S&P 500. It
// asks no venue. It knows the lists that venues declare, those that they have read, and
// a table of common names; it offers only instruments of these lists and never decides
// that one name stands for another. Charts, alerts and orders use it for the words of
// an error alone.
package listing

import (
	"slices"
	"strings"
	"sync"

	"candela/internal/data/provider"
	"candela/lib/market"
)

// maxLoaded bounds the list of one venue.
const maxLoaded = 20_000

// Source is a venue with its instruments.
type Source struct {
	Venue  string
	Title  string
	Listed []provider.Listing        // known in advance
	Loaded func() []provider.Listing // the venue's own list, empty until it was read; may be nil
	Locked bool                      // the venue needs keys that are not set
}

// Instrument is an instrument at a venue.
type Instrument struct {
	Symbol market.Symbol // with its venue
	Use    string        // how to ask for it; set by the package that routes symbols
	Title  string        // of the venue
	Name   string        // such as Bitcoin or Apple
	Class  provider.Class
	Asset  string
	Quote  string // "" when unknown
	Locked bool   // not available without keys
}

// Directory finds instruments. It is immutable and safe for concurrent use. Names and entries are
// made at the first question: many processes ask none.
type Directory struct {
	sources []Source
	fixed   func() [][]entry // of each source's Listed
	names   func() map[provider.Class]map[string]asset
}

// entry is an instrument with the words that it is found by. All words are folded.
type entry struct {
	Instrument
	symbol string   // the venue's spelling
	codes  []string // the asset's code and its other codes and names
	title  string   // the name
	nth    int      // how many instruments of the same asset come before at the venue
}

// New returns a directory. The order of the sources is the order of the results.
func New(sources []Source) *Directory {
	d := &Directory{sources: sources, names: sync.OnceValue(allNames)}
	d.fixed = sync.OnceValue(func() [][]entry {
		all := make([][]entry, len(sources))
		for i, s := range sources {
			all[i] = d.entries(s, s.Listed)
		}
		return all
	})
	return d
}

func allNames() map[provider.Class]map[string]asset {
	return map[provider.Class]map[string]asset{
		provider.Crypto: parseNames(coins), provider.Stock: parseNames(companies), provider.Fund: parseNames(fundNames),
		provider.Index: parseNames(indexNames), provider.Future: parseNames(futureNames), provider.Currency: parseNames(currencyNames),
	}
}

// Venues lists the sources.
func (d *Directory) Venues() []string {
	names := make([]string, len(d.sources))
	for i, s := range d.sources {
		names[i] = s.Venue
	}
	return names
}

// Lists reports whether the list of a venue has a symbol, in the venue's spelling. known is
// false for a venue without a list.
func (d *Directory) Lists(s market.Symbol) (listed, known bool) {
	for _, one := range d.sources {
		if one.Venue == s.Venue {
			list := one.list()
			return slices.ContainsFunc(list, func(l provider.Listing) bool { return l.Name == s.Name }), len(list) > 0
		}
	}
	return false, false
}

// list returns the venue's own list if it was read, and else what is known in advance.
func (s *Source) list() []provider.Listing {
	if s.Loaded != nil {
		if loaded := s.Loaded(); len(loaded) > 0 {
			return loaded[:min(len(loaded), maxLoaded)]
		}
	}
	return s.Listed
}

// all returns the instruments of all sources, of each the venue's own list if it was read.
func (d *Directory) all() []entry {
	var all []entry
	for i, s := range d.sources {
		if s.Loaded != nil {
			if loaded := s.Loaded(); len(loaded) > 0 {
				all = append(all, d.entries(s, loaded[:min(len(loaded), maxLoaded)])...)
				continue
			}
		}
		all = append(all, d.fixed()[i]...)
	}
	return all
}

func (d *Directory) entries(s Source, list []provider.Listing) []entry {
	all := make([]entry, len(list))
	count := make(map[string]int)
	for i, l := range list {
		same := string(l.Class) + " " + called(l.Class, l.Asset, l.Quote)
		if l.Class == provider.Perpetual && count[same] == 0 {
			count[same] = maxLoaded // a coin alone is the pair, at every venue
		}
		all[i] = entry{symbol: fold(l.Name), nth: count[same], Instrument: Instrument{
			Symbol: market.Symbol{Venue: s.Venue, Name: l.Name}, Title: s.Title, Class: l.Class, Asset: l.Asset, Quote: l.Quote, Locked: s.Locked,
		}}
		d.name(&all[i])
		count[same]++
	}
	return all
}

// called returns the code by which people call an instrument: of a pair of currencies the
// one that is not the dollar.
func called(class provider.Class, asset, quote string) string {
	if class == provider.Currency && asset == "USD" {
		return quote
	}
	return asset
}

// name adds the words of an entry. A pair of two currencies that are not the dollar has
// none: the pound is not EURGBP.
func (d *Directory) name(e *entry) {
	code, class := called(e.Class, e.Asset, e.Quote), e.Class
	if class == provider.Perpetual {
		class = provider.Crypto
	}
	known := d.names()[class][code]
	e.Name = known.name
	if e.Class == provider.Currency {
		e.Name = d.currency(e.Asset) + " / " + d.currency(e.Quote)
		if e.Asset != "USD" && e.Quote != "USD" {
			e.title = fold(e.Name)
			return
		}
	}
	if e.Name == "" {
		e.Name = e.Asset
	}
	if e.Class == provider.Perpetual {
		e.Name += " perpetual"
	}
	e.title = fold(e.Name)
	e.codes = append(e.codes, fold(code), fold(known.name))
	for _, other := range known.other {
		e.codes = append(e.codes, fold(other))
	}
	e.codes = slices.DeleteFunc(e.codes, func(s string) bool { return s == "" })
}

func (d *Directory) currency(code string) string {
	if known, ok := d.names()[provider.Currency][code]; ok {
		return known.name
	}
	return code
}

// fold keeps the letters and digits of a text, in upper case.
func fold(text string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z':
			return c - 'a' + 'A'
		case c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
			return c
		}
		return -1
	}, text)
}

// Ambiguous reports whether a name without a venue is mostly used for something other
// than the security whose ticker it is: BTC is a coin, and also a fund at a stock
// exchange. Such a name needs a venue.
func Ambiguous(name string) bool {
	return slices.Contains(strings.Fields("BTC XBT ETH SOL XRP BNB DOGE ADA TRX AVAX LINK LTC BCH DOT SHIB XLM GOLD DAX"), name)
}
