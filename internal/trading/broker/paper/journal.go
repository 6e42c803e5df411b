package paper

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strconv"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/trading/broker"
	"candela/internal/trading/order"
)

// entry is one thing that happened: exactly one of its parts is set.
type entry struct {
	At     time.Time   `json:"at"`
	Taken  *taken      `json:"taken,omitempty"`
	Fill   *order.Fill `json:"fill,omitempty"`
	Cancel string      `json:"cancel,omitempty"` // our id of the order
}

// taken is an order that was accepted, with what must be known of its symbol when
// the venue does not answer.
type taken struct {
	order.Spec
	VenueID  string          `json:"venue_id"`
	Asset    string          `json:"asset"`    // what is bought or sold
	Currency string          `json:"currency"` // what it is paid in
	Step     decimal.Decimal `json:"step"`     // quantities are multiples of it; zero for any
}

func write(ctx context.Context, j broker.Journal, entries []entry) error {
	lines := make([][]byte, len(entries))
	for i, e := range entries {
		line, err := json.Marshal(e)
		if err != nil {
			return err
		}
		lines[i] = line
	}
	return j.Append(ctx, lines...)
}

// load folds entries into a book and returns how many.
func (b *book) load(entries iter.Seq2[[]byte, error]) (int, error) {
	n := 0
	for line, err := range entries {
		if err != nil {
			return n, err
		}
		n++
		var e entry
		if err := json.Unmarshal(line, &e); err != nil {
			return n, fmt.Errorf("entry %d: %w", n, err)
		}
		if err := b.check(e); err != nil {
			return n, fmt.Errorf("entry %d: %w", n, err)
		}
		b.apply(e)
	}
	return n, nil
}

// number reads an id that the account has given out; 0 for any other.
func number(id string) int64 {
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return 0
	}
	return n
}
