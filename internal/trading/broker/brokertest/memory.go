package brokertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/data/provider"
	"candela/internal/trading/broker"
	"candela/internal/trading/order"
	"candela/lib/fault"
	"candela/lib/market"
)

// Memory is a venue and the account at it, in memory: one symbol, BTCUSDT, a price
// that the test sets, and faults that it queues. Market orders fill at the price,
// limit orders when it is at or beyond theirs; the fee is 0.1 % in the quote. Stops, pairs
// and brackets are held as Manner says. It is safe for concurrent use and starts no
// goroutine.
type Memory struct {
	mu      sync.Mutex
	price   decimal.Decimal
	balance map[string]decimal.Decimal
	orders  []*order.Report
	trades  []order.Fill
	faults  []Fault
	deaf    error
	manner  Manner
	inBase  bool // the fee of a purchase is taken from what was bought
	feesIn  []string
	streams map[*queue]struct{}
	last    int64 // id given out
	links   Links
	void    time.Duration
	receipt bool
	later   []arrival
	can     func(*order.Capabilities)
	digits  int
	running int    // requests that change something
	most    int    // of them at a time
	cause   string // of the fill that is being made, as order.Fill has it
}

var _ broker.Broker = (*Memory)(nil)

// queue holds what a stream has not sent yet.
type queue struct {
	reports []order.Report
	wake    chan struct{} // has room for one
	lost    bool
}

// NewMemory returns a venue with 1,000,000 USDT and a price of 50,000.
func NewMemory() *Memory {
	return &Memory{
		price: decimal.NewFromInt(50_000), balance: map[string]decimal.Decimal{"USDT": decimal.NewFromInt(1_000_000)},
		streams: make(map[*queue]struct{}),
	}
}

// MemorySymbol is what Memory trades.
func MemorySymbol() market.Symbol { return market.Symbol{Venue: "memory", Name: "BTCUSDT"} }

// Deaf lets every question fail and no stream begin, until it is given nil.
func (m *Memory) Deaf(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.deaf = err
}

// Move changes a balance, as a deposit or a withdrawal does.
func (m *Memory) Move(asset string, quantity decimal.Decimal) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.balance[asset] = m.balance[asset].Add(quantity)
}

// FeeInBase takes the fee of purchases from what was bought.
func (m *Memory) FeeInBase() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.inBase = true
}

// FeesIn takes the fees of trades in these assets, one after the other: BTC, USDT or another, of
// which it takes 0.001 % of the worth.
func (m *Memory) FeesIn(assets ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.feesIn = assets
}

// reads returns why a question fails.
func (m *Memory) reads(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.arrive()
	return errors.Join(ctx.Err(), m.deaf)
}

// SetPrice moves the price and fills what it reaches.
func (m *Memory) SetPrice(p decimal.Decimal) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.price = p
	for _, r := range m.orders {
		m.work(r, r.Price)
	}
}

// Trade fills some of a resting order at its price.
func (m *Memory) Trade(id string, quantity decimal.Decimal) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r := m.find(id); r != nil && open(r.Status) {
		m.fill(r, quantity, r.Price)
	}
}

// Place puts an order in as another client would, and returns the venue's id.
func (m *Memory) Place(o order.Spec) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.take(o).VenueID
}

// Wipe forgets every order, trade and balance, as testnets do.
func (m *Memory) Wipe() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.orders, m.trades = nil, nil
	m.balance = map[string]decimal.Decimal{"USDT": decimal.NewFromInt(1_000_000)}
}

// Orders returns every order that was taken, oldest first.
func (m *Memory) Orders() []order.Report {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := make([]order.Report, 0, len(m.orders))
	for _, r := range m.orders {
		all = append(all, *r)
	}
	return all
}

// listed returns the orders as the venue lists them.
func (m *Memory) listed() []order.Report {
	all := m.Orders()
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range all {
		all[i] = m.shown(all[i])
	}
	return all
}

// Publish sends a report to the streams, whatever it says.
func (m *Memory) Publish(r order.Report) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.publish(r)
}

// Drop ends the streams.
func (m *Memory) Drop() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for q := range m.streams {
		q.lost = true
		q.signal()
	}
}

func (m *Memory) publish(r order.Report) {
	for q := range m.streams {
		q.reports = append(q.reports, m.shown(r))
		q.signal()
	}
}

