package desk_test

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/testkit/longtest"
	"candela/internal/trading/broker/brokertest"
	"candela/internal/trading/order"
	"candela/lib/fault"
)

// planSequence is a random sequence of calls, fills, prices, faults and restarts, with what the plan may
// be after it: a call whose outcome is not known leaves two possibilities.
type planSequence struct {
	planVenue
	t      *testing.T
	random *rand.Rand
	models []planModel
	log    []string
	seen   int // events that the models and the book have
	view   *order.Book
	prices int // makes every price another
	count  *planCount

	origins map[string]order.Origin
	apart   decimal.Decimal // what exits close that had no answer before the call
	dying   bool            // the desk dies during the next call
	backup  *planBackup     // nil before there is one
}

// planRounds is how many sequences of a plan each venue runs in the short form.
var planRounds = flag.Int("plans", 12, "sequences of a plan at each venue")

// planSeed is a sequence that failed, to be repeated alone.
var planSeed = flag.Uint64("plan", 0, "seed of the only sequence of a plan at each venue")

// planCount is what all sequences did.
type planCount struct {
	mu       sync.Mutex
	steps    map[string]int
	compared int // with every line in place
	excused  int // with a restriction that says what is not
	measured int // times at the venue in which a call left a position without a stop

	longest time.Duration // of these
}

// planWorlds are the venues of the sequences.
func planWorlds() map[string]func(t *testing.T, seed uint64) planVenue {
	return map[string]func(t *testing.T, seed uint64) planVenue{
		"paper": func(t *testing.T, _ uint64) planVenue { t.Helper(); return newPlanOnPaper(t) },
		"memory like Binance": func(t *testing.T, seed uint64) planVenue {
			t.Helper()
			return newPlanInMemory(t, brokertest.LikeBinance, false, seed%2 == 0)
		},
		"memory like Alpaca": func(t *testing.T, _ uint64) planVenue {
			t.Helper()
			return newPlanInMemory(t, brokertest.LikeAlpaca, false, false)
		},
		"binance": func(t *testing.T, seed uint64) planVenue {
			t.Helper()
			return newPlanAtFake(t, seed, deepBinance, "BTC", true)
		},
		"alpaca": func(t *testing.T, seed uint64) planVenue {
			t.Helper()
			return newPlanAtFake(t, seed, alpacaGroups, "", true)
		},
	}
}

// TestPlan_Sequences holds after random sequences of entries, purchases, stops placed alone, exits, moves,
// trails, targets, cancels, fills, refusals, lost answers, prices through a stop, halts and crashes that
// the orders at the venue are those of the plan, which a model keeps by the rules alone; and at every
// moment that no stop is wider than the plan and stops close no more than is held.
func TestPlan_Sequences(t *testing.T) {
	t.Parallel()
	for name, open := range planWorlds() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			count := &planCount{steps: make(map[string]int)}
			for n := range longtest.Pick(*planRounds, 2000) {
				seed := cmp.Or(*planSeed, longtest.Seed()<<24+uint64(n))
				synctest.Test(t, func(t *testing.T) { runPlanSequence(t, open(t, seed), seed, count) })
				if t.Failed() || *planSeed != 0 {
					return
				}
			}
			t.Logf("%d compared, %d with a restriction; %d times without a stop, the longest %v; steps %v", count.compared, count.excused, count.measured, count.longest, count.steps)
		})
	}
}

func runPlanSequence(t *testing.T, v planVenue, seed uint64, count *planCount) {
	t.Helper()
	s := &planSequence{planVenue: v, t: t, random: rand.New(rand.NewPCG(seed, 31)), models: make([]planModel, 1), count: count, view: order.NewBook(owner), origins: make(map[string]order.Origin)}
	time.Sleep(2 * time.Second)
	for range 5 + s.random.IntN(10) {
		s.act()
		time.Sleep(time.Duration(s.random.IntN(1500)) * time.Millisecond)
		s.watch()
		if s.random.IntN(3) == 0 {
			s.compare(false)
		}
		if t.Failed() {
			break
		}
	}
	s.compare(true)
	if t.Failed() {
		t.Logf("seed %d:\n%s", seed, strings.Join(s.log, "\n"))
	}
}

func (s *planSequence) note(format string, args ...any) {
	s.log = append(s.log, fmt.Sprintf(format, args...))
}

// act does one thing.
func (s *planSequence) act() {
	type step struct {
		name  string
		share int
		do    func()
	}
	steps := []step{
		{"enter", 4, s.enter},
		{"buy", 2, s.buy},
		{"protect", 4, s.protect},
		{"replace", 2, s.replace},
		{"exit", 4, s.exit},
		{"cancel", 2, s.cancelLeg},
		{"walk", 2, s.walk},
		{"trade", 1, s.tradeTarget},
		{"fault", 2, s.fail},
		{"restart", 1, s.again},
		{"halt", 1, s.halt},
		{"restore", 2, s.restore},
		{"kill", 1, s.killDuring},
	}
	sum := 0
	for _, one := range steps {
		sum += one.share
	}
	for n := s.random.IntN(sum); ; steps = steps[1:] {
		if n -= steps[0].share; n < 0 {
			s.tally(func(c *planCount) { c.steps[steps[0].name]++ })
			steps[0].do()
			return
		}
	}
}

