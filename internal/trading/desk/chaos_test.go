package desk_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/store/ledger/storetest"
	"candela/internal/testkit/longtest"
	"candela/internal/trading/broker"
	"candela/internal/trading/broker/brokertest"
	"candela/internal/trading/desk/desktest"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
)

func TestStore_KeepsTheLedgersPromises(t *testing.T) {
	t.Parallel()
	storetest.RunOrders(t, func(*testing.T, string) storetest.OrderStore { return desktest.NewStore() })
	var mu sync.Mutex
	stores := make(map[string]*desktest.Store)
	storetest.RunSnapshots(t, func(_ *testing.T, dir string) storetest.SnapshotStore {
		mu.Lock()
		defer mu.Unlock()
		if stores[dir] == nil {
			stores[dir] = desktest.NewStore()
		}
		return stores[dir]
	})
}

// chaos is a venue, a desk and a die.
type chaos struct {
	*world
	die   *rand.Rand
	price int64
	said  []string // history for debugging
}

func (c *chaos) note(format string, args ...any) {
	c.said = append(c.said, time.Now().Format("05.000 ")+fmt.Sprintf(format, args...))
}

func (c *chaos) one(of int) bool { return c.die.IntN(of) == 0 }

// TestChaos_BooksAreTheVenues lets everything happen at random for a while: orders
// and cancels, every fate of a request, prices that move, reports that are lost,
// orders placed elsewhere, a venue that does not answer, a store that fails, desks
// that die. Afterwards, when all is calm, the desk's orders and positions are the
// venue's, no order is there twice, and what was refused never arrived.
func TestChaos_BooksAreTheVenues(t *testing.T) {
	t.Parallel()
	for n := range longtest.Pick[uint64](8, 20) {
		seed := longtest.Seed() + n
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.policy.MaxOpenOrders, w.policy.MaxSymbolOpenOrders, w.policy.MaxOrdersPerMinute = guard.Limit{Off: true}, guard.Limit{Off: true}, guard.Limit{Off: true}
				w.policy.MaxDailyLoss, w.policy.PriceBandPct = guard.Limit{Off: true}, guard.Limit{Off: true}
				c := &chaos{world: w, die: rand.New(rand.NewPCG(seed, 1)), price: 50000}
				w.start()
				defer func() { w.stop() }()
				time.Sleep(2 * time.Second)
				for range 40 {
					c.step()
				}
				c.calm()
				if t.Failed() {
					t.Log(strings.Join(c.said, "\n"))
				}
			})
		})
	}
}

// step does one thing.
func (c *chaos) step() {
	switch n := c.die.IntN(20); {
	case n < 7:
		c.order()
	case n < 10:
		c.cancel()
	case n < 13:
		c.price += c.die.Int64N(2001) - 1000
		c.note("the price is %d", c.price)
		c.market.Set(brokertest.MemorySymbol(), order.Quote{Last: decimal.NewFromInt(c.price)})
		c.venue.SetPrice(decimal.NewFromInt(c.price))
	case n == 13:
		c.note("the stream is cut")
		c.venue.Drop()
	case n == 14:
		id := fmt.Sprintf("theirs-%d", len(c.said))
		c.note("%s is placed elsewhere", id)
		c.venue.Place(order.Spec{
			ID: id, Symbol: brokertest.MemorySymbol(), Side: order.Buy, Type: order.Limit, Quantity: dec("0.01"), Price: decimal.NewFromInt(c.price - c.die.Int64N(500)),
		})
	case n == 15:
		c.note("the venue is deaf")
		c.venue.Deaf(errors.New("no answer"))
		time.Sleep(time.Duration(c.die.IntN(20)) * time.Second)
		c.venue.Deaf(nil)
		c.note("the venue hears again")
	case n == 16:
		c.note("the store fails")
		c.store.Fail(errors.New("no room"))
		c.order()
		time.Sleep(time.Duration(c.die.IntN(5)) * time.Second)
		c.store.Fail(nil)
		c.resume()
		c.note("the store works again")
	case n == 17:
		c.note("the desk dies")
		c.kill()
		c.start()
		time.Sleep(time.Duration(c.die.IntN(5)) * time.Second)
	default:
		time.Sleep(time.Duration(c.die.IntN(5000)) * time.Millisecond)
	}
	time.Sleep(time.Duration(c.die.IntN(1500)) * time.Millisecond)
}

