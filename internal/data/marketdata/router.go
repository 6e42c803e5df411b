package marketdata

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"candela/internal/data/listing"
	"candela/internal/data/provider"
	"candela/lib/fault"
	"candela/lib/market"
)

// Routes select the provider of a symbol without a venue.
type Routes struct {
	// Preferred are tried first, in order: the user's own files.
	Preferred []string
	// Crypto answers for symbols that end in a crypto quote currency, such as
	// BTCUSDT; Other for all others, such as AAPL. Empty: none.
	Crypto, Other string
	// Venues describe the providers, for advice on where else to ask.
	Venues []provider.Descriptor
	// Locked names those that need keys that are not set.
	Locked []string
	// Withheld names those that are off because their data may not be shown to the clients.
	Withheld []string
}

// described returns the descriptor of a provider, the zero value for one without.
func (r Routes) described(name string) provider.Descriptor {
	for _, d := range r.Venues {
		if d.Name == name {
			return d
		}
	}
	return provider.Descriptor{}
}

// spelled returns a symbol as a venue writes it: a pair of crypto currencies with the
// venue's separator.
func (r Routes) spelled(venue, name string) string {
	quote, pair := quoteOf(name)
	of, perpetual := market.Symbol{Name: name}.Pair()
	if separator := r.described(venue).Separator; pair && !perpetual && separator != "" {
		name = strings.TrimRight(strings.TrimSuffix(of, quote), "-/_") + separator + quote
	}
	return market.Symbol{Venue: venue, Name: name}.String()
}

// cryptoQuotes are the currencies by which a symbol without a venue is taken for a
// crypto pair.
func cryptoQuotes() []string { return []string{"USDT", "BUSD", "BTC", "ETH", "BNB", "USDC", "FDUSD"} }

// isCryptoPair reports whether a symbol's name is a pair in a crypto quote currency. The
// currency alone is none: BTC is also a fund.
func isCryptoPair(name string) bool {
	_, pair := quoteOf(name)
	return pair
}

// quoteOf returns the currency in which a pair or its perpetual future is priced.
func quoteOf(name string) (quote string, pair bool) {
	name, _ = market.Symbol{Name: name}.Pair()
	for _, q := range cryptoQuotes() {
		if len(name) > len(q) && strings.HasSuffix(name, q) {
			return q, true
		}
	}
	return "", false
}

// router selects providers. It is immutable.
type router struct {
	providers []provider.Provider
	routes    Routes
}

func (r *router) named(name string) provider.Provider {
	for _, p := range r.providers {
		if p.Name() == name {
			return p
		}
	}
	return nil
}

// realVenues returns the providers without synthetic bars.
func (r *router) realVenues() []string {
	var names []string
	for _, p := range r.providers {
		if !p.Capabilities().Synthetic {
			names = append(names, p.Name())
		}
	}
	return names
}

// candidates returns the providers to try for a symbol, in order. Sample bars are served
// only without a symbol, or by the name of their venue.
func (r *router) candidates(ctx context.Context, s market.Symbol) ([]provider.Provider, error) {
	if s.IsZero() {
		for _, p := range r.providers {
			if p.Capabilities().Synthetic {
				return []provider.Provider{p}, nil
			}
		}
		return nil, fault.Missing("symbol", "such as BTCUSDT or AAPL; there is no sample data here")
	}
	if s.Venue != "" {
		if p := r.named(s.Venue); p != nil {
			return []provider.Provider{p}, nil
		}
		if err := r.withheld(s, s.Venue); err != nil {
			return nil, err
		}
		names := make([]string, len(r.providers))
		for i, p := range r.providers {
			names[i] = p.Name()
		}
		return nil, fault.Field("symbol", s.String(), VenuesHere+strings.Join(names, ", "), fault.Nearest(s.Venue, names)...)
	}
	var found []provider.Provider
	for _, name := range append(slices.Clone(r.routes.Preferred), r.routes.venue(s.Name)) {
		if p := r.named(name); p != nil && !p.Capabilities().Synthetic {
			found = append(found, p)
		}
	}
	if listing.Ambiguous(s.Name) {
		found = slices.DeleteFunc(found, func(p provider.Provider) bool {
			return !slices.Contains(r.routes.Preferred, p.Name()) || r.lacks(ctx, p, s.Name)
		})
		if len(found) == 0 {
			return nil, r.ambiguous(s)
		}
	}
	if len(found) == 0 {
		if err := r.withheld(s, r.routes.venue(s.Name)); err != nil {
			return nil, err
		}
		return nil, r.noSource(s)
	}
	return found, nil
}

const (
	// AmbiguousCode is the code of an ambiguous symbol.
	AmbiguousCode = "ambiguous_symbol"
	// VenuesHere begins what is allowed where a symbol names a venue that there is not.
	VenuesHere = "a venue that is set up here: "
)

