package paper

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/shopspring/decimal"

	"candela/internal/trading/order"
	"candela/lib/market"
)

const (
	// rememberedMost is how many orders that have ended, and their trades, can be asked
	// for: the desk has long processed those that ended before. Time alone says
	// nothing of that: while nobody trades, nobody hears.
	rememberedMost = 20_000

	// snapshotEvery is how many entries a start reads at most, beside a snapshot.
	snapshotEvery = 10_000
	snapshotAgain = 1000 // entries after one that failed

	snapshotVersion = 3 // 1 has no stops and groups, 2 no perpetual futures
	spotVersion     = 2 // of an account without them, which older versions read
)

// snapshotForm is a book as it is written. Trades are those of its tickets.
type snapshotForm struct {
	Version int                        `json:"version"`
	Flows   map[string]decimal.Decimal `json:"flows,omitempty"`
	Held    []heldForm                 `json:"held,omitempty"` // and what was
	Tickets []*ticket                  `json:"tickets,omitempty"`
	Last    int64                      `json:"last"`
	Perps   []perpForm                 `json:"perps,omitempty"` // and those that were
	Paid    []order.Funding            `json:"paid,omitempty"`
}

type perpForm struct {
	Symbol market.Symbol `json:"symbol"`
	perp
}

type heldForm struct {
	Symbol   market.Symbol   `json:"symbol"`
	Asset    string          `json:"asset"`
	Quantity decimal.Decimal `json:"quantity,omitzero"`
}

// byNumber orders tickets as they came.
func byNumber(a, b *ticket) int { return cmp.Compare(number(a.VenueID), number(b.VenueID)) }

// snapshot writes the book so that readSnapshot makes the same one of it.
func (b *book) snapshot() ([]byte, error) {
	s := snapshotForm{Version: spotVersion, Flows: b.flows, Last: b.last, Paid: b.paid}
	for symbol, position := range b.perps {
		s.Version, s.Perps = snapshotVersion, append(s.Perps, perpForm{symbol, position})
	}
	slices.SortFunc(s.Perps, func(x, y perpForm) int { return cmp.Compare(x.Symbol.String(), y.Symbol.String()) })
	for symbol, asset := range b.assets {
		s.Held = append(s.Held, heldForm{symbol, asset, b.held[symbol]})
	}
	slices.SortFunc(s.Held, func(x, y heldForm) int { return cmp.Compare(x.Symbol.String(), y.Symbol.String()) })
	s.Tickets = slices.SortedFunc(maps.Values(b.tickets), byNumber)
	return order.Compress(s)
}

var errSnapshot = errors.New("it is not a snapshot that this version reads")

// readSnapshot makes an empty book the one that was written.
func (b *book) readSnapshot(data []byte) error {
	var s snapshotForm
	if err := order.Decompress(data, &s); err != nil {
		return err
	}
	if s.Version < 1 || s.Version > snapshotVersion {
		return errSnapshot
	}
	maps.Copy(b.flows, s.Flows)
	b.last, b.paid = s.Last, s.Paid
	for _, p := range s.Perps {
		b.perps[p.Symbol] = p.perp
	}
	for _, h := range s.Held {
		b.assets[h.Symbol] = h.Asset
		if !h.Quantity.IsZero() {
			b.held[h.Symbol] = h.Quantity
		}
	}
	for _, t := range s.Tickets {
		if t == nil {
			return errSnapshot
		}
		b.tickets[t.ID] = t
		b.trades = append(b.trades, t.Fills...)
		if !t.Status.Final() {
			b.open = append(b.open, t)
		}
	}
	slices.SortFunc(b.trades, func(x, y order.Fill) int { return cmp.Compare(number(x.TradeID), number(y.TradeID)) })
	return nil
}

// forget drops orders that have ended, with their trades: all but those that ended
// last, which may have been taken long before many others.
func (b *book) forget(most int) {
	var ended []*ticket
	for _, t := range b.tickets {
		if t.Status.Final() {
			ended = append(ended, t)
		}
	}
	slices.SortFunc(ended, func(x, y *ticket) int { return cmp.Or(y.At.Compare(x.At), byNumber(y, x)) })
	for _, t := range ended[min(most, len(ended)):] {
		delete(b.tickets, t.ID)
	}
	b.trades = slices.DeleteFunc(b.trades, func(f order.Fill) bool { return b.tickets[f.OrderID] == nil })
}

// load brings the book to where the journal ends.
func (b *Broker) load(ctx context.Context) error {
	data, since, err := b.cfg.Journal.Snapshot(ctx)
	if err != nil {
		return err
	}
	fresh := b.book
	if data != nil {
		b.book = newBook(b.cfg.Cash, b.cfg.Rates)
		err := b.book.readSnapshot(data)
		if err == nil {
			b.unsnapped, err = b.book.load(since)
		}
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return err // the start was given up, and the snapshot is as good as it was
		}
		b.cfg.Log.ErrorContext(ctx, "the snapshot of the paper account cannot be used; its whole journal is read", "error", err)
		b.book, since = fresh, b.cfg.Journal.Entries(ctx)
	}
	b.unsnapped, err = b.book.load(since)
	return err
}

// keep saves a snapshot when the journal has grown by much. The caller holds the lock.
func (b *Broker) keep(ctx context.Context) {
	if b.unsnapped < b.snapshotEvery {
		return
	}
	b.book.forget(rememberedMost)
	data, err := b.book.snapshot()
	if err == nil {
		err = b.cfg.Journal.SaveSnapshot(ctx, data)
	}
	if err != nil {
		b.unsnapped = b.snapshotEvery - snapshotAgain
		b.cfg.Log.WarnContext(ctx, "no snapshot of the paper account is kept; it is tried again", "error", err)
		return
	}
	b.unsnapped = 0
}
