package paper_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/data/provider"
	"candela/internal/trading/broker/paper"
	"candela/internal/trading/broker/paper/papertest"
	"candela/internal/trading/order"
	"candela/lib/market"
)

// spotJournal is the hash of the journal that the orders below made before there were perpetual futures: an
// account without them writes the same bytes.
const spotJournal = "45c7c78b13d84b754dc124ff6b25f918be44870c2e9332ea2ce4c442b9c7eb99"

// TestSpot_JournalIsByteForByte plays 10,000 random orders, cancels and prices.
func TestSpot_JournalIsByteForByte(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(7, 7))
	now, j, m := time.Unix(1_800_000_000, 0).UTC(), &papertest.Journal{}, papertest.NewMarket(papertest.BTCUSDT())
	b := paper.New(paper.Config{
		Journal: j, Market: m, Rates: paper.Usual(), Now: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler),
		Cash: map[string]decimal.Decimal{"USDT": dec("100000")},
	})
	if err := b.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.SnapshotEvery(1 << 30)
	last := 50_000.0
	at := func() float64 { return 48_000 + float64(rng.IntN(41))*100 }
	for n := range 10_000 {
		now = now.Add(time.Minute)
		o, c := last, at()
		last = c
		b.Observe(provider.Event{
			Sub: provider.Sub{Symbol: btc(), Interval: market.Minute1}, Kind: provider.Closed, Price: c, At: now,
			Bar: market.Bar{T: now.Unix() / 60 * 60, O: o, H: max(o, c, at()), L: min(o, c, at()), C: c, V: rng.Float64()},
		}, provider.Clock{})
		now = now.Add(time.Second)
		m.Set(btc(), order.Quote{Last: decimal.NewFromFloat(last), At: now})
		if n%7 == 0 {
			if open, _ := b.Open(t.Context()); len(open) > 3 {
				_, _ = b.Cancel(t.Context(), open[0].Handle())
			}
		}
		r := request(move{Kind: rng.IntN(9), A: rng.IntN(1000), B: rng.IntN(1000), C: rng.IntN(1000), D: rng.IntN(1000)})
		head := r.Spec("o"+strconv.Itoa(n), "")
		if legs := head.Legs(); len(legs) > 0 {
			orders := []order.Spec{head}
			for i, leg := range legs {
				leg.ID = fmt.Sprintf("o%d.%d", n, i)
				orders = append(orders, leg)
			}
			_, _ = b.SubmitGroup(t.Context(), orders)
		} else {
			_, _ = b.Submit(t.Context(), head)
		}
	}
	hash, lines := sha256.New(), 0
	for line, err := range j.Entries(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		hash.Write(line)
		hash.Write([]byte{'\n'})
		lines++
	}
	if got := hex.EncodeToString(hash.Sum(nil)); got != spotJournal || lines < 10_000 {
		t.Errorf("%d entries have the hash %s, want %s", lines, got, spotJournal)
	}
}
