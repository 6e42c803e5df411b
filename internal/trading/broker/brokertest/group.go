package brokertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/kit/id"
	"candela/internal/trading/broker"
	"candela/internal/trading/order"
)

// groupChecks are the promises about stops and groups. Each asks only for what the venue
// says it can do.
func groupChecks() []check {
	return []check{
		{"a stop waits until it is cancelled", able(stops, stopOrder)},
		{"a stop with a limit waits until it is cancelled", able(stopLimits, stopLimitOrder)},
		{"an order trails until it is cancelled", able(trails, trailingOrder)},
		{"a pair rests", able(pairs, pairRests)},
		{"a cancel of the target ends the pair, or that order alone", able(pairs, pairCancelled)},
		{"an entry has two legs that wait", able(twoLegs, bracketWaits)},
		{"an entry has a stop that waits", able(oneLeg, stopWaits)},
		{"an entry has a target that waits", able(oneLeg, targetWaits)},
		{"a cancel of the entry ends its legs", able(twoLegs, bracketCancelled)},
		{"legs work when their entry is filled", able(twoLegs, legsWork)},
		{"legs of an entry that is filled in part", able(twoLegs, legsInPart)},
		{"the ids of a group are never refused once they are taken", able(twoLegs, groupTwice)},
		{"a group of more than the account has leaves nothing", able(twoLegs, groupTooMuch)},
		{"a group whose context ended is not sent", able(twoLegs, groupAbandoned)},
		{"every order of a group is reported", able(twoLegs, groupStream)},
	}
}

func stops(c order.Capabilities) bool      { return c.Stops }
func stopLimits(c order.Capabilities) bool { return c.StopLimits }
func trails(c order.Capabilities) bool     { return c.Trails() }
func pairs(c order.Capabilities) bool      { return c.Pairs }
func oneLeg(c order.Capabilities) bool     { return c.OneLeg }
func twoLegs(c order.Capabilities) bool    { return c.TwoLegs }

// scene is a venue with its capabilities and a quantity that its groups take.
type scene struct {
	*Venue
	can      order.Capabilities
	quantity decimal.Decimal // its half is valid too
	tick     decimal.Decimal
}

// able runs a check at a venue that can do it.
func able(can func(order.Capabilities) bool, run func(context.Context, scene) error) func(context.Context, *Venue) error {
	return func(ctx context.Context, v *Venue) error {
		s, err := newScene(ctx, v)
		if err != nil || !can(s.can) {
			return err
		}
		return run(ctx, s)
	}
}

func newScene(ctx context.Context, v *Venue) (scene, error) {
	can, err := v.Broker.Capabilities(ctx, v.Symbol)
	if err != nil {
		return scene{}, fmt.Errorf("capabilities: %w", err)
	}
	inst, err := v.Broker.Instrument(ctx, v.Symbol)
	if err != nil {
		return scene{}, fmt.Errorf("instrument: %w", err)
	}
	s := scene{Venue: v, can: can, quantity: v.Quantity, tick: inst.Tick}
	if can.WholeLegs {
		s.quantity = v.Quantity.Ceil().Mul(decimal.NewFromInt(2))
	}
	return s, nil
}

// below returns a price a tenth below another.
func (s scene) below(price decimal.Decimal) decimal.Decimal {
	p := price.Mul(decimal.New(9, -1))
	if !s.tick.IsPositive() {
		return p.Round(2)
	}
	return p.Sub(p.Mod(s.tick))
}

// request returns the orders of a request, with ids.
func (s scene) request(r order.Request) []order.Spec {
	r.Symbol, r.Quantity = s.Symbol, s.quantity
	head := r.Spec(id.New(time.Now()), "local")
	legs := head.Legs()
	for i := range legs {
		legs[i].ID = id.New(time.Now())
	}
	return append([]order.Spec{head}, legs...)
}

// exit returns orders that sell what is held: one, or a pair.
func (s scene) exit(p order.Protection) []order.Spec {
	return s.request(order.Request{Side: order.Sell, Type: order.Market, ReduceOnly: true, Protect: p})
}

func (s scene) pair() []order.Spec {
	return s.exit(order.Protection{StopLoss: s.Rest(order.Buy), TakeProfit: s.Rest(order.Sell)})
}

// entry returns a purchase that rests, and its legs.
func (s scene) entry(p order.Protection) []order.Spec {
	return s.request(order.Request{Side: order.Buy, Type: order.Limit, Price: s.Rest(order.Buy), Protect: p})
}

