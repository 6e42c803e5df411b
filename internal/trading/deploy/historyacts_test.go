package deploy_test

import (
	"errors"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/kit/principal"
	"candela/internal/trading/broker"
	"candela/internal/trading/broker/brokertest"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
)

var errSilent = errors.New("memory: no answer")

// byHand is the owner, who trades beside his strategies.
func byHand() principal.Caller {
	return principal.Caller{Subject: owner, Key: "token-1", Client: "a client"}
}

// happen lets something happen.
func (h *history) happen() {
	all := []struct {
		what string
		do   func()
	}{
		{"fault", h.fault},
		{"fault", h.fault},
		{"silence", h.silence},
		{"kill", func() { h.through.kill() }},
		{"part", h.part},
		{"part", h.part},
		{"ended", h.expire},
		{"duplicate", h.repeat},
		{"late", h.remember},
		{"lost stream", h.at.Drop},
		{"by hand", h.byHand},
		{"by hand", h.byHand},
		{"not written", h.unwritten},
		{"halt", h.halt},
	}
	if h.random.IntN(2) == 0 {
		h.goOn()
	}
	one := all[h.random.IntN(len(all))]
	h.note("%s", one.what)
	h.seen.did[one.what]++
	one.do()
}

// troubled says that requests may fail until now.
func (h *history) troubled() { h.trouble = time.Now().Add(settling) }

// fault lets the next requests fail.
func (h *history) fault() {
	for range 1 + h.random.IntN(3) {
		fate := []error{broker.ErrRejected, broker.ErrNotSent, broker.ErrUnknown}[h.random.IntN(3)]
		f := brokertest.Fault{Fate: fate}
		switch {
		case errors.Is(fate, broker.ErrRejected):
			f.Passing = h.random.IntN(2) == 0
		case errors.Is(fate, broker.ErrUnknown):
			f.Done = h.random.IntN(2) == 0
			if !f.Done && h.random.IntN(2) == 0 {
				f.Late = time.Duration(1+h.random.IntN(20)) * time.Second
			}
		}
		h.note("%v %v %v %v", f.Fate, f.Done, f.Passing, f.Late)
		h.at.Fail(f)
	}
	h.failing = true
}

// silence lets the venue answer no question and report nothing, or answer again.
func (h *history) silence() {
	if h.silent {
		h.calm()
		return
	}
	h.silent = true
	h.at.Deaf(errSilent)
	h.at.Drop()
}

// calm ends the trouble at the venue.
func (h *history) calm() {
	if h.silent {
		h.at.Deaf(nil)
		h.troubled()
	}
	h.silent = false
	h.goOn()
}

// some returns one of the open orders at the venue.
func (h *history) some(is func(*order.Report) bool) (order.Report, bool) {
	var found []order.Report
	for _, r := range h.at.Orders() {
		if (r.Status == order.Accepted || r.Status == order.PartiallyFilled) && is(&r) {
			found = append(found, r)
		}
	}
	if len(found) == 0 {
		return order.Report{}, false
	}
	return found[h.random.IntN(len(found))], true
}

// part fills a part of an order that rests.
func (h *history) part() {
	r, found := h.some(func(r *order.Report) bool { return r.Type == order.Limit && !r.IsStop() })
	if !found {
		return
	}
	q := r.Quantity.Sub(r.Filled).Div(decimal.NewFromInt(int64(1 + h.random.IntN(4)))).Truncate(5)
	h.note("%s of the %v %s", q, r.Role, r.ID)
	if q.IsPositive() {
		h.at.Trade(r.ID, q)
	}
}

// expire ends an order at the venue by itself.
func (h *history) expire() {
	if r, found := h.some(func(*order.Report) bool { return true }); found {
		h.note("the %v %s", r.Role, r.ID)
		h.at.Expire(r.ID, "")
	}
}

// remember keeps what the venue says of its orders now, to be reported late.
func (h *history) remember() {
	if len(h.old) > 0 {
		for _, r := range h.old {
			h.at.Publish(r)
		}
		h.old = nil
		return
	}
	h.old = h.at.Orders()
}

// repeat reports all orders again, as they are.
func (h *history) repeat() {
	for _, r := range h.at.Orders() {
		h.at.Publish(r)
	}
}

// byHand lets the owner buy, or sell what no strategy holds.
func (h *history) byHand() {
	r := order.Request{Symbol: h.symbol, Side: order.Buy, Type: order.Market, Quantity: decimal.New(1+h.random.Int64N(500), -1)}
	switch h.random.IntN(4) {
	case 0:
		r.Side, r.ReduceOnly = order.Sell, true
	case 1:
		r.Type, r.TimeInForce, r.Price = order.Limit, order.GTC, decimal.NewFromFloat(h.bars.bars[h.bars.closed-1].C-0.4).Round(2)
	case 2:
		r.Protect.StopLoss = decimal.NewFromFloat(h.bars.bars[h.bars.closed-1].C - 3).Round(2)
	}
	_, err := h.Place(h.t.Context(), byHand(), r)
	h.note("%v %v %v: %v", r.Side, r.Quantity, r.Type, err)
}

// unwritten lets the store of the account fail for some seconds, or appends to the journals.
func (h *history) unwritten() {
	h.store.Fail(errors.New("the disk is full"))
	time.Sleep(time.Duration(1+h.random.IntN(5)) * time.Second)
	h.store.Fail(nil)
	h.troubled()
}

// halt halts trading, as the owner does.
func (h *history) halt() {
	_, err := h.Halt(h.t.Context(), "candela halt", "")
	h.note("%v", err)
	h.troubled()
}

// halted reports whether no order is sent until the owner resumes trading.
func (h *history) halted() bool { return h.Status().State.Level() == guard.Halted }

// goOn lifts what only the owner lifts.
func (h *history) goOn() {
	if !h.halted() {
		return
	}
	_, err := h.Resume(h.t.Context(), "candela resume")
	h.note("resume: %v", err)
	h.troubled()
}

// revive starts desk and strategies again after they were killed.
func (h *history) revive() {
	h.t.Helper()
	for h.through.dead.Load() {
		h.p.kill()
		h.seen.kills++
		h.note("killed")
		h.restart()
		h.through.Desk = h.Desk
		h.through.dead.Store(false)
		h.p = startWith(h.t, h.cfg, h.through.mayKill)
		time.Sleep(time.Second)
	}
}