// price returns a price that no other call has, some thousandths away from the last one.
func (s *planSequence) price(sign int64, least, most int) decimal.Decimal {
	s.prices++
	away := decimal.New(sign*int64(least+s.random.IntN(most-least)), -3)
	return s.last().Add(s.last().Mul(away)).Round(1).Add(decimal.New(int64(s.prices%100), -2).Mul(dec("0.01").Div(dec("0.01")))).Round(2)
}

// some returns random prices of a stop, a trail or a target.
func (s *planSequence) some() order.Protection {
	var p order.Protection
	if n := s.random.IntN(10); n < 6 {
		p.StopLoss = s.price(-1, 5, 60)
	} else if n < 8 && s.trails() {
		p.TrailPercent = decimal.New(int64(100+s.random.IntN(400)), -2)
	}
	if p.IsZero() || s.random.IntN(2) == 0 {
		p.TakeProfit = s.price(1, 5, 60)
	}
	return p
}

// place asks for an order and changes the models if it was taken.
func (s *planSequence) place(what string, r order.Request, change func(*planModel, order.Placed) bool) {
	r.Symbol = s.symbol()
	synctest.Wait()
	s.learn()
	waiting := s.exiting()
	s.apart = waiting
	measured := s.measure()
	p, err := s.call(r)
	measured(p)
	s.note("%s %v %v %v, %+v, replaces %q: %s %v %v", what, r.Side, r.Type, r.Quantity, r.Protect, r.Replaces, p.ID, p.Status, err)
	defer s.learn()
	switch {
	case err == nil && p.Status == order.New: // it waits, and may be denied
		s.fork(func(m *planModel) { change(m, p) })
	case err == nil:
		before, outcomes := s.models, []decimal.Decimal{waiting}
		if waiting.IsPositive() { // the exits may have ended before it was its turn
			outcomes = append(outcomes, decimal.Zero)
		}
		s.models = nil
		for _, s.apart = range outcomes {
			for _, m := range before {
				if m = m.clone(); change(&m, p) {
					s.models = append(s.models, m)
				}
			}
		}
		if len(s.models) == 0 {
			s.t.Errorf("%s was taken, and it is not clear what it is for: %v", what, before)
			s.models = before
		}
	case fault.Of(err) == nil || fault.Of(err).Code == "outcome_unknown" || p.ID == "" && fault.KindOf(err) == fault.Unavailable:
		s.fork(func(m *planModel) { change(m, p) })
	}
}

// exiting returns what exits close that have no answer, as far as events are known.
func (s *planSequence) exiting() decimal.Decimal {
	var sum decimal.Decimal
	for _, o := range s.view.Closing(s.symbol()) {
		sum = sum.Add(o.Remaining())
	}
	return sum
}

// call places an order. If the desk is to die, it does while the call is on its way.
func (s *planSequence) call(r order.Request) (order.Placed, error) {
	if !s.dying {
		return s.desk().Place(s.t.Context(), caller(), r)
	}
	var p order.Placed
	var err error
	done, place := make(chan struct{}), s.desk().Place
	go func() {
		defer close(done)
		p, err = place(s.t.Context(), caller(), r)
	}()
	time.Sleep(time.Duration(s.random.IntN(120)) * time.Millisecond)
	s.note("killed")
	s.restart(true)
	<-done
	time.Sleep(3 * time.Second)
	return p, err
}

// fork adds what the plan is if a call was carried out.
func (s *planSequence) fork(change func(*planModel)) {
	for _, m := range s.models {
		next := m.clone()
		change(&next)
		s.models = append(s.models, next)
	}
	if len(s.models) > 64 {
		s.models = s.models[:64]
	}
}

func (s *planSequence) enter() {
	r := order.Request{Side: order.Buy, Type: order.Market, Quantity: s.lot(s.random), Protect: s.some()}
	if !r.Protect.HasStop() && s.random.IntN(2) == 0 {
		r.Protect.StopLoss = s.price(-1, 5, 60)
	}
	if s.flatOnly() {
		return
	}
	s.place("enter", r, func(m *planModel, p order.Placed) bool { m.enter(p.ID, r.Protect); return true })
}

// flatOnly reports whether the venue takes no entry with legs now.
func (s *planSequence) flatOnly() bool { return s.symbol().Venue == "alpaca" && s.held().IsPositive() }

func (s *planSequence) buy() {
	r := order.Request{Side: order.Buy, Type: order.Market, Quantity: s.lot(s.random)}
	s.place("buy", r, func(*planModel, order.Placed) bool { return true })
}

// slack is what a fee may have taken from a purchase.
func (s *planSequence) slack(quantity decimal.Decimal) decimal.Decimal {
	if s.fee() == "" {
		return decimal.Zero
	}
	return decimal.Min(quantity.Shift(-2), s.view.Position(s.symbol()).Fees[s.fee()])
}

