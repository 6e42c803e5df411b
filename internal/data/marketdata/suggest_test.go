package marketdata_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"candela/internal/data/listing"
	"candela/internal/data/marketdata"
	"candela/lib/fault"
	"candela/lib/market"
)

// known are symbols that suggest one instrument for everything.
type known struct{ near listing.Instrument }

func (k known) Near(context.Context, string) ([]listing.Instrument, string) {
	return []listing.Instrument{k.near}, ""
}

// A venue that does not answer cannot say that it lacks a symbol. What is a name and no
// symbol is suggested all the same, and a symbol that exists is not called unknown.
func TestSuggest_WhereTheVenueDoesNotAnswer(t *testing.T) {
	t.Parallel()
	from := known{near: listing.Instrument{Symbol: market.Symbol{Venue: "yahoo", Name: "AAPL"}, Title: "Yahoo", Use: "AAPL"}}
	for value, want := range map[string]bool{"APPLE": true, "AAPL": false, "yahoo:AAPL": false} {
		down := fault.Unreachable(errors.New("dial"), 0, "yahoo gave no bars of %s: the venue does not answer; try again later, or name another venue: x", value)
		down.Field, down.Value = "symbol", value
		got := marketdata.Suggest(t.Context(), from, down)
		if strings.Contains(got.Error(), "does not answer; did you mean AAPL (Yahoo)?") != want {
			t.Errorf("%s: %v", value, got)
		}
	}
}
