// Package paper is a broker without a venue: it fills orders itself, at the prices of the
// live feed, and keeps its own orders, cash and holdings. To the desk it is a venue like
// any other and passes the same suite.
//
// A market order fills at once at the bid or ask, or at the last price moved against the
// order by the slippage where neither is known. A limit order that could do the same
// does. Any other rests, and fills at its limit when a trade is worse for the market than
// that: at the limit itself it might have been behind others in the queue. No more fills
// than was traded.
//
// A stop is triggered when a price is at its stop price or beyond, and is then the market or
// limit order that its type says: within a bar at the stop price, after a gap at the open, in
// both cases with the slippage. Where a bar reaches the stop and the target of a pair, and
// the order of its extremes is a guess, the stop fills and its fill says so. Within a bar the
// worst price is tried before the best one moves a stop that trails. The legs of an entry work
// from the event after its fill, for what was filled.
//
// The account is a cash account: what is bought is paid for, what is sold is there. Each
// currency has its own cash and each symbol its own holding; what is held in one symbol
// pays for nothing in another. Perpetual futures alone can be sold short, with a margin for each
// position that is all it can lose: see margin.go.
//
// Nothing here is random: the same orders and the same prices at the same times give the
// same fills, ids included. What happened is in a journal before anybody is notified, and
// the state is the journal folded, so that a process that dies between the two loses
// nothing and does nothing twice. While it does not run, its market is closed.
package paper

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/data/provider"
	"candela/internal/trading/broker"
	"candela/internal/trading/order"
	"candela/lib/market"
)

// Name is how the broker is called.
const Name = "paper"

// maxQuoteAge is how old a price may be for an order to be filled at it.
const maxQuoteAge = 10 * time.Second

// Rates are parts of a price: 0.001 is ten basis points.
type Rates struct {
	Taker    decimal.Decimal // the fee of an order that fills on arrival
	Maker    decimal.Decimal // the fee of one that rested
	Slippage decimal.Decimal // what a taker loses where bid and ask are not known

	PerpTaker decimal.Decimal // in perpetual futures
	PerpMaker decimal.Decimal
}

// Usual returns the fees of the largest spot venue for small accounts, which are
// the same for both sides, those of its perpetual futures, and a slippage of five basis points.
func Usual() Rates {
	return Rates{Taker: decimal.New(1, -3), Maker: decimal.New(1, -3), Slippage: decimal.New(5, -4), PerpTaker: decimal.New(5, -4), PerpMaker: decimal.New(2, -4)}
}

// Config is what a Broker needs.
type Config struct {
	Journal broker.Journal
	Market  broker.Market
	Rates   Rates
	Cash    map[string]decimal.Decimal // by currency: what was there before the first order
	// Clock returns the clock of a venue, such as that of a replay; nil for the one on the wall.
	Clock func(venue string) provider.Clock
	Now   func() time.Time
	Log   *slog.Logger

	// Leverage and Funding serve perpetual futures: see broker.Env. Without them there are none.
	Leverage func(market.Symbol) decimal.Decimal
	Funding  func(ctx context.Context, s market.Symbol, from, to time.Time) ([]provider.Funding, error)
}

// Broker is the paper broker. It is safe for concurrent use and starts no goroutine.
type Broker struct {
	cfg Config

	mu            sync.Mutex
	book          book
	unsnapped     int                     // entries that are not in the snapshot of the journal
	snapshotEvery int                     // as the constant, but in tests
	tapes         map[market.Symbol]*tape // of the symbols with resting orders
	streams       map[*queue]struct{}
	seen          map[market.Symbol]bool // positions in perpetual futures that have seen a price since they were opened
	marks         map[market.Symbol]mark
}

var _ broker.Broker = (*Broker)(nil)

// New returns a broker. Before anything is asked of it, Load must be called.
func New(cfg Config) *Broker {
	return &Broker{
		cfg: cfg, book: newBook(cfg.Cash, cfg.Rates),
		tapes: make(map[market.Symbol]*tape), streams: make(map[*queue]struct{}), snapshotEvery: snapshotEvery,
		seen: make(map[market.Symbol]bool), marks: make(map[market.Symbol]mark),
	}
}

// Load brings the account to where its journal ends. Its market opens then.
func (b *Broker) Load(ctx context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.load(ctx); err != nil {
		return fmt.Errorf("paper account: %w", err)
	}
	b.keep(ctx)
	opened := b.cfg.Now()
	for _, t := range b.book.open {
		t.Since = opened
		b.tapes[t.Symbol] = &tape{}
	}
	b.reopen(opened)
	return nil
}

// Name returns "paper". The symbols it trades bear the venue of their prices.
func (b *Broker) Name() string { return Name }

// Mode returns paper.
func (b *Broker) Mode() order.Mode { return order.Paper }