// holds returns what the venue holds, and what it took from elsewhere as a fee.
func (s *planSequence) holds() decimal.Decimal {
	p := s.book().Position(s.symbol())
	return s.held().Add(p.Fees[s.fee()]).Sub(p.FeesInBase)
}

// least is the smallest quantity that the venue trades.
func (s *planSequence) least() decimal.Decimal {
	if s.symbol().Venue == "alpaca" {
		return s.step()
	}
	return decimal.Max(s.step(), dec("5").DivRound(s.last(), 8))
}

// protect sets prices of the position, of what has no stop, of a line or of a part.
func (s *planSequence) protect() {
	m := s.models[0]
	quantities := []decimal.Decimal{m.held, m.bare(), m.bare().Div(dec("2"))}
	for _, l := range m.lines {
		quantities = append(quantities, l.quantity, l.quantity.Div(dec("3")))
	}
	quantity := order.RoundDown(quantities[s.random.IntN(len(quantities))], s.step())
	if !quantity.IsPositive() {
		return
	}
	r := order.Request{Side: order.Sell, Type: order.Market, Quantity: quantity, ReduceOnly: true, Protect: s.some()}
	s.place("protect", r, func(m *planModel, p order.Placed) bool {
		return m.protect(p.ID, "", quantity, r.Protect, s.apart, s.slack(quantity), s.least())
	})
}

// replace names a stop or target whose prices change.
func (s *planSequence) replace() {
	o, ok := s.leg()
	if !ok {
		return
	}
	r := order.Request{Side: order.Sell, Type: order.Market, Quantity: o.Remaining(), ReduceOnly: true, Protect: s.some(), Replaces: o.ID}
	s.place("replace", r, func(m *planModel, p order.Placed) bool {
		return m.protect(p.ID, m.lineOf(o.Origin), r.Quantity, r.Protect, s.apart, s.slack(r.Quantity), s.least())
	})
}

// leg returns an open stop or target that works.
func (s *planSequence) leg() (order.Order, bool) {
	legs := slices.DeleteFunc(s.book().Legs(s.symbol()), func(o order.Order) bool { return o.Status != order.Accepted && o.Status != order.PartiallyFilled })
	if len(legs) == 0 {
		return order.Order{}, false
	}
	return legs[s.random.IntN(len(legs))], true
}

func (s *planSequence) exit() {
	quantity := order.RoundDown(s.held().Div(decimal.NewFromInt(int64(1+s.random.IntN(4)))), s.step())
	if !quantity.IsPositive() {
		return
	}
	r := order.Request{Side: order.Sell, Type: order.Market, Quantity: quantity, ReduceOnly: true}
	s.place("exit", r, func(*planModel, order.Placed) bool { return true })
}

func (s *planSequence) cancelLeg() {
	o, ok := s.leg()
	if !ok {
		return
	}
	got, err := s.desk().Cancel(s.t.Context(), caller(), o.ID)
	s.note("cancel the %v %s: %v %v", o.Role, o.ID, got.Status, err)
	s.learn()
	change := func(m *planModel) { m.cancel(m.lineOf(o.Origin), o.IsStop(), !o.IsStop()) }
	if err == nil {
		for i := range s.models {
			change(&s.models[i])
		}
	} else {
		s.fork(change)
	}
}

// walk moves the price, perhaps through a stop or a target, and half of the time back.
func (s *planSequence) walk() {
	from := s.last()
	price := from.Mul(decimal.New(int64(960+s.random.IntN(80)), -3)).Round(1)
	s.note("price %v", price)
	s.move(price)
	time.Sleep(time.Duration(s.random.IntN(3000)) * time.Millisecond)
	if s.random.IntN(2) == 0 {
		s.note("price %v", from)
		s.move(from)
	}
}

func (s *planSequence) tradeTarget() {
	if o, ok := s.leg(); ok && !o.IsStop() {
		part := order.RoundDown(o.Remaining().Div(dec("2")), s.step())
		if part.IsPositive() {
			s.note("%v of the target %s is filled", part, o.ID)
			s.trade(o, part)
		}
	}
}

func (s *planSequence) fail() { s.note("fault: %.60s", s.fault(s.random)) }

func (s *planSequence) again() {
	kill := s.random.IntN(2) == 0
	s.note("restart, kill %v", kill)
	s.restart(kill)
	time.Sleep(3 * time.Second)
}

func (s *planSequence) halt() {
	_, err := s.desk().Halt(s.t.Context(), "candela halt", "")
	s.note("halt: %v", err)
	time.Sleep(time.Duration(s.random.IntN(3000)) * time.Millisecond)
	_, err = s.desk().Resume(s.t.Context(), "candela resume")
	s.note("resume: %v", err)
}

// killDuring lets the desk die while a call is on its way.
func (s *planSequence) killDuring() {
	s.dying = true
	[]func(){s.protect, s.exit, s.replace}[s.random.IntN(3)]()
	s.dying = false
}
