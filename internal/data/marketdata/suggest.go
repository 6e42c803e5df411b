package marketdata

import (
	"context"
	"errors"
	"slices"
	"strings"

	"candela/internal/data/listing"
	"candela/lib/fault"
	"candela/lib/market"
)

// Namer finds instruments by what somebody calls them. It queries no venue.
type Namer interface {
	// Near returns the instruments that a text may mean which is no symbol, best first,
	// and an explanation.
	Near(ctx context.Context, text string) (near []listing.Instrument, why string)
}

// Suggest is Suggest with the instruments that are known.
func (s *Service) Suggest(ctx context.Context, err error) error { return Suggest(ctx, s, err) }

// Suggest replaces a venue's suggestions for an unknown symbol with instruments that
// exist, each with its venue. A client learns of them in the error alone: no name is taken
// for a symbol, so that no order is placed on a guess. Other errors are returned as they
// are; from may be nil.
func Suggest(ctx context.Context, from Namer, err error) error {
	f := fault.Of(err)
	if from == nil || f == nil || !aboutName(f) {
		return err
	}
	near, why := from.Near(ctx, f.Value)
	better := *f
	better.Message, _, _ = strings.Cut(f.Message, "; did you mean")
	if f.Kind == fault.Unavailable {
		if len(near) == 0 || slices.ContainsFunc(near, func(i listing.Instrument) bool { return isNamed(i, f.Value) }) {
			return err // there may be such an instrument: it is the venue that is missing
		}
		better.Message, _, _ = strings.Cut(better.Message, "; try again later")
		better.Message, _, _ = strings.Cut(better.Message, "; name another venue")
	}
	if strings.HasPrefix(f.Allowed, VenuesHere) {
		why = "" // the message says it
	}
	if why != "" {
		better.Message += ": " + why
	}
	if len(near) == 0 {
		if why != "" {
			return &better
		}
		return err
	}
	better.Message += "; did you mean " + alternatives(near) + "?"
	better.Suggestions = nil
	for _, one := range near {
		better.Suggestions = append(better.Suggestions, one.Use)
	}
	return &better
}

// Explain returns what may be said of an error to someone who calls no tool: a command, or a page. Errors about
// symbols suggest those that were meant. An internal error stays as it is, for the log.
func Explain(ctx context.Context, from Namer, err error) error {
	switch f := fault.Of(Suggest(ctx, from, err)); {
	case f != nil && f.Kind != fault.Internal:
		return &fault.Error{Kind: f.Kind, Code: f.Code, Message: f.Public()}
	case ctx.Err() != nil && (errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx))):
		return &fault.Error{Code: "cancelled", Message: "the call was cancelled"}
	}
	return err
}

// isNamed reports whether a text is the symbol of an instrument.
func isNamed(i listing.Instrument, text string) bool {
	s, err := market.ParseSymbol(text)
	return err == nil && s.Name == i.Symbol.Name
}

// aboutName reports whether an error is about a text that is, or may be, the symbol of no
// instrument: a venue that does not answer cannot say. A venue that is misspelled is
// suggested already.
func aboutName(f *fault.Error) bool {
	return f.Kind == fault.Unavailable && f.Field == "symbol" || slices.Contains([]string{"unknown_symbol", "no_source", AmbiguousCode}, f.Code) || f.Allowed == market.SymbolAllowed ||
		strings.HasPrefix(f.Allowed, VenuesHere) && len(f.Suggestions) == 0
}

// alternatives lists instruments as a sentence does, each with its venue.
func alternatives(all []listing.Instrument) string {
	texts := make([]string, len(all))
	for i, one := range all {
		texts[i] = one.Use + " (" + one.Title + ")"
	}
	last := len(texts) - 1
	if last == 0 {
		return texts[0]
	}
	return strings.Join(texts[:last], ", ") + " or " + texts[last]
}
