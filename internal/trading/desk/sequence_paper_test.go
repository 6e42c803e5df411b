package desk_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/data/provider"
	"candela/internal/testkit/longtest"
	"candela/internal/trading/broker/paper/papertest"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/market"
)

// paperSequence is a random sequence of orders, bars, cancels, moves, halts and restarts on paper.
type paperSequence struct {
	*onPaper
	random *rand.Rand
	log    []string
	most   decimal.Decimal // exposure that the policy allows
}

// TestSequences_OnPaper holds after each step of random sequences that the book is the paper
// account's, that the account is not short, and that its exposure stays within the policy. After
// each sequence what is open is the same in both, stops close no more than is held, and a position
// lacks its stop if and only if a restriction says so.
func TestSequences_OnPaper(t *testing.T) {
	t.Parallel()
	for n := range uint64(longtest.Pick(32, 2000)) {
		seed := longtest.Seed()<<20 + n
		synctest.Test(t, func(t *testing.T) {
			s := &paperSequence{onPaper: newPaper(t), random: rand.New(rand.NewPCG(seed, 23)), most: dec("60000")}
			s.stop()
			s.policy.MaxSymbolExposure = guard.Limit{Value: s.most}
			s.policy.MaxDailyLoss, s.policy.MaxOrdersPerMinute = guard.Limit{Off: true}, guard.Limit{Off: true}
			s.policy.DuplicateWindow = 0
			s.open()
			defer func() { s.stop() }()
			time.Sleep(2 * time.Second)
			s.run()
			if t.Failed() {
				t.Logf("seed %d: %v", seed, s.log)
			}
		})
		if t.Failed() {
			return
		}
	}
}

func (s *paperSequence) note(format string, args ...any) {
	s.log = append(s.log, fmt.Sprintf(format, args...))
}

func (s *paperSequence) run() {
	for range 4 + s.random.IntN(8) {
		s.step()
		time.Sleep(time.Duration(1+s.random.IntN(3)) * time.Second)
		synctest.Wait()
		s.compare()
		if s.t.Failed() {
			return
		}
	}
	if _, err := s.Resume(s.t.Context(), "candela resume"); err != nil {
		s.t.Error(err)
	}
	time.Sleep(3 * time.Minute)
	s.compare()
	s.settled()
}

func (s *paperSequence) step() {
	switch s.random.IntN(11) {
	case 0, 1, 2:
		quantity := decimal.New(int64(1000+s.random.IntN(40_000)), -5).String()
		r := bracket(buy(quantity))
		if s.random.IntN(2) == 0 {
			r = bracket(limit(quantity, "49000"))
		}
		p, err := s.Place(s.t.Context(), caller(), r)
		s.note("enter %v %s: %v %v", r.Type, quantity, p.Status, err)
	case 3, 4, 5:
		s.bar()
	case 6:
		if o, ok := s.pick(func(o order.Order) bool { return o.Role == order.Entry }); ok {
			o, err := s.Cancel(s.t.Context(), caller(), o.ID)
			s.note("cancel the entry: %v %v", o.Status, err)
		}
	case 7:
		s.move()
	case 8:
		s.exit()
	case 9:
		s.note("restart")
		s.stop()
		s.open()
		time.Sleep(5 * time.Second)
	case 10:
		s.haltOrResume()
	}
}

// bar is a minute of prices that may reach entries, stops or targets.
func (s *paperSequence) bar() {
	low, high := 49_900-s.random.IntN(2500), 50_100+s.random.IntN(6000)
	if s.random.IntN(2) == 0 {
		high = 50_000
	} else {
		low = 50_000
	}
	volume := 0.05 + s.random.Float64()
	s.minutes++
	s.note("bar from %d to %d, %.3f traded", low, high, volume)
	s.paper.Observe(provider.Event{
		Sub: provider.Sub{Symbol: papertest.BTCUSDT().Symbol, Interval: market.Minute1}, Kind: provider.Closed, At: time.Now().Add(time.Hour),
		Bar: market.Bar{T: time.Now().Unix() + 60*s.minutes, O: 50000, H: float64(high), L: float64(low), C: 50000, V: volume},
	}, provider.Clock{})
}

// pick returns one of the open orders that pass.
func (s *paperSequence) pick(pass func(order.Order) bool) (order.Order, bool) {
	var found []order.Order
	for _, o := range s.store.Book(owner).Open() {
		if pass(o) {
			found = append(found, o)
		}
	}
	if len(found) == 0 {
		return order.Order{}, false
	}
	return found[s.random.IntN(len(found))], true
}

