package storetest

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"

	"candela/internal/kit/principal"
	"candela/internal/testkit/longtest"
	"candela/internal/trading/order"
	"candela/lib/market"
)

// account is what fills come to, summed up without a book.
type account struct {
	cash, bought map[market.Symbol]decimal.Decimal // in the currency of the price; bought less sold
}

// tradesAddUp stores random fills in random order of arrival, some of them twice. Opened again, with and without snapshots, the
// store has the same trades. To the last digit they earned what the positions realised, and with the open positions they are
// worth the cash and what is held.
func tradesAddUp(t *testing.T, s SnapshotStore, reopen func() SnapshotStore) {
	t.Helper()
	rng := rand.New(rand.NewPCG(longtest.Seed(), 7)) //nolint:gosec // G404: a test repeats it
	fills, trades := longtest.Pick(2_000, 100_000), 0
	var written []writtenBook
	for left, n := fills, 0; left > 0; n++ {
		owner, each := principal.Owner("o"+strconv.Itoa(n)), min(left, 500)
		if left -= each; n == 0 {
			each, left = min(1_500, fills), fills-min(1_500, fills) // of which a book folds some
		}
		by := principal.Caller{Subject: owner}
		opening, events, want := randomFills(rng, owner, each)
		live := order.NewBook(owner)
		store := func(batch []order.Event) {
			stored, err := s.AppendEvents(t.Context(), by, batch)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range stored {
				if err := live.Apply(e); err != nil {
					t.Fatal(err)
				}
			}
		}
		store(opening)
		for i := 0; i < len(events); i += 50 {
			end := min(i+50, len(events))
			store(append(events[i:end:end], events[rng.IntN(i+1)])) // one that is known
			if i == len(events)/100*50 && n%2 == 0 {
				if err := s.SaveSnapshot(t.Context(), by, live); err != nil {
					t.Fatal(err)
				}
			}
		}
		want.compare(t, live)
		trades += len(live.Trades())
		if written = append(written, writtenBook{owner, live, want}); left > 0 && n%25 > 1 {
			continue // a start may read what all owners have
		}
		s = reopen()
		for _, w := range written {
			w.compare(t, s)
		}
		written = nil
	}
	if t.Logf("%d fills made %d trades", fills, trades); trades < fills/10 {
		t.Error("too few trades to say anything")
	}
}

// writtenBook is a book whose events a store has.
type writtenBook struct {
	owner principal.Owner
	live  *order.Book
	want  account
}

// compare holds what a store that was opened again has against the book.
func (w writtenBook) compare(t *testing.T, s SnapshotStore) {
	t.Helper()
	again, _, err := readBook(t.Context(), s, w.owner)
	if err != nil {
		t.Fatal(err)
	}
	w.want.compare(t, again)
	if diff := cmp.Diff(w.live.Trades(), again.Trades()); diff != "" {
		t.Fatalf("after a restart the trades of %s differ: %s", w.owner, diff)
	}
}

// randomFills makes fills of orders of both sides in random order.
func randomFills(rng *rand.Rand, owner principal.Owner, n int) (opening, fills []order.Event, sum account) {
	sum = account{map[market.Symbol]decimal.Decimal{}, map[market.Symbol]decimal.Decimal{}}
	at := time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC)
	for i := range n / 4 {
		e := created(owner, fmt.Sprintf("%s-%d", owner, i), at)
		e.Origin.Side, e.Origin.Quantity = []order.Side{order.Buy, order.Sell}[rng.IntN(2)], decimal.New(1, 9)
		if e.Origin.Symbol.Name = []string{"BTCUSDT", "ETHUSDT"}[rng.IntN(2)]; n > 500 {
			e.Origin.Symbol.Name = "BTCUSDT"
		}
		opening = append(opening, e, order.Event{Kind: order.KindSent, OrderID: e.OrderID, At: at})
	}
	for i := range n {
		g := opening[2*rng.IntN(len(opening)/2)].Origin
		f := order.Fill{
			TradeID: strconv.Itoa(i), OrderID: g.ID, Symbol: g.Symbol, Side: g.Side, Base: g.Symbol.Name[:3], At: at.Add(time.Duration(rng.IntN(100*n)) * time.Second),
			Quantity: decimal.New(1+rng.Int64N(1_000_000), -rng.Int32N(7)), Price: decimal.New(1+rng.Int64N(10_000_000), -rng.Int32N(6)),
		}
		f.FeeAsset = []string{"USDT", "BNB", f.Base}[rng.IntN(3)]
		f.Fee = f.Quantity.Mul(decimal.New(rng.Int64N(20), -4))
		signed := f.Quantity.Mul(decimal.NewFromInt(f.Side.Sign()))
		sum.bought[f.Symbol] = sum.bought[f.Symbol].Add(signed)
		sum.cash[f.Symbol] = sum.cash[f.Symbol].Sub(signed.Mul(f.Price))
		fills = append(fills, order.Event{Kind: order.KindFill, OrderID: g.ID, At: f.At, Fill: &f})
	}
	rng.Shuffle(n, func(i, j int) { fills[i], fills[j] = fills[j], fills[i] })
	return opening, fills, sum
}

// compare holds a book against the sums of its fills.
func (a account) compare(t *testing.T, b *order.Book) {
	t.Helper()
	earned := make(map[market.Symbol]decimal.Decimal)
	for _, one := range b.Trades() {
		earned[one.Symbol] = earned[one.Symbol].Add(one.Realised)
	}
	if held := b.Positions(); len(held) != len(a.cash) {
		t.Fatalf("%d positions, want %d", len(held), len(a.cash))
	}
	for s, cash := range a.cash {
		p, mark := b.Position(s), decimal.RequireFromString("51234.56789")
		if !earned[s].Equal(p.Realised) {
			t.Fatalf("%v: trades earned %v, the position realised %v", s, earned[s], p.Realised)
		}
		if !p.Quantity.Add(p.FeesInBase).Equal(a.bought[s]) {
			t.Fatalf("%v: %v is held and %v went for fees, %v was bought", s, p.Quantity, p.FeesInBase, a.bought[s])
		}
		worth, equity := earned[s].Add(p.Unrealised(mark)).Sub(p.FeesWorth), cash.Add(p.Quantity.Mul(mark))
		if !worth.Equal(equity) {
			t.Fatalf("%v: trades and the open position are worth %v, cash and what is held %v", s, worth, equity)
		}
	}
}