// Instrument returns the rules of the venue whose prices these are. Where that states neither a
// step nor a minimum, 0.00000001 is the least quantity, as at venues for cryptocurrencies.
func (b *Broker) Instrument(ctx context.Context, s market.Symbol) (provider.Instrument, error) {
	inst, err := b.cfg.Market.Instrument(ctx, s)
	if inst.Step.IsZero() && inst.MinQuantity.IsZero() {
		inst.MinQuantity = decimal.New(1, -8)
	}
	return inst, err
}

// commit writes entries to the journal and applies them. The caller holds the lock.
func (b *Broker) commit(ctx context.Context, entries ...entry) error {
	if err := write(ctx, b.cfg.Journal, entries); err != nil {
		return fmt.Errorf("paper account: %w", err)
	}
	for _, e := range entries {
		t := b.book.apply(e)
		if t == nil {
			continue // about a position
		}
		r := t.report()
		if e.Fill != nil {
			r.Fills = []order.Fill{*e.Fill}
		}
		b.publish(r)
	}
	b.unsnapped += len(entries)
	b.keep(ctx)
	return nil
}

// Query returns the state of an order.
func (b *Broker) Query(ctx context.Context, o order.Handle) (order.Report, error) {
	if err := ctx.Err(); err != nil {
		return order.Report{}, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	t, err := b.find(ctx, o)
	if err != nil {
		return order.Report{}, err
	}
	return t.full(), nil
}

// find returns the order with a name, as it is now. The caller holds the lock.
func (b *Broker) find(ctx context.Context, o order.Handle) (*ticket, error) {
	b.expire(ctx, b.cfg.Now())
	if t := b.book.named(o); t != nil {
		return t, nil
	}
	return nil, fmt.Errorf("paper: %w: %s", broker.ErrNotFound, o)
}

// Open lists the open orders, oldest first.
func (b *Broker) Open(ctx context.Context) ([]order.Report, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.expire(ctx, b.cfg.Now())
	open := make([]order.Report, 0, len(b.book.open))
	for _, t := range b.book.open {
		open = append(open, t.full())
	}
	return open, ctx.Err()
}

// Fills lists the trades in a symbol after one, oldest first. A cursor is the number of the newest trade read.
func (b *Broker) Fills(ctx context.Context, s market.Symbol, after broker.Cursor) ([]order.Fill, broker.Cursor, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	last := number(string(after))
	from, _ := slices.BinarySearchFunc(b.book.trades, last+1, func(f order.Fill, n int64) int { return int(number(f.TradeID) - n) })
	var found []order.Fill
	for _, f := range b.book.trades[from:] {
		if f.Symbol == s {
			found, after = append(found, f), broker.Cursor(f.TradeID)
		}
	}
	return found, after, ctx.Err()
}

// Holdings lists the cash by currency, then the holdings by symbol.
func (b *Broker) Holdings(ctx context.Context) ([]order.Holding, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.expire(ctx, b.cfg.Now())
	cash := maps.Clone(b.book.deposits)
	maps.Copy(cash, b.book.flows)
	var all []order.Holding
	for _, c := range slices.Sorted(maps.Keys(cash)) {
		all = append(all, order.Holding{Asset: c, Quantity: b.book.cash(c), Available: decimal.Max(b.book.freeCash(c), decimal.Zero)})
	}
	symbols := slices.SortedFunc(maps.Keys(b.book.held), func(x, y market.Symbol) int { return strings.Compare(x.String(), y.String()) })
	for _, s := range symbols {
		all = append(all, order.Holding{Asset: b.book.assets[s], Symbol: s, Quantity: b.book.held[s], Available: b.book.freeHeld(s)})
	}
	return append(all, b.margins()...), ctx.Err()
}

// queueRoom is how many reports may wait for a stream's reader. One that is
// slower is lost, as with any venue, and reads what it missed.
const queueRoom = 1024

var errBehind = errors.New("paper: the stream was lost: its reader is too slow")

// queue holds what a stream has not sent yet. The broker's lock guards it.
type queue struct {
	reports []order.Report
	lost    error
	wake    chan struct{} // has room for one
}

func (q *queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default: // it will look
	}
}

// publish sends a report to the streams. The caller holds the lock.
func (b *Broker) publish(r order.Report) {
	for q := range b.streams {
		if len(q.reports) == queueRoom {
			q.reports, q.lost = nil, errBehind
		}
		if q.lost == nil {
			q.reports = append(q.reports, r)
		}
		q.signal()
	}
}

// Stream sends what happens to the orders from now on.
func (b *Broker) Stream(ctx context.Context, ready func(), out chan<- order.Report) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	q := &queue{wake: make(chan struct{}, 1)}
	b.mu.Lock()
	b.streams[q] = struct{}{}
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		delete(b.streams, q)
		b.mu.Unlock()
	}()
	ready()
	for {
		batch, lost := b.drain(q)
		for _, r := range batch {
			select {
			case out <- r:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		if lost != nil {
			return lost
		}
		select {
		case <-q.wake:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (b *Broker) drain(q *queue) ([]order.Report, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	batch := q.reports
	q.reports = nil
	return batch, q.lost
}