// move moves a stop nearer to the market.
func (s *paperSequence) move() {
	if o, ok := s.pick(func(o order.Order) bool { return o.IsStop() && o.Status == order.Accepted }); ok {
		next := pair(o.Remaining().String())
		next.Replaces, next.Protect.StopLoss = o.ID, o.StopPrice.Add(dec("100"))
		p, err := s.Place(s.t.Context(), caller(), next)
		s.note("move the stop to %v: %v %v", next.Protect.StopLoss, p.Status, err)
	}
}

// exit sells a part of what is held, and releases the legs that hold it.
func (s *paperSequence) exit() {
	r := buy("1")
	r.Side, r.ReduceOnly, r.Quantity = order.Sell, true, s.held().Div(decimal.NewFromInt(int64(1+s.random.IntN(3)))).Truncate(5)
	if r.Quantity.IsPositive() {
		p, err := s.Place(s.t.Context(), caller(), r)
		s.note("exit %v: %v %v", r.Quantity, p.Status, err)
	}
}

func (s *paperSequence) haltOrResume() {
	if s.restricted(guard.OwnerHalt) {
		_, err := s.Resume(s.t.Context(), "candela resume")
		s.note("resume: %v", err)
		return
	}
	_, err := s.Halt(s.t.Context(), "candela halt", "")
	s.note("halt: %v", err)
}

// held returns what the paper account holds.
func (s *paperSequence) held() decimal.Decimal {
	all, err := s.paper.Holdings(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	for _, h := range all {
		if h.Symbol == papertest.BTCUSDT().Symbol || h.Asset == "BTC" {
			return h.Quantity
		}
	}
	return decimal.Zero
}

// compare holds that the book is the paper account's.
func (s *paperSequence) compare() {
	s.t.Helper()
	book, held := s.store.Book(owner), s.held()
	for _, o := range book.Orders() {
		if o.NeedsQuery() || o.Status == order.New {
			return
		}
	}
	if p := book.Position(papertest.BTCUSDT().Symbol); !p.Held("BTC").Equal(held) || held.IsNegative() {
		s.t.Errorf("the position is %v, paper holds %v", p.Held("BTC"), held)
	}
	open, err := s.paper.Open(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	there := make(map[string]order.Report)
	worth := held
	for _, r := range open {
		if there[r.ID] = r; r.Side == order.Buy {
			worth = worth.Add(r.Quantity.Sub(r.Filled))
		}
	}
	if worth = worth.Mul(dec("47000")); worth.GreaterThan(s.most.Mul(dec("1.06"))) {
		s.t.Errorf("the exposure is %v", worth)
	}
	for _, o := range book.Open() {
		r, ok := there[o.ID]
		if !ok || r.Status != o.Status || !r.Quantity.Equal(o.Quantity) || !r.Filled.Equal(o.Filled) {
			s.t.Errorf("%v %s is %v, %v of %v here, and %v, %v of %v on paper", o.Role, o.ID, o.Status, o.Filled, o.Quantity, r.Status, r.Filled, r.Quantity)
		}
	}
	if len(book.Open()) != len(open) {
		s.t.Errorf("%d orders are open here, %d on paper", len(book.Open()), len(open))
	}
}

// settled holds that stops close what is held, or a restriction says that they do not.
func (s *paperSequence) settled() {
	s.t.Helper()
	held, stops := s.held(), decimal.Zero
	for _, o := range s.store.Book(owner).Open() {
		if o.IsStop() && o.Status != order.Held {
			stops = stops.Add(o.Remaining())
		}
	}
	facts := guard.Gather(s.policy, s.store.Book(owner), guard.Prices{Now: time.Now()}, papertest.BTCUSDT().Symbol, order.Paper)
	if stops.GreaterThan(held) || facts.OpenSell.GreaterThan(held) {
		s.t.Errorf("stops close %v and orders sell %v of %v", stops, facts.OpenSell, held)
	}
	if bare := held.Sub(stops); bare.Mul(dec("48000")).GreaterThan(dec("5")) != s.restricted(guard.Unprotected) {
		s.t.Errorf("%v of %v has no stop, and the restrictions are %+v", bare, held, s.Status().State.Restrictions)
	}
}
