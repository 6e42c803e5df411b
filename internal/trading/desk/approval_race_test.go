package desk_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/kit/principal"
	"candela/internal/testkit/longtest"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
)

// race is a desk whose orders wait while everything that ends a wait happens at once.
type race struct {
	*world
	random *rand.Rand
	acts   sync.WaitGroup

	mu      sync.Mutex // guards the desk and what follows
	orders  map[string]order.Order
	refused map[string]bool      // orders that the owner refused, or the client withdrew, with success
	ended   map[string]time.Time // when the token was revoked
	killed  time.Time            // when the program was, zero if it was not
	halts   [][2]time.Time       // from the answer to a halt to the call of the next resume
}

// TestApproval_Races has hundreds of orders that wait while the owner says yes and no, the
// client cancels, the price moves, logins end, trading halts and the program is killed, much
// of it at the same moment. An order is sent at most once, and never after a no, its end, a
// halt, or the revocation of its login.
func TestApproval_Races(t *testing.T) { //nolint:tparallel // its subtest waits for parts that are
	t.Parallel()
	worlds := longtest.Pick(16, 1000)
	var mu sync.Mutex
	sent, unsent := 0, 0
	t.Run("worlds", func(t *testing.T) { //nolint:paralleltest // whose parts are parallel, and end before the sum
		for part := range 4 {
			t.Run(strconv.Itoa(part), func(t *testing.T) {
				t.Parallel()
				for seed := part; seed < worlds; seed += 4 {
					synctest.Test(t, func(t *testing.T) {
						r := newRace(t, uint64(seed))
						r.run()
						passed := r.check()
						mu.Lock()
						defer mu.Unlock()
						sent, unsent = sent+passed, unsent+len(r.orders)-passed
					})
				}
			})
		}
	})
	t.Logf("%d orders were sent, %d were not", sent, unsent)
	if sent < worlds || unsent < worlds || sent+unsent != 10*worlds {
		t.Errorf("of %d orders %d were sent and %d not: the races are too one-sided", 10*worlds, sent, unsent)
	}
}

func newRace(t *testing.T, seed uint64) *race {
	t.Helper()
	r := &race{
		world: newWorld(t), random: rand.New(rand.NewPCG(seed, 5)), orders: make(map[string]order.Order),
		refused: make(map[string]bool), ended: make(map[string]time.Time),
	}
	r.policy.Approval.Above, r.policy.Approval.Expires = guard.Limit{Value: dec("1000")}, time.Minute
	r.start()
	time.Sleep(2 * time.Second)
	return r
}

// desk returns the running desk.
func (r *race) desk() interface {
	Approve(ctx context.Context, id, by string) (order.Order, error)
	Refuse(ctx context.Context, id, by, reason string) (order.Order, error)
	Cancel(ctx context.Context, caller principal.Caller, id string) (order.Order, error)
	Halt(ctx context.Context, by, reason string) (guard.State, error)
	Resume(ctx context.Context, by string) (guard.State, error)
	RevokeTokens(keys ...string)
} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.Desk
}

// run places ten orders and lets everything happen to them.
func (r *race) run() {
	ctx := r.t.Context()
	for i := range 10 {
		c := caller()
		c.Key = "token-" + strconv.Itoa(i%2)
		c.Expires = time.Now().Add(time.Hour)
		ask := limit("0.5", strconv.Itoa(49000+i))
		if r.random.IntN(2) == 0 {
			ask = buy("0.5" + strconv.Itoa(i))
		}
		o, err := r.Place(ctx, c, ask)
		if err != nil || o.Status != order.PendingApproval {
			r.t.Fatalf("order %d is %v, %v", i, o.Status, err)
		}
		r.orders[o.ID] = o.Order
		for range 1 + r.random.IntN(2) {
			r.later(func() { _, _ = r.desk().Approve(ctx, o.ID, owned) })
		}
		if r.random.IntN(3) == 0 {
			r.later(func() { _, err := r.desk().Refuse(ctx, o.ID, owned, ""); r.no(o.ID, err == nil) })
		}
		if r.random.IntN(3) == 0 {
			r.later(func() {
				got, err := r.desk().Cancel(ctx, c, o.ID)
				r.no(o.ID, err == nil && got.Status == order.Canceled && got.NotSent)
			})
		}
	}
	price, token := []string{"50100", "50500", "49800"}[r.random.IntN(3)], "token-"+strconv.Itoa(r.random.IntN(2))
	for _, act := range []func(){
		func() { r.price(price) },
		func() { r.revoke(token) },
		func() { r.haltAndResume(ctx) },
		r.restart,
	} {
		if r.random.IntN(2) == 0 {
			r.later(act)
		}
	}
	r.acts.Wait()
	time.Sleep(10 * time.Minute)
	r.stop()
}