func (c *chaos) resume() {
	if _, err := c.Resume(c.t.Context(), "owner"); err != nil {
		c.t.Error(err)
	}
}

// fate arms the venue for the next request.
func (c *chaos) fate() {
	faults := []brokertest.Fault{
		{},
		{},
		{},
		{},
		{Fate: broker.ErrNotSent},
		{Fate: broker.ErrRejected},
		{Fate: broker.ErrUnknown},
		{Fate: broker.ErrUnknown, Done: true},
		{Hang: true},
		{Hang: true, Done: true},
	}
	f := faults[c.die.IntN(len(faults))]
	c.note("the next request: %+v", f)
	c.venue.Fail(f)
}

// order asks for an order and does not always wait for the answer.
func (c *chaos) order() {
	r := buy(decimal.New(c.die.Int64N(50)+1, -2).String())
	if c.one(3) {
		r.Side = order.Sell
	}
	if c.one(2) {
		r.Type, r.Price = order.Limit, decimal.NewFromInt(c.price+c.die.Int64N(1001)-500)
	}
	c.fate()
	c.note("%v %v %v at %v", r.Side, r.Type, r.Quantity, r.Price)
	d := c.Desk
	place := func() { _, _ = d.Place(c.t.Context(), caller(), r) } // what came of it is compared at the end
	if c.one(2) {
		go place()
	} else {
		place()
	}
}

// cancel cancels some open order.
func (c *chaos) cancel() {
	open, err := c.Orders(c.t.Context(), caller(), true)
	if err != nil || len(open) == 0 {
		return
	}
	o := open[c.die.IntN(len(open))]
	c.fate()
	c.note("cancel %s", o.ID)
	d := c.Desk
	go func() { _, _ = d.Cancel(c.t.Context(), caller(), o.ID) }()
}

// calm waits until everything must be settled, and compares.
func (c *chaos) calm() {
	c.t.Helper()
	c.note("calm")
	c.venue.Fail() // what is armed stays armed for what is on its way
	time.Sleep(5 * time.Minute)
	c.resume()
	time.Sleep(3 * time.Minute)
	c.equal()
	all, err := c.Orders(c.t.Context(), caller(), false)
	if err != nil {
		c.t.Fatal(err)
	}
	for _, o := range all {
		switch n := c.taken(o.ID); {
		case o.External:
		case n > 1:
			c.t.Errorf("the venue has %s %d times", o.ID, n)
		case n == 1 && (o.Status == order.Denied || o.Status == order.Rejected):
			c.t.Errorf("order %s is %v and at the venue", o.ID, o.Status)
		case o.NeedsQuery():
			c.t.Errorf("order %s is still %v", o.ID, o.Status)
		}
	}
	c.positions()
	if s := c.Status().State; s.Level() != guard.Active {
		c.t.Errorf("trading is %v: %s", s.Level(), s.Explain())
	}
}

// positions holds the desk's position against the venue's balance.
func (c *chaos) positions() {
	c.t.Helper()
	held := decimal.Zero
	if p, err := c.Positions(c.t.Context(), caller()); err != nil {
		c.t.Error(err)
	} else if len(p) > 0 {
		held = p[0].Quantity
	}
	all, err := c.venue.Holdings(c.t.Context())
	if err != nil {
		c.t.Fatal(err)
	}
	i := slices.IndexFunc(all, func(h order.Holding) bool { return h.Asset == "BTC" })
	if i >= 0 && !all[i].Quantity.Equal(held) || i < 0 && !held.IsZero() {
		c.t.Errorf("the position is %s, the venue holds %+v", held, all)
	}
}