func (s scene) bracket() []order.Spec {
	return s.entry(order.Protection{StopLoss: s.below(s.Rest(order.Buy)), TakeProfit: s.Rest(order.Sell)})
}

// hold buys what an exit sells, and a bit more for the fee.
func (s scene) hold(ctx context.Context) error {
	o := s.market(order.Buy)
	o.Quantity = s.quantity.Add(s.Quantity)
	if _, err := s.submit(ctx, o); err != nil {
		return err
	}
	_, err := s.await(ctx, o, order.Filled)
	return err
}

// about holds that a report is of an order of a group. The venue may have changed the
// quantity, and where it makes up the ids of legs the stream has none of ours.
func about(r order.Report, o order.Spec) error {
	switch {
	case r.Symbol != o.Symbol || r.Side != o.Side || r.Type != o.Type || !r.Price.Equal(o.Price):
		return fmt.Errorf("the report is about %+v, not %+v", r.Spec, o)
	case o.StopPrice.IsPositive() && !r.StopPrice.Equal(o.StopPrice):
		return fmt.Errorf("the stop price is %s, want %s", r.StopPrice, o.StopPrice)
	case !o.StopPrice.IsPositive() && o.TrailPercent.IsZero() && !r.StopPrice.IsZero():
		return fmt.Errorf("there is a stop price %s", r.StopPrice)
	case r.VenueID == "" || r.At.IsZero():
		return fmt.Errorf("the report has the venue's id %q and time %v", r.VenueID, r.At)
	}
	return nil
}

// state asks for an order until it has one of the statuses.
func (s scene) state(ctx context.Context, h order.Handle, statuses ...order.Status) (order.Report, error) {
	for deadline := time.Now().Add(patience); ; {
		r, err := s.Broker.Query(ctx, h)
		if err != nil {
			return r, fmt.Errorf("query %v: %w", h.Role, err)
		}
		if err := about(r, h.Spec); err != nil {
			return r, err
		}
		if r.ID != h.ID {
			return r, fmt.Errorf("the answer for %s has the id %q", h.ID, r.ID)
		}
		if slices.Contains(statuses, r.Status) {
			return r, nil
		}
		if time.Now().After(deadline) {
			return r, fmt.Errorf("the %v is %v, want one of %v", h.Role, r.Status, statuses)
		}
		if err := wait(ctx, time.Second); err != nil {
			return r, err
		}
	}
}

// send sends a group and returns the handles of its orders, with the venue's ids.
func (s scene) send(ctx context.Context, orders []order.Spec) ([]order.Handle, error) {
	reports, err := s.Broker.SubmitGroup(ctx, orders)
	if err != nil {
		return nil, fmt.Errorf("submit the group: %w", err)
	}
	if len(reports) != len(orders) {
		return nil, fmt.Errorf("%d reports of %d orders", len(reports), len(orders))
	}
	handles := make([]order.Handle, len(orders))
	for i, r := range reports {
		if err := about(r, orders[i]); err != nil {
			return nil, err
		}
		if r.ID != orders[i].ID || r.Group != orders[i].Group {
			return nil, fmt.Errorf("the report of %s has the id %q and the group %+v, want %+v", orders[i].ID, r.ID, r.Group, orders[i].Group)
		}
		handles[i] = order.Handle{Spec: orders[i], VenueID: r.VenueID}
	}
	return handles, nil
}

// found asks for each order of a group, with the venue's id and without it: the answer is the
// same order.
func (s scene) found(ctx context.Context, handles []order.Handle, head order.Status, others ...order.Status) error {
	for i, h := range handles {
		statuses := others
		if i == 0 {
			statuses = []order.Status{head}
		}
		r, err := s.state(ctx, h, statuses...)
		if err != nil {
			return err
		}
		h.VenueID = ""
		again, err := s.state(ctx, h, statuses...)
		if err != nil || again.VenueID != r.VenueID {
			return fmt.Errorf("without the venue's id the %v is %s, want %s: %w", h.Role, again.VenueID, r.VenueID, orNone(err))
		}
	}
	return nil
}