// ambiguous is the error of a name that means one thing to most people and is the ticker
// of another.
func (r *router) ambiguous(s market.Symbol) error {
	message := fmt.Sprintf("the symbol %s alone is ambiguous: name the pair or the venue", s)
	if r.named(r.routes.Other) != nil {
		message += fmt.Sprintf("; %s is the security with that ticker, if there is one", market.Symbol{Venue: r.routes.Other, Name: s.Name})
	}
	return &fault.Error{Kind: fault.Invalid, Code: AmbiguousCode, Field: "symbol", Value: s.String(), Message: message}
}

// withheld is the error of a symbol at a venue whose data may not be shown here, nil at any other.
func (r *router) withheld(s market.Symbol, venue string) error {
	if !slices.Contains(r.routes.Withheld, venue) {
		return nil
	}
	message := fmt.Sprintf("%s is off on this server: %s. The operator can turn it on with --licensed-venues %s, if there is a licence to show its data to others",
		venue, r.routes.described(venue).Licence, venue)
	if names := r.realVenues(); len(names) > 0 {
		message += "; other venues here: " + strings.Join(names, ", ")
	}
	return &fault.Error{Kind: fault.NotFound, Code: "venue_off", Field: "symbol", Value: s.String(), Message: message}
}

func (r *router) noSource(s market.Symbol) error {
	message := fmt.Sprintf("there is no source of bars for %s: ", s)
	if names := r.realVenues(); len(names) > 0 {
		message += fmt.Sprintf("name a venue, such as %s:%s, or ", names[0], s.Name)
	}
	return &fault.Error{
		Kind: fault.NotFound, Code: "no_source", Field: "symbol", Value: s.String(),
		Message: message + "name a folder of files with --csv-dir, or leave the symbol out for sample data",
	}
}

// lacks reports whether a venue says that it does not have a symbol. One that does not
// answer may have it.
func (r *router) lacks(ctx context.Context, p provider.Provider, symbol string) bool {
	_, err := p.Instrument(ctx, market.Symbol{Venue: p.Name(), Name: symbol})
	return err != nil && fault.KindOf(err) != fault.Unavailable
}

// explainFailure adds the reason and what to try to the error of a failed read. Kind, code
// and retry time of the venue's error are kept.
func (r *router) explainFailure(ctx context.Context, name string, q Request, err error) error {
	f := fault.Of(err)
	if f != nil && (f.Kind == fault.NotFound || f.Kind == fault.Invalid || f.Kind != fault.Internal && slices.Contains(r.routes.Preferred, name)) {
		return err // an error of the user's own files needs no advice
	}
	out := fault.Error{Kind: fault.Unavailable, Code: "unavailable", Message: "no usable answer", Retryable: true}
	if errors.Is(err, context.DeadlineExceeded) {
		out.Message = "no answer in time"
	}
	if f != nil && f.Kind != fault.Internal {
		out = *f
	}
	reason := strings.TrimPrefix(out.Public(), name+" "+q.Symbol.Name+": ")
	out.Message = fmt.Sprintf("%s gave no %s bars of %s: %s", name, q.Interval, q.Symbol.Name, reason)
	var tries []string
	switch {
	case strings.Contains(out.Message, "try again"): // the error says it
	case out.RetryAfter > 0:
		tries = append(tries, fmt.Sprintf("try again in %v", max(out.RetryAfter.Round(time.Second), time.Second)))
	case out.Retryable: // a rejected region or key is rejected again
		tries = append(tries, "try again later")
	}
	if others := r.alternatives(ctx, name, q.Symbol.Name); len(others) > 0 {
		for i, venue := range others {
			others[i] = r.routes.spelled(venue, q.Symbol.Name)
		}
		if !out.Retryable {
			out.Suggestions = others
		}
		tries = append(tries, "name another venue: "+strings.Join(others, ", "))
	}
	if len(tries) > 0 {
		out.Message += "; " + strings.Join(tries, ", or ")
	}
	out.Field, out.Value = "symbol", q.Symbol.String()
	if f == nil || f.Cause == nil || f.Kind == fault.Internal {
		out.Cause = err // otherwise the cause is set, and the message has the rest
	}
	return &out
}

// alternatives lists the providers that may have what one of them has: no stock is traded
// where coins are, and the user's own files are looked at, which takes no time.
func (r *router) alternatives(ctx context.Context, name, symbol string) []string {
	own := r.routes.described(name).Kind
	_, perpetual := market.Symbol{Name: symbol}.Pair()
	return slices.DeleteFunc(r.realVenues(), func(other string) bool {
		d := r.routes.described(other)
		apart := own != d.Kind && trades(own) && trades(d.Kind) || perpetual && trades(d.Kind) && !d.Perpetuals
		return other == name || apart || slices.Contains(r.routes.Preferred, other) && !r.has(ctx, other, symbol)
	})
}

// trades reports whether sources of a kind have only symbols of that kind.
func trades(k provider.Kind) bool { return k == provider.Pairs || k == provider.Stocks }

func (r *router) has(ctx context.Context, venue, symbol string) bool {
	_, err := r.named(venue).Instrument(ctx, market.Symbol{Venue: venue, Name: symbol})
	return err == nil
}
