package order

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/kit/principal"
	"candela/lib/market"
)

// snapshotVersion is the version of snapshotJSON. Other versions are not read; the events are.
const snapshotVersion = 4 // 3 has no books of deployments, 2 no trades

// snapshotJSON is the stored form of a Book, without what follows from the orders
// except for the effects of a venue reset.
type snapshotJSON struct {
	Version  int                      `json:"version"`
	Owner    principal.Owner          `json:"owner"`
	Orders   []Order                  `json:"orders,omitempty"`   // in the order of Book.sequence
	Unnamed  []string                 `json:"unnamed,omitempty"`  // IDs of orders that lost their venue ID
	Freed    map[string][]string      `json:"freed,omitempty"`    // by order: keys of fills whose trades are no longer known
	Tracks   []track                  `json:"tracks,omitempty"`   // by symbol
	Books    []bookTrack              `json:"books,omitempty"`    // of deployments, by ID and symbol
	Released []string                 `json:"released,omitempty"` // IDs of deployments whose books were given up
	Plans    []Plan                   `json:"plans,omitempty"`    // by symbol
	Turnover map[int64][]symbolAmount `json:"turnover,omitempty"` // by day, then by symbol
	Newest   int64                    `json:"newest,omitempty"`
	Adjusted int                      `json:"adjusted,omitempty"`
	Forgot   time.Time                `json:"forgot,omitzero"`
	Evicted  time.Time                `json:"evicted,omitzero"`
	Trades   time.Time                `json:"trades_since,omitzero"`
}

type symbolAmount struct {
	Symbol market.Symbol   `json:"symbol"`
	Amount decimal.Decimal `json:"amount"`
}

// Snapshot encodes the book for ReadSnapshot. Equal books give equal bytes.
func (b *Book) Snapshot() ([]byte, error) {
	data, err := Compress(b.toJSON())
	if err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	return data, nil
}

// Compress encodes the snapshot of an account as compressed JSON.
func Compress(snapshot any) ([]byte, error) {
	var out bytes.Buffer
	w := gzip.NewWriter(&out) // its checksum detects changed bytes
	err := errors.Join(json.NewEncoder(w).Encode(snapshot), w.Close())
	return out.Bytes(), err
}

// Decompress decodes what Compress encoded.
func Decompress(data []byte, snapshot any) error {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return err
	}
	text, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, snapshot)
}

func (b *Book) toJSON() snapshotJSON {
	s := snapshotJSON{
		Version: snapshotVersion, Owner: b.owner, Orders: make([]Order, 0, len(b.sequence)), Freed: make(map[string][]string),
		Turnover: make(map[int64][]symbolAmount), Newest: b.newest, Adjusted: b.adjusted, Forgot: b.evictedThrough, Evicted: b.evictedBefore, Trades: b.tradesSince,
	}
	for _, id := range b.sequence {
		o := b.orders[id]
		s.Orders = append(s.Orders, o)
		if o.VenueID != "" && b.venueIDs[venueID{o.Broker, o.Symbol, o.VenueID}] != id {
			s.Unnamed = append(s.Unnamed, id)
		}
		for _, f := range o.Fills {
			if b.trades[f.Key()] != id {
				s.Freed[id] = append(s.Freed[id], f.Key())
			}
		}
	}
	for _, t := range b.positions {
		s.Tracks = append(s.Tracks, *t)
	}
	slices.SortFunc(s.Tracks, func(x, y track) int { return bySymbol(x.Base.Symbol, y.Base.Symbol) })
	s.Books, s.Released = b.books.toJSON(), b.books.released()
	for symbol, lines := range b.plans {
		s.Plans = append(s.Plans, Plan{symbol, lines})
	}
	slices.SortFunc(s.Plans, func(x, y Plan) int { return bySymbol(x.Symbol, y.Symbol) })
	for day, sums := range b.turnover {
		for symbol, amount := range sums {
			s.Turnover[day] = append(s.Turnover[day], symbolAmount{symbol, amount})
		}
		slices.SortFunc(s.Turnover[day], func(x, y symbolAmount) int { return bySymbol(x.Symbol, y.Symbol) })
	}
	return s
}

// errSnapshotMismatch means that the snapshot is of another owner or version.
var errSnapshotMismatch = errors.New("not a snapshot of this account and version")

// ReadSnapshot decodes a book.
func ReadSnapshot(owner principal.Owner, data []byte) (*Book, error) {
	var s snapshotJSON
	if err := Decompress(data, &s); err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	if s.Version != snapshotVersion || s.Owner != owner {
		return nil, errSnapshotMismatch
	}
	return s.book()
}

func (s *snapshotJSON) book() (*Book, error) {
	b := NewBook(s.Owner)
	b.newest, b.adjusted, b.evictedThrough, b.evictedBefore, b.tradesSince = s.Newest, s.Adjusted, s.Forgot, s.Evicted, s.Trades
	unnamed := make(map[string]bool, len(s.Unnamed))
	for _, id := range s.Unnamed {
		unnamed[id] = true
	}
	for _, o := range s.Orders {
		if _, twice := b.orders[o.ID]; twice || o.ID == "" || o.Status == 0 || o.Owner != s.Owner {
			return nil, errSnapshotMismatch
		}
		b.sequence = append(b.sequence, o.ID)
		b.join(o)
		ids := o.venueIDs()
		names := make([]string, len(ids))
		for i, id := range ids {
			names[i] = b.venueIDs[id]
		}
		b.store(o)
		for i, id := range ids {
			switch {
			case !unnamed[o.ID]:
			case names[i] != "": // another order has had the ID since a reset
				b.venueIDs[id] = names[i]
			default:
				delete(b.venueIDs, id)
			}
		}
		freed := s.Freed[o.ID]
		for _, f := range o.Fills {
			if key := f.Key(); !slices.Contains(freed, key) {
				b.trades[key] = o.ID
			}
		}
	}
	for _, t := range s.Tracks {
		t.again()
		b.positions[t.Base.Symbol] = &t
	}
	b.books = readBooks(s.Books, s.Released)
	for _, p := range s.Plans {
		b.plans[p.Symbol] = p.Lines
	}
	for day, sums := range s.Turnover {
		b.turnover[day] = make(map[market.Symbol]decimal.Decimal, len(sums))
		for _, sum := range sums {
			b.turnover[day][sum.Symbol] = sum.Amount
		}
	}
	return b, nil
}

// OrderOfTrade returns the ID of the order of a known trade, or "".
func (b *Book) OrderOfTrade(f Fill) string { return b.trades[f.Key()] }