// waits sends an order that waits for a price, sees it open, and cancels it.
func (s scene) waits(ctx context.Context, p order.Protection) error {
	if err := s.hold(ctx); err != nil {
		return err
	}
	o := s.exit(p)[0]
	r, err := s.Broker.Submit(ctx, o)
	if err != nil {
		return fmt.Errorf("submit: %w", err)
	}
	if err := about(r, o); err != nil {
		return err
	}
	if r, err = s.state(ctx, o.Handle(), order.Accepted); err != nil {
		return err
	}
	if !r.Triggered.IsZero() || !r.Filled.IsZero() {
		return fmt.Errorf("it was triggered at %v and filled %s", r.Triggered, r.Filled)
	}
	if err := s.listed(ctx, r.VenueID, true); err != nil {
		return err
	}
	if _, err := s.Broker.Cancel(ctx, o.Handle()); err != nil {
		return fmt.Errorf("cancel: %w", err)
	}
	if _, err = s.state(ctx, o.Handle(), order.Canceled); err != nil {
		return err
	}
	return s.listed(ctx, r.VenueID, false)
}

func stopOrder(ctx context.Context, s scene) error {
	return s.waits(ctx, order.Protection{StopLoss: s.Rest(order.Buy)})
}

func stopLimitOrder(ctx context.Context, s scene) error {
	return s.waits(ctx, order.Protection{StopLoss: s.Rest(order.Buy), StopLossLimit: s.below(s.Rest(order.Buy))})
}

func trailingOrder(ctx context.Context, s scene) error {
	return s.waits(ctx, order.Protection{TrailPercent: s.can.TrailMax})
}

func pairRests(ctx context.Context, s scene) error {
	if err := s.hold(ctx); err != nil {
		return err
	}
	handles, err := s.send(ctx, s.pair())
	if err != nil {
		return err
	}
	// The stop of a pair is held where the target stands for both.
	return s.found(ctx, handles, order.Accepted, order.Accepted, order.Held)
}

func pairCancelled(ctx context.Context, s scene) error {
	if err := s.hold(ctx); err != nil {
		return err
	}
	handles, err := s.send(ctx, s.pair())
	if err != nil {
		return err
	}
	if _, err := s.Broker.Cancel(ctx, handles[0]); err != nil {
		return fmt.Errorf("cancel: %w", err)
	}
	if s.can.CancelEndsGroup {
		return s.found(ctx, handles, order.Canceled, order.Canceled, order.Expired)
	}
	if err := s.found(ctx, handles, order.Canceled, order.Accepted); err != nil {
		return err
	}
	if _, err := s.Broker.Cancel(ctx, handles[1]); err != nil {
		return fmt.Errorf("cancel the stop: %w", err)
	}
	return s.found(ctx, handles, order.Canceled, order.Canceled)
}

// legsWait sends an entry that rests: its legs wait.
func (s scene) legsWait(ctx context.Context, orders []order.Spec) error {
	handles, err := s.send(ctx, orders)
	if err != nil {
		return err
	}
	return s.found(ctx, handles, order.Accepted, order.Held)
}

func bracketWaits(ctx context.Context, s scene) error { return s.legsWait(ctx, s.bracket()) }

func stopWaits(ctx context.Context, s scene) error {
	return s.legsWait(ctx, s.entry(order.Protection{StopLoss: s.below(s.Rest(order.Buy))}))
}

func targetWaits(ctx context.Context, s scene) error {
	return s.legsWait(ctx, s.entry(order.Protection{TakeProfit: s.Rest(order.Sell)}))
}

func bracketCancelled(ctx context.Context, s scene) error {
	handles, err := s.send(ctx, s.bracket())
	if err != nil {
		return err
	}
	if _, err := s.Broker.Cancel(ctx, handles[0]); err != nil {
		return fmt.Errorf("cancel: %w", err)
	}
	if err := s.found(ctx, handles, order.Canceled, order.Canceled, order.Expired); err != nil {
		return err
	}
	open, err := s.Broker.Open(ctx)
	if err != nil || len(open) != 0 {
		return fmt.Errorf("open are %+v, %w", open, orNone(err))
	}
	return nil
}

func legsWork(ctx context.Context, s scene) error {
	handles, err := s.send(ctx, s.bracket())
	if err != nil {
		return err
	}
	s.Trade(handles[0].ID, s.quantity)
	// The stop is held where the target stands for both.
	return s.found(ctx, handles, order.Filled, order.Accepted, order.Held)
}

func legsInPart(ctx context.Context, s scene) error {
	handles, err := s.send(ctx, s.bracket())
	if err != nil {
		return err
	}
	half := s.quantity.Div(decimal.NewFromInt(2))
	s.Trade(handles[0].ID, half)
	if !s.can.LegsInPart {
		return s.found(ctx, handles, order.PartiallyFilled, order.Held)
	}
	if err := s.found(ctx, handles, order.PartiallyFilled, order.Accepted); err != nil {
		return err
	}
	if _, err := s.Broker.Cancel(ctx, handles[0]); err != nil {
		return fmt.Errorf("cancel: %w", err)
	}
	if !s.can.KeepsLegs {
		return s.found(ctx, handles, order.Canceled, order.Canceled, order.Expired)
	}
	for _, h := range handles[1:] {
		r, err := s.state(ctx, h, order.Accepted)
		if err != nil || !r.Quantity.Equal(half) {
			return fmt.Errorf("the %v is over %s, want %s: %w", h.Role, r.Quantity, half, orNone(err))
		}
	}
	return nil
}