func (q *queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

func open(s order.Status) bool { return s == order.Accepted || s == order.PartiallyFilled }

// find returns the order with an ID of ours, also where the venue does not show it.
func (m *Memory) find(id string) *order.Report {
	for _, r := range slices.Backward(m.orders) {
		if r.ID == id {
			return r
		}
	}
	return nil
}

func (m *Memory) named(h order.Handle) *order.Report {
	for _, r := range slices.Backward(m.orders) {
		if m.names(h, *r) {
			return r
		}
	}
	return nil
}

func (m *Memory) reached(o order.Spec) bool {
	if o.Type == order.Market {
		return true
	}
	if o.Side == order.Buy {
		return m.price.LessThanOrEqual(o.Price)
	}
	return m.price.GreaterThanOrEqual(o.Price)
}

func (m *Memory) id() string {
	m.last++
	return strconv.FormatInt(m.last, 10)
}

// take accepts an order.
func (m *Memory) take(o order.Spec) *order.Report {
	r := &order.Report{Spec: o, VenueID: m.id(), Status: order.Accepted, At: time.Now()}
	r.Owner = ""
	m.orders = append(m.orders, r)
	m.publish(*r)
	m.work(r, m.price)
	return r
}

func (m *Memory) fill(r *order.Report, quantity, price decimal.Decimal) {
	value := quantity.Mul(price)
	f := order.Fill{
		TradeID: m.id(), OrderID: r.ID, VenueID: r.VenueID, Symbol: r.Symbol, Side: r.Side, Quantity: quantity, Price: price,
		Fee: value.Mul(decimal.New(1, -3)), FeeAsset: "USDT", Maker: r.Type == order.Limit, At: time.Now(), Cause: m.cause,
	}
	if r.Side == order.Sell {
		quantity, value = quantity.Neg(), value.Neg()
	}
	m.balance["BTC"] = m.balance["BTC"].Add(quantity)
	if m.inBase && r.Side == order.Buy {
		f.Fee, f.FeeAsset = f.Quantity.Mul(decimal.New(1, -3)), "BTC"
	}
	if n := len(m.feesIn); n > 0 {
		switch f.FeeAsset = m.feesIn[len(m.trades)%n]; f.FeeAsset {
		case "USDT":
		case "BTC":
			f.Fee = f.Quantity.Mul(decimal.New(1, -3))
		default:
			f.Fee = f.Quantity.Mul(f.Price).Mul(decimal.New(1, -5))
		}
	}
	m.balance["USDT"] = m.balance["USDT"].Sub(value)
	m.balance[f.FeeAsset] = m.balance[f.FeeAsset].Sub(f.Fee)
	m.trades = append(m.trades, f)
	r.Filled, r.Status, r.At = r.Filled.Add(f.Quantity), order.PartiallyFilled, f.At
	if r.Filled.Equal(r.Quantity) {
		r.Status = order.Filled
	}
	report := *r
	report.Fills = []order.Fill{f}
	m.publish(report)
	m.followChild(r)
	m.filled(r, f.Quantity)
}

// Name returns "memory".
func (m *Memory) Name() string { return "memory" }

// Mode returns paper.
func (m *Memory) Mode() order.Mode { return order.Paper }

// Instrument returns the rules of BTCUSDT.
func (m *Memory) Instrument(_ context.Context, s market.Symbol) (provider.Instrument, error) {
	if s != MemorySymbol() {
		return provider.Instrument{}, provider.UnknownSymbol("memory", s)
	}
	return provider.Instrument{
		Symbol: s, Base: "BTC", Quote: "USDT", Tick: decimal.New(1, -2), Step: decimal.New(1, -5), MinQuantity: decimal.New(1, -5),
		MaxQuantity: decimal.NewFromInt(9000), MinNotional: decimal.NewFromInt(5), Digits: m.digits,
	}, nil
}

// Submit takes an order, unless a fault says otherwise.
func (m *Memory) Submit(ctx context.Context, o order.Spec) (order.Report, error) {
	return change(ctx, m, func() (order.Report, error) { return m.checked(o) })
}

// checked accepts an order, or refuses it.
func (m *Memory) checked(o order.Spec) (order.Report, error) {
	if m.receipt {
		return m.receive(o)
	}
	if err := m.check(o); err != nil {
		return order.Report{}, err
	}
	return m.answer(m.take(o)), nil
}

// check returns why an order is not taken.
func (m *Memory) check(o order.Spec) error {
	if o.Symbol != MemorySymbol() {
		return fmt.Errorf("%w: %w", broker.ErrRejected, provider.UnknownSymbol("memory", o.Symbol))
	}
	if m.find(o.ID) != nil {
		return fmt.Errorf("memory: %w: the id %s is taken", broker.ErrUnknown, o.ID)
	}
	if inst := (provider.Instrument{Digits: m.digits}); m.digits > 0 && !o.Price.IsZero() && !o.Price.Mod(inst.TickAt(o.Price)).IsZero() {
		return fmt.Errorf("memory: %w: %w", broker.ErrRejected, fault.Field("price", o.Price.String(), "a price of fewer digits"))
	}
	price := o.Price
	if o.Type == order.Market {
		price = decimal.Max(m.price, o.StopPrice)
	}
	asset, need := "USDT", o.Quantity.Mul(price)
	if o.Side == order.Sell {
		asset, need = "BTC", o.Quantity
	}
	if need.GreaterThan(m.available(asset)) {
		return fmt.Errorf("memory: %w: %w", broker.ErrRejected, fault.Field("quantity", o.Quantity.String(), "what the account has"))
	}
	if o.StopPrice.IsPositive() && m.stopReached(o) {
		return fmt.Errorf("memory: %w: %w", broker.ErrRejected, fault.Field("stop_price", o.StopPrice.String(), "a price that would not trigger immediately"))
	}
	return nil
}

// answer returns the report of an order with its trades.
func (m *Memory) answer(taken *order.Report) order.Report {
	r := *taken
	for _, f := range m.trades {
		if f.VenueID == r.VenueID {
			r.Fills = append(r.Fills, f)
		}
	}
	return r
}

// Cancel cancels, or returns how the order ended.
func (m *Memory) Cancel(ctx context.Context, o order.Handle) (order.Report, error) {
	return change(ctx, m, func() (order.Report, error) {
		r := m.named(o)
		if r == nil {
			return order.Report{}, fmt.Errorf("memory: %w: %s", broker.ErrNotFound, o)
		}
		m.end(r, order.Canceled, "")
		return *r, nil
	})
}

// Query returns the state of an order.
func (m *Memory) Query(ctx context.Context, o order.Handle) (order.Report, error) {
	if err := m.reads(ctx); err != nil {
		return order.Report{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.named(o)
	if r == nil {
		return order.Report{}, fmt.Errorf("memory: %w: %s", broker.ErrNotFound, o)
	}
	return *r, nil
}

// Open lists the open orders.
func (m *Memory) Open(ctx context.Context) ([]order.Report, error) {
	return slices.DeleteFunc(m.listed(), func(r order.Report) bool { return !open(r.Status) }), m.reads(ctx)
}

// Fills lists the trades after one.
func (m *Memory) Fills(ctx context.Context, s market.Symbol, after broker.Cursor) ([]order.Fill, broker.Cursor, error) {
	if err := m.reads(ctx); err != nil {
		return nil, after, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var found []order.Fill
	for _, f := range m.trades {
		if f.TradeID == string(after) {
			found = found[:0]
		} else if f.Symbol == s {
			found = append(found, f)
		}
	}
	if n := len(found); n > 0 {
		after = broker.Cursor(found[n-1].TradeID)
	}
	return found, after, nil
}

// Holdings returns both assets.
func (m *Memory) Holdings(ctx context.Context) ([]order.Holding, error) {
	if err := m.reads(ctx); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	all := make([]order.Holding, 0, len(m.balance))
	for asset, q := range m.balance {
		all = append(all, order.Holding{Asset: asset, Quantity: q, Available: m.available(asset)})
	}
	slices.SortFunc(all, func(a, b order.Holding) int { return strings.Compare(a.Asset, b.Asset) })
	return all, nil
}

var errLost = errors.New("memory: the stream was lost")

// Stream sends what happens from now on.
func (m *Memory) Stream(ctx context.Context, ready func(), out chan<- order.Report) error {
	if err := m.reads(ctx); err != nil {
		return err
	}
	q := &queue{wake: make(chan struct{}, 1)}
	m.mu.Lock()
	m.streams[q] = struct{}{}
	m.mu.Unlock()
	defer func() {
		m.mu.Lock()
		delete(m.streams, q)
		m.mu.Unlock()
	}()
	ready()
	for {
		m.mu.Lock()
		batch, lost := q.reports, q.lost
		q.reports = nil
		m.mu.Unlock()
		for _, r := range batch {
			select {
			case out <- r:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		if lost {
			return errLost
		}
		select {
		case <-q.wake:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
