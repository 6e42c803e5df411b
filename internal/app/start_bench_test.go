package app

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/kit/principal"
	"candela/internal/store/ledger"
	"candela/internal/trading/broker"
	"candela/internal/trading/broker/paper"
	"candela/internal/trading/broker/paper/papertest"
	"candela/internal/trading/desk"
	"candela/internal/trading/desk/desktest"
	"candela/internal/trading/order"
	"candela/lib/market"
)

// past is a paper account that has traded for long.
type past struct {
	dir    string
	market *papertest.Market
	symbol market.Symbol
}

// newPast places orders, a thousand a day up to now, each with a key and filled at
// once, and writes down what a desk and the paper account write of them.
func newPast(b *testing.B, orders int) *past {
	b.Helper()
	p := &past{dir: b.TempDir(), market: papertest.NewMarket(papertest.BTCUSDT()), symbol: papertest.BTCUSDT().Symbol}
	now := time.Now().Add(-time.Duration(orders) * 24 * time.Hour / 1000).UTC().Truncate(time.Microsecond)
	journal := &papertest.Journal{}
	venue := p.broker(journal, func() time.Time { return now })
	must := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	must(venue.Load(b.Context()))
	l, err := ledger.Open(b.Context(), p.dir, func() time.Time { return now })
	must(err)
	by, trade := principal.Caller{Subject: "owner", Key: "token", Client: "agent"}, ""
	var events []order.Event
	for i := range orders {
		now = now.Add(24 * time.Hour / 1000)
		p.market.Set(p.symbol, order.Quote{Last: decimal.NewFromInt(int64(50_000 + i%997)), At: now})
		g := order.Origin{
			Spec: order.Spec{
				ID: "0192a4f0-7c1e-7d3a-9b1c-" + strconv.Itoa(100_000_000_000+i), Owner: "owner", Symbol: p.symbol,
				Side: []order.Side{order.Buy, order.Sell}[i%2], Type: order.Market, Quantity: decimal.New(1, -2),
			},
			Broker: paper.Name, Mode: order.Paper, Key: "key " + strconv.Itoa(i), Token: by.Key, Client: by.Client,
		}
		r, err := venue.Submit(b.Context(), g.Spec)
		must(err)
		made := []order.Event{{Kind: order.KindCreated, OrderID: g.ID, At: now, Origin: &g}, {Kind: order.KindSent, OrderID: g.ID, At: now}}
		o, err := order.Apply(order.Order{}, made[0])
		must(err)
		o, err = order.Apply(o, made[1])
		must(err)
		for _, e := range order.FromReport(o, r) {
			e.At = now
			made = append(made, e)
		}
		trade = r.Fills[0].TradeID
		if events = append(events, made...); len(events) > 2000 || i == orders-1 {
			_, err = l.AppendEvents(b.Context(), by, events)
			must(err)
			events = nil
		}
	}
	var entries [][]byte
	for e, err := range journal.Entries(b.Context()) {
		must(err)
		entries = append(entries, e)
	}
	must(l.AppendJournal(b.Context(), accountOwner, paper.Name, entries))
	must(l.SaveState(b.Context(), principal.Caller{Subject: "owner"}, "cursors paper paper", []byte(`{"cursors":{"`+p.symbol.String()+`":"`+trade+`"}}`)))
	must(l.Close())
	return p
}

func (p *past) broker(j broker.Journal, now func() time.Time) *paper.Broker {
	return paper.New(paper.Config{
		Journal: j, Market: p.market, Rates: paper.Usual(), Now: now, Log: slog.New(slog.DiscardHandler),
		Cash: map[string]decimal.Decimal{"USDT": decimal.NewFromInt(1_000_000_000)},
	})
}

// start opens the store and runs the paper account and a desk until the first order
// is filled.
func (p *past) start(b *testing.B) (stop func()) {
	b.Helper()
	l, err := ledger.Open(b.Context(), p.dir, time.Now)
	if err != nil {
		b.Fatal(err)
	}
	venue := p.broker(paper.StoredJournal{Store: l, Owner: accountOwner}, time.Now)
	if err := venue.Load(b.Context()); err != nil {
		b.Fatal(err)
	}
	quote := order.Quote{Last: decimal.NewFromInt(50_000), At: time.Now().Add(time.Hour)}
	prices := &desktest.Market{}
	prices.Set(p.symbol, quote)
	p.market.Set(p.symbol, quote)
	d := desk.New(desk.Config{
		Owner: "owner", Broker: venue, Store: l, Market: prices, Policy: free(),
		Resolve: func(context.Context, market.Symbol) (market.Symbol, error) { return p.symbol, nil },
		Log:     slog.New(slog.DiscardHandler), Now: time.Now, Rand: rand.Float64,
	})
	ctx, cancel := context.WithCancel(b.Context())
	ready, done := make(chan struct{}), make(chan error, 1)
	go func() { done <- d.Run(ctx, ctx, func() { close(ready) }) }()
	<-ready
	o, err := d.Place(b.Context(), principal.Caller{Subject: "owner"}, order.Request{Symbol: p.symbol, Side: order.Buy, Type: order.Market, Quantity: decimal.New(1, -2)})
	if err != nil || o.Status != order.Filled {
		b.Fatalf("the first order: %v, %v", o.Status, err)
	}
	return func() {
		cancel()
		if err := <-done; err != nil {
			b.Fatal(err)
		}
		if err := l.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// forget removes the snapshots, so that everything is read.
func (p *past) forget(b *testing.B) {
	b.Helper()
	db, err := sql.Open("sqlite", filepath.Join(p.dir, ledger.FileName))
	if err == nil {
		_, err = db.ExecContext(b.Context(), "DELETE FROM snapshots")
	}
	if err = errors.Join(err, db.Close()); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkStart starts a paper account with many orders behind it, up to the first
// order that is filled: from all events and the whole journal, and from snapshots. It
// reports the memory in use then. CANDELA_BENCH_ORDERS sets how many orders.
func BenchmarkStart(b *testing.B) {
	orders := 5000
	if n, err := strconv.Atoi(os.Getenv("CANDELA_BENCH_ORDERS")); err == nil {
		orders = n
	}
	p := newPast(b, orders)
	if info, err := os.Stat(filepath.Join(p.dir, ledger.FileName)); err == nil {
		b.Logf("%d orders take %d bytes each on the disk", orders, info.Size()/int64(orders))
	}
	for _, name := range []string{"events", "snapshot"} {
		b.Run(name, func(b *testing.B) {
			var taken float64
			for b.Loop() {
				b.StopTimer()
				if name == "events" {
					p.forget(b)
				}
				before := inUse()
				b.StartTimer()
				stop := p.start(b)
				b.StopTimer()
				taken = inUse() - before
				stop()
				b.StartTimer()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(orders), "ns/order")
			b.ReportMetric(taken/1e6, "MB")
		})
	}
}

// inUse is the heap after a collection.
func inUse() float64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}