// later runs something at one of few moments, at which much else happens.
func (r *race) later(do func()) {
	moments := []time.Duration{0, time.Second, 20 * time.Second, 40 * time.Second, 59 * time.Second, time.Minute}
	at := moments[r.random.IntN(len(moments))]
	r.acts.Go(func() {
		time.Sleep(at)
		do()
	})
}

// no records that an order must not be sent.
func (r *race) no(id string, success bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refused[id] = r.refused[id] || success
}

func (r *race) revoke(token string) {
	r.desk().RevokeTokens(token)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended[token] = time.Now()
}

func (r *race) haltAndResume(ctx context.Context) {
	if _, err := r.desk().Halt(ctx, "candela halt", ""); err != nil {
		return // the desk has stopped
	}
	from := time.Now()
	time.Sleep(5 * time.Second)
	r.mu.Lock()
	r.halts = append(r.halts, [2]time.Time{from, time.Now()})
	r.mu.Unlock()
	_, _ = r.desk().Resume(ctx, "candela resume")
}

func (r *race) restart() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.killed = time.Now()
	r.kill()
	r.start()
}

// check compares each order with the venue's orders and returns how many were sent.
func (r *race) check() (sent int) {
	taken := make(map[string][]time.Time)
	for _, o := range r.venue.Orders() {
		taken[o.ID] = append(taken[o.ID], r.approvedAt(o.ID))
	}
	for id, o := range r.orders {
		now, err := r.store.Order(r.t.Context(), owner, id)
		if err != nil {
			r.t.Fatal(err)
		}
		if now.Status == order.PendingApproval || now.Status == order.New || now.Status == order.Submitted {
			r.t.Errorf("%s is still %v", id, now.Status)
		}
		times := taken[id]
		if len(times) == 0 {
			continue
		}
		sent++
		if why := r.wrong(o, now, times); why != "" {
			r.t.Errorf("order %s, %v %s: %s", id, now.Status, now.Reason, why)
		}
	}
	return sent
}

// approvedAt returns when an order was recorded as approved and sent, which is once and in
// one commit.
func (r *race) approvedAt(id string) time.Time {
	var kinds []order.Kind
	var at time.Time
	for _, e := range r.store.Audit() {
		if e.Event.OrderID == id && (e.Event.Kind == order.KindApproved || e.Event.Kind == order.KindSent) {
			kinds = append(kinds, e.Event.Kind)
			at = e.Event.At
		}
	}
	if !slices.Equal(kinds, []order.Kind{order.KindApproved, order.KindSent}) {
		r.t.Errorf("order %s was at the venue after %v", id, kinds)
	}
	return at
}

// wrong returns why an order must not have been sent, "" if it might.
func (r *race) wrong(asked, now order.Order, times []time.Time) string {
	at := times[0]
	switch revoked, gone := r.ended[asked.Token]; {
	case len(times) > 1:
		return fmt.Sprintf("sent %d times", len(times))
	case r.refused[asked.ID], now.Status == order.Denied, now.NotSent:
		return "sent in spite of a no"
	case !at.Before(asked.Approval.Expires):
		return fmt.Sprintf("approved at %v, after its end at %v", at, asked.Approval.Expires)
	case gone && at.After(revoked) && !revoked.Equal(r.killed): // a process that is killed may not hear of it
		return "approved after its login was revoked"
	}
	for _, h := range r.halts {
		if at.After(h[0]) && at.Before(h[1]) {
			return "approved while trading was halted"
		}
	}
	return ""
}
