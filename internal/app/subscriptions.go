package app

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/alerting/notify"
	"candela/internal/data/provider"
	"candela/internal/kit/principal"
	"candela/internal/serve/tool"
	"candela/lib/fault"
	"candela/lib/market"
)

// namesWithin limits the time to resolve the symbols of a filter.
const namesWithin = 5 * time.Second

// subscriptions checks and completes the filters of clients: alerts are stored under the
// venue's spelling of a symbol, and clients may use another.
type subscriptions struct {
	notify.Inbox
	bars   *bars
	alerts tool.Alerts
}

// Subscribe is notify.Inbox.Subscribe with the filter's Instruments set. A symbol that
// cannot have an alert is an error. One whose venue does not answer matches as it is written.
func (s subscriptions) Subscribe(ctx context.Context, caller principal.Caller, f notify.Filter) error {
	asking, cancel := context.WithTimeout(ctx, namesWithin)
	defer cancel()
	f.Instruments = nil
	for _, symbol := range f.Symbols {
		named, err := s.bars.canonical(asking, symbol)
		switch kind := fault.KindOf(err); {
		case kind == fault.NotFound || kind == fault.Invalid:
			return aboutSymbols(err)
		case err != nil:
			continue
		}
		if err := s.check(ctx, caller, symbol, named); err != nil {
			return err
		}
		if named != symbol {
			f.Instruments = append(f.Instruments, named)
		}
	}
	return s.Inbox.Subscribe(ctx, caller, f)
}

// check refuses a symbol that is not in the list of its venue. The list may lack some, but the
// caller's alerts name those that are watched. No venue is asked.
func (s subscriptions) check(ctx context.Context, caller principal.Caller, symbol, named market.Symbol) error {
	if listed, known := s.bars.Lists(named); listed || !known {
		return nil
	}
	all, err := s.alerts.Alerts(ctx, caller)
	if err != nil || slices.ContainsFunc(all, func(a alert.Alert) bool { return a.Instrument == named }) {
		return err
	}
	const allowed = "a symbol that find_symbols lists, or one that an alert of yours is on"
	return &fault.Error{
		Kind: fault.NotFound, Code: "unknown_symbol", Field: "symbols", Value: symbol.String(), Allowed: allowed,
		Message: fmt.Sprintf("symbols: %s is not known here as a symbol of %s, and no alert is on it; use %s", symbol, named.Venue, allowed),
	}
}

// aboutSymbols names the argument of an error about one symbol.
func aboutSymbols(err error) error {
	f := fault.Of(err)
	if f == nil || f.Field != "symbol" {
		return err
	}
	other := *f
	other.Field = "symbols"
	if rest, ok := strings.CutPrefix(f.Message, "symbol:"); ok {
		other.Message = "symbols:" + rest
	} else {
		other.Message = "symbols: " + f.Message
	}
	return &other
}

// canonical returns the instrument of a symbol: with its venue, in the venue's spelling.
func (b *bars) canonical(ctx context.Context, s market.Symbol) (market.Symbol, error) {
	venue, err := b.Route(ctx, s)
	if err != nil {
		return s, err
	}
	return provider.Canonical(ctx, venue, s)
}