func groupTwice(ctx context.Context, s scene) error {
	orders := s.bracket()
	handles, err := s.send(ctx, orders)
	if err != nil {
		return err
	}
	_, err = s.Broker.SubmitGroup(ctx, orders)
	if err := want(err, broker.ErrUnknown); err != nil {
		return err
	}
	if n := s.taken(orders[0].ID); n != 1 {
		return fmt.Errorf("the venue took the entry %d times", n)
	}
	return s.found(ctx, handles, order.Accepted, order.Held)
}

// absent holds that the venue has none of the orders.
func (s scene) absent(ctx context.Context, orders []order.Spec) error {
	for _, o := range orders {
		if n := s.taken(o.ID); n != 0 {
			return fmt.Errorf("the venue took the %v %d times", o.Role, n)
		}
		_, err := s.Broker.Query(ctx, o.Handle())
		if err := want(err, broker.ErrNotFound); err != nil {
			return fmt.Errorf("query %v: %w", o.Role, err)
		}
	}
	return nil
}

func groupTooMuch(ctx context.Context, s scene) error {
	s.quantity = s.quantity.Mul(decimal.NewFromInt(10_000))
	orders := s.bracket()
	_, err := s.Broker.SubmitGroup(ctx, orders)
	if err := want(err, broker.ErrRejected); err != nil {
		return err
	}
	return s.absent(ctx, orders)
}

func groupAbandoned(ctx context.Context, s scene) error {
	over, cancel := context.WithCancel(ctx)
	cancel()
	orders := s.bracket()
	_, err := s.Broker.SubmitGroup(over, orders)
	if !errors.Is(err, context.Canceled) {
		return fmt.Errorf("the error does not say that the context ended: %w", orNone(err))
	}
	if err := want(err, broker.ErrNotSent); err != nil {
		return err
	}
	return s.absent(ctx, orders)
}

func groupStream(ctx context.Context, s scene) error {
	l := Listen(ctx, s.Broker)
	defer l.cancel()
	if err := l.await(ctx); err != nil {
		return err
	}
	handles, err := s.send(ctx, s.bracket())
	if err != nil {
		return err
	}
	if err := l.reported(ctx, handles, false); err != nil {
		return fmt.Errorf("after they were taken: %w", err)
	}
	if _, err := s.Broker.Cancel(ctx, handles[0]); err != nil {
		return fmt.Errorf("cancel: %w", err)
	}
	if err := l.reported(ctx, handles, true); err != nil {
		return fmt.Errorf("after the cancel: %w", err)
	}
	return l.over()
}

// reported reads reports until each of the orders had one, or one that ends it.
func (l *Listening) reported(ctx context.Context, handles []order.Handle, ended bool) error {
	left := make(map[string]order.Role)
	for _, h := range handles {
		left[h.VenueID] = h.Role
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for len(left) > 0 {
		select {
		case r := <-l.Reports:
			if !ended || r.Status.Final() {
				delete(left, r.VenueID)
			}
		case err := <-l.Done:
			return fmt.Errorf("the stream ended: %w", orNone(err))
		case <-ctx.Done():
			return fmt.Errorf("no report came of %v: %w", left, ctx.Err())
		}
	}
	return nil
}

// failedGroup is a promise about a group that fails: all of it is there, or nothing.
func failedGroup(ctx context.Context, v *Venue, f Failure) error {
	s, err := newScene(ctx, v)
	if err != nil || !s.can.TwoLegs {
		return err
	}
	orders := s.bracket()
	disarm := f.Arm()
	_, err = v.Broker.SubmitGroup(ctx, orders)
	if err := f.judge(ctx, err, disarm); err != nil {
		return err
	}
	if !f.Done {
		return s.absent(ctx, orders)
	}
	if n := v.taken(orders[0].ID); n != 1 {
		return fmt.Errorf("the venue took the entry %d times", n)
	}
	for i, o := range orders {
		status := order.Held
		if i == 0 {
			status = order.Accepted
		}
		if _, err := s.state(ctx, o.Handle(), status); err != nil {
			return err
		}
	}
	return nil
}
