package marketdata

import (
	"context"
	"slices"

	"candela/internal/data/listing"
	"candela/internal/data/provider"
	"candela/lib/market"
)

// directory returns the instruments of the providers, those of the default venues first.
func (r *router) directory() *listing.Directory {
	order := append(slices.Clone(r.routes.Preferred), r.routes.Crypto, r.routes.Other)
	for _, p := range r.providers {
		if !slices.Contains(order, p.Name()) {
			order = append(order, p.Name())
		}
	}
	var sources []listing.Source
	for _, name := range order {
		p := r.named(name)
		if p == nil || p.Capabilities().Synthetic {
			continue
		}
		d := r.routes.described(name)
		s := listing.Source{Venue: name, Title: d.Title, Locked: slices.Contains(r.routes.Locked, name), Loaded: func() []provider.Listing { return provider.Loaded(p) }}
		if d.Listed != nil {
			s.Listed = d.Listed()
		}
		sources = append(sources, s)
	}
	return listing.New(sources)
}

// Near returns the instruments that somebody may mean with a symbol that no venue has, or
// with a text that is no symbol, best first, and an explanation. It queries no venue.
func (s *Service) Near(ctx context.Context, text string) (near []listing.Instrument, why string) {
	near, why = s.known.Near(text)
	return s.usable(ctx, near), why
}

// Find returns the instruments that fit a query, best first, and how many there are
// without its limit. It queries no venue.
func (s *Service) Find(ctx context.Context, q listing.Query) (found []listing.Instrument, total int) {
	found, total = s.known.Find(q)
	return s.usable(ctx, found), total
}

// Lists reports whether the list of a venue has a symbol, in the venue's spelling. known is
// false for a venue without a list. It queries no venue.
func (s *Service) Lists(symbol market.Symbol) (listed, known bool) { return s.known.Lists(symbol) }

// Venues lists the venues whose instruments Find knows.
func (s *Service) Venues() []string { return s.known.Venues() }

// usable sets how each instrument is asked for: by its name alone where that leads to its
// venue.
func (s *Service) usable(ctx context.Context, all []listing.Instrument) []listing.Instrument {
	for i := range all {
		all[i].Use = all[i].Symbol.String()
		if s.router.leadsTo(ctx, all[i].Symbol) {
			all[i].Use = all[i].Symbol.Name
		}
	}
	return all
}

// leadsTo reports whether the name of an instrument alone is routed to its venue.
func (r *router) leadsTo(ctx context.Context, s market.Symbol) bool {
	for _, name := range r.routes.Preferred {
		if name == s.Venue {
			return true
		}
		if r.named(name) != nil && r.has(ctx, name, s.Name) {
			return false
		}
	}
	return r.routes.venue(s.Name) == s.Venue && !listing.Ambiguous(s.Name)
}

// venue returns the default venue of a symbol. A perpetual future goes to a venue that has such, and not to
// one of shares.
func (r Routes) venue(name string) string {
	if !isCryptoPair(name) {
		return r.Other
	}
	if _, perpetual := (market.Symbol{Name: name}).Pair(); perpetual && !r.described(r.Crypto).Perpetuals {
		for _, d := range r.Venues {
			if d.Perpetuals {
				return d.Name
			}
		}
	}
	return r.Crypto
}
