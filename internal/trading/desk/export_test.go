package desk

import (
	"context"
	"strconv"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/data/provider"
	"candela/internal/trading/order"
	"candela/lib/market"
)

// Submit sends an order as the loop does.
func (d *Desk) Submit(ctx context.Context, o order.Order) (order.Report, error) {
	reports, err := newLoop(ctx, ctx, d).submit(ctx, d.systemCaller(), []order.Order{o}, o.Created)
	if len(reports) == 0 {
		return order.Report{}, err
	}
	return reports[0], err
}

// OnTick and UsualTick are how a level becomes a price that a venue takes.
func OnTick(level, tick decimal.Decimal, side order.Side) decimal.Decimal {
	return onTick(level, tick, side)
}

// UsualTick is for a venue whose tick is not known.
func UsualTick(last decimal.Decimal) decimal.Decimal { return usualTick(last) }

// SnapshotEvery sets the number of events between snapshots.
func (d *Desk) SnapshotEvery(events int) { d.snapshotEvery = events }

// SetMaxClosed sets how many closed orders stay in memory.
func (d *Desk) SetMaxClosed(orders int) { d.maxClosedInMemory = orders }

// HeldPrices returns the way of a price through a desk that holds this many orders.
func HeldPrices(orders int) (see func(price float64) (reached bool)) {
	d := New(Config{Now: time.Now})
	l := newLoop(context.Background(), context.Background(), d)
	s := market.Symbol{Venue: "binance", Name: "BTCUSDT"}
	var held []order.Order
	for i := range orders {
		o := order.Order{Origin: order.Origin{Spec: order.Spec{ID: strconv.Itoa(i), Symbol: s, Side: order.Sell, StopPrice: decimal.NewFromInt(int64(1000 + i))}, Holder: order.HolderCandela}}
		if i%2 == 1 {
			o.StopPrice, o.TrailPercent, o.Best = decimal.Zero, decimal.NewFromInt(2), decimal.NewFromInt(50_000)
		}
		held = append(held, o)
	}
	l.rewatch(held)
	var t int64
	return func(price float64) bool {
		t++
		d.Observe(provider.Event{Sub: provider.Sub{Symbol: s, Interval: market.Minute1}, Kind: provider.Forming, Bar: market.Bar{T: t, O: price, H: price, L: price, C: price}})
		<-d.watches.moved
		return l.checkPrices()
	}
}
