package tool

import (
	"context"
	"slices"
	"strings"

	"candela/internal/data/listing"
	"candela/internal/kit/principal"
	"candela/internal/serve/mcp"
	"candela/lib/fault"
	"candela/lib/market"
)

// Symbols finds instruments by name. It queries no venue.
type Symbols interface {
	// Suggest replaces the suggestions of an error about a symbol with instruments that exist.
	Suggest(ctx context.Context, err error) error
	// Find returns the instruments that fit a query, best first, and their number without
	// its limit.
	Find(ctx context.Context, q listing.Query) (found []listing.Instrument, total int)
	// Venues lists the venues that have instruments.
	Venues() []string
}

// maxSymbols bounds the instruments of one answer; each takes 0.15 KB.
const maxSymbols = 50

// symbolJSON is an instrument in a result.
type symbolJSON struct {
	Symbol string `json:"symbol"`
	Venue  string `json:"venue"`
	Name   string `json:"name"`
	Kind   string `json:"kind"`
	Quote  string `json:"quote,omitempty"`
	Chart  bool   `json:"chart"`
	Trade  bool   `json:"trade"`
}

func findSymbols(from Symbols, tradable func(market.Symbol) bool) toolSpec {
	kinds := listing.Kinds()
	arguments := func() (*symbolQuery, args) {
		q := &symbolQuery{Query: listing.Query{Limit: 10}}
		return q, args{
			stringArg("query", &q.Text, 80, "A name, code or symbol, or its beginning, such as bitcoin, AAPL or S&P 500.").require(),
			stringArg("venue", &q.venue, 40, "Only this venue, such as the one in another result."),
			enumArg("kind", &q.kind, "Only this kind.", kinds...),
			limitArg(&q.Limit, maxSymbols, ""),
		}
	}
	return toolSpec{
		name: "find_symbols", title: "Find symbols", scope: principal.Charts, set: MarketSet,
		description: "Find instruments by name, code or symbol among those known at the configured venues. Use symbol in other tools. " +
			"Other symbols of a venue work, too; an unknown one is an error with suggestions. About 0.15 KB per instrument.",
		output: object(listProp("symbols", "Best first.", object(
			typedProp("symbol", "string", "Pass it to other tools."), typedProp("venue", "string", ""), typedProp("name", "string", ""),
			enumProp("kind", "", kinds...), typedProp("quote?", "string", "Currency of the price."),
			typedProp("chart", "boolean", "Charts and indicators are available."), typedProp("trade", "boolean", "Orders are possible under the policy."),
		)), typedProp("total", "integer", "Without the limit.")),
		hints: hints{readOnly: true, idempotent: true},
		call: calling(arguments, func(ctx context.Context, _ principal.Caller, q *symbolQuery) (mcp.Result, error) {
			if venues := from.Venues(); q.venue != "" && !slices.Contains(venues, strings.ToLower(q.venue)) {
				return mcp.Result{}, fault.Field("venue", q.venue, "one of "+strings.Join(venues, ", "), fault.Nearest(q.venue, venues)...)
			}
			q.Venue = strings.ToLower(q.venue)
			q.SetKind(q.kind)
			return jsonResult(q.answer(ctx, from, tradable), nil)
		}),
	}
}

// symbolQuery holds the arguments of find_symbols.
type symbolQuery struct {
	listing.Query
	venue, kind string
}

func (q *symbolQuery) answer(ctx context.Context, from Symbols, tradable func(market.Symbol) bool) any {
	answer := struct {
		Symbols []symbolJSON `json:"symbols"`
		Total   int          `json:"total"`
	}{Symbols: []symbolJSON{}}
	found, total := from.Find(ctx, q.Query)
	answer.Total = total
	for _, one := range found {
		answer.Symbols = append(answer.Symbols, symbolJSON{
			Symbol: one.Use, Venue: one.Symbol.Venue, Name: one.Name, Kind: string(one.Class), Quote: one.Quote,
			Chart: !one.Locked, Trade: !one.Locked && tradable != nil && tradable(one.Symbol),
		})
	}
	return answer
}
