package brokertest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/kit/id"
	"candela/internal/trading/broker"
	"candela/internal/trading/order"
	"candela/lib/fault"
)

var errNone = errors.New("no error")

// orNone keeps a nil error printable.
func orNone(err error) error {
	if err == nil {
		return errNone
	}
	return err
}

// want holds that err has exactly one fate, the one given.
func want(err, fate error) error {
	found := 0
	for _, one := range []error{broker.ErrNotSent, broker.ErrRejected, broker.ErrUnknown, broker.ErrNotFound} {
		if errors.Is(err, one) {
			found++
		}
	}
	if found != 1 || !errors.Is(err, fate) {
		return fmt.Errorf("want %q alone, got %w", fate.Error(), orNone(err))
	}
	return nil
}

// market returns a new order to buy or sell at once.
func (v *Venue) market(side order.Side) order.Spec {
	return order.Spec{ID: id.New(time.Now()), Owner: "local", Symbol: v.Symbol, Side: side, Type: order.Market, Quantity: v.Quantity}
}

// limit returns a new order that will rest.
func (v *Venue) limit(side order.Side) order.Spec {
	o := v.market(side)
	o.Type, o.Price = order.Limit, v.Rest(side)
	return o
}

// same holds that a report is about the order.
func same(r order.Report, o order.Spec) error {
	if r.ID != o.ID || r.Symbol != o.Symbol || r.Side != o.Side || r.Type != o.Type || !r.Quantity.Equal(o.Quantity) || !r.Price.Equal(o.Price) {
		return fmt.Errorf("the report is about %+v, not %+v", r.Spec, o)
	}
	if r.VenueID == "" || r.At.IsZero() {
		return fmt.Errorf("the report has the venue's id %q and time %v", r.VenueID, r.At)
	}
	if r.Filled.IsNegative() || r.Filled.GreaterThan(o.Quantity) {
		return fmt.Errorf("%s of %s are filled", r.Filled, o.Quantity)
	}
	if r.Linked != "" && !o.IsStop() {
		return fmt.Errorf("%+v became the order %s, and is no stop", o, r.Linked)
	}
	for _, f := range r.Fills {
		if err := soundFill(f, o, r.VenueID); err != nil {
			return err
		}
	}
	return nil
}

func soundFill(f order.Fill, o order.Spec, venueID string) error {
	switch {
	case f.TradeID == "" || f.At.IsZero():
		return fmt.Errorf("a fill with trade id %q at %v", f.TradeID, f.At)
	case f.OrderID != "" && f.OrderID != o.ID || f.VenueID != venueID || f.Symbol != o.Symbol || f.Side != o.Side:
		return fmt.Errorf("the fill %+v is not of %+v with the venue's id %s", f, o, venueID)
	case !f.Quantity.IsPositive() || !f.Price.IsPositive() || f.Fee.IsNegative():
		return fmt.Errorf("a fill of %s at %s with fee %s", f.Quantity, f.Price, f.Fee)
	case f.Cause != "":
		return fmt.Errorf("a fill of an order has the cause %q, as if the venue had closed the position by itself", f.Cause)
	case !f.Fee.IsZero() && f.FeeAsset == "":
		return fmt.Errorf("a fee of %s of nothing", f.Fee)
	}
	return nil
}

// patience is how long a venue may take to do what it has accepted.
const patience = time.Minute

// await asks for an order until it has the status.
func (v *Venue) await(ctx context.Context, o order.Spec, status order.Status) (order.Report, error) {
	for deadline := time.Now().Add(patience); ; {
		r, err := v.Broker.Query(ctx, o.Handle())
		if err != nil {
			return r, fmt.Errorf("query: %w", err)
		}
		if err := same(r, o); err != nil {
			return r, err
		}
		if r.Status == status {
			return r, nil
		}
		if time.Now().After(deadline) {
			return r, fmt.Errorf("the status is %d, want %d", r.Status, status)
		}
		if err := wait(ctx, time.Second); err != nil {
			return r, err
		}
	}
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// taken returns how many orders with the id the venue took.
func (v *Venue) taken(id string) int {
	n := 0
	for _, r := range v.Orders() {
		if r.ID == id {
			n++
		}
	}
	return n
}

// submit sends an order and checks the report.
func (v *Venue) submit(ctx context.Context, o order.Spec) (order.Report, error) {
	r, err := v.Broker.Submit(ctx, o)
	if err != nil {
		return r, fmt.Errorf("submit: %w", err)
	}
	if n := v.taken(o.ID); n != 1 {
		return r, fmt.Errorf("the venue took the order %d times", n)
	}
	for end := time.Now().Add(patience); r.Status == order.Submitted && time.Now().Before(end); { // a receipt
		if err := wait(ctx, time.Second); err != nil {
			return r, err
		}
		if r, err = v.Broker.Query(ctx, o.Handle()); err != nil {
			return r, fmt.Errorf("query after a receipt: %w", err)
		}
	}
	return r, same(r, o)
}

func identity(_ context.Context, v *Venue) error {
	if n := v.Broker.Name(); n == "" || n != strings.ToLower(n) || n != v.Symbol.Venue && !v.Foster {
		return fmt.Errorf("the name is %q, the symbol's venue %q", n, v.Symbol.Venue)
	}
	if m := v.Broker.Mode(); m != order.Paper && m != order.Live {
		return fmt.Errorf("the mode is %q", m)
	}
	return nil
}

func instrument(ctx context.Context, v *Venue) error {
	inst, err := v.Broker.Instrument(ctx, v.Symbol)
	if err != nil {
		return err
	}
	if inst.Symbol != v.Symbol {
		return fmt.Errorf("the instrument of %v calls itself %v", v.Symbol, inst.Symbol)
	}
	_, err = v.Broker.Instrument(ctx, v.Unknown)
	if f := fault.Of(err); f == nil || f.Kind != fault.NotFound || !strings.Contains(f.Message, v.Unknown.Name) {
		return fmt.Errorf("an unknown symbol gives %w", orNone(err))
	}
	return nil
}

func marketOrder(ctx context.Context, v *Venue) error {
	for _, side := range []order.Side{order.Buy, order.Sell} {
		o := v.market(side)
		r, err := v.submit(ctx, o)
		if err != nil {
			return err
		}
		switch r.Status {
		case order.Accepted, order.PartiallyFilled, order.Filled:
		default:
			return fmt.Errorf("the status is %d", r.Status)
		}
		if r, err = v.await(ctx, o, order.Filled); err != nil {
			return err
		}
		if !r.Filled.Equal(o.Quantity) {
			return fmt.Errorf("%s of %s are filled", r.Filled, o.Quantity)
		}
	}
	return nil
}

func limitOrder(ctx context.Context, v *Venue) error {
	for _, side := range []order.Side{order.Buy, order.Sell} {
		if side == order.Sell {
			if err := v.buy(ctx); err != nil {
				return err
			}
		}
		o := v.limit(side)
		if _, err := v.submit(ctx, o); err != nil {
			return err
		}
		r, err := v.await(ctx, o, order.Accepted)
		if err != nil {
			return err
		}
		if err := v.listed(ctx, r.VenueID, true); err != nil {
			return err
		}
		if r, err = v.Broker.Cancel(ctx, o.Handle()); err != nil {
			return fmt.Errorf("cancel: %w", err)
		}
		if err := same(r, o); err != nil {
			return err
		}
		if r.Status != order.Canceled && r.Status != order.PendingCancel {
			return fmt.Errorf("after a cancel the status is %d", r.Status)
		}
		if r, err = v.await(ctx, o, order.Canceled); err != nil {
			return err
		}
		if !r.Filled.IsZero() {
			return fmt.Errorf("%s are filled", r.Filled)
		}
		if err := v.listed(ctx, r.VenueID, false); err != nil {
			return err
		}
	}
	return nil
}

// buy makes sure that there is something to sell.
func (v *Venue) buy(ctx context.Context) error {
	// Twice, as the fee may be taken from what is bought.
	for range 2 {
		o := v.market(order.Buy)
		if _, err := v.submit(ctx, o); err != nil {
			return err
		}
		if _, err := v.await(ctx, o, order.Filled); err != nil {
			return err
		}
	}
	return nil
}

// listed holds that an order is among the open ones, or not.
func (v *Venue) listed(ctx context.Context, venueID string, open bool) error {
	all, err := v.Broker.Open(ctx)
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	n := 0
	for _, r := range all {
		if r.VenueID == venueID {
			n++
		}
	}
	if open && n != 1 || !open && n != 0 {
		return fmt.Errorf("the order is listed as open %d times, want %v", n, open)
	}
	return nil
}

func partialFill(ctx context.Context, v *Venue) error {
	o := v.limit(order.Buy)
	if _, err := v.submit(ctx, o); err != nil {
		return err
	}
	half := o.Quantity.Div(decimal.NewFromInt(2))
	v.Trade(o.ID, half)
	r, err := v.await(ctx, o, order.PartiallyFilled)
	if err != nil {
		return err
	}
	if !r.Filled.Equal(half) {
		return fmt.Errorf("%s of %s are filled, not %s", r.Filled, o.Quantity, half)
	}
	if err := v.listed(ctx, r.VenueID, true); err != nil {
		return err
	}
	if _, err := v.Broker.Cancel(ctx, o.Handle()); err != nil {
		return fmt.Errorf("cancel: %w", err)
	}
	if r, err = v.await(ctx, o, order.Canceled); err != nil {
		return err
	}
	if !r.Filled.Equal(half) {
		return fmt.Errorf("after the cancel %s are filled, not %s", r.Filled, half)
	}
	return nil
}

func cancelLate(ctx context.Context, v *Venue) error {
	filled := v.market(order.Buy)
	gone := v.limit(order.Buy)
	for _, o := range []order.Spec{filled, gone} {
		if _, err := v.submit(ctx, o); err != nil {
			return err
		}
	}
	if _, err := v.Broker.Cancel(ctx, gone.Handle()); err != nil {
		return fmt.Errorf("cancel: %w", err)
	}
	for status, o := range map[order.Status]order.Spec{order.Filled: filled, order.Canceled: gone} {
		if _, err := v.await(ctx, o, status); err != nil {
			return err
		}
		r, err := v.Broker.Cancel(ctx, o.Handle())
		if err != nil || r.Status != status {
			return fmt.Errorf("a late cancel gives status %d instead of %d, %w", r.Status, status, orNone(err))
		}
		if err := same(r, o); err != nil {
			return err
		}
	}
	return nil
}

func notFound(ctx context.Context, v *Venue) error {
	o := v.limit(order.Buy)
	_, err := v.Broker.Query(ctx, o.Handle())
	if err := want(err, broker.ErrNotFound); err != nil {
		return fmt.Errorf("query: %w", err)
	}
	_, err = v.Broker.Cancel(ctx, o.Handle())
	if err := want(err, broker.ErrNotFound); err != nil {
		return fmt.Errorf("cancel: %w", err)
	}
	return nil
}

func foreign(ctx context.Context, v *Venue) error {
	ours := v.limit(order.Buy)
	if _, err := v.submit(ctx, ours); err != nil {
		return err
	}
	theirs := v.Foreign()
	all, err := v.Broker.Open(ctx)
	if err != nil {
		return err
	}
	found := 0
	for _, r := range all {
		switch {
		case r.ID == ours.ID:
			found++
		case r.VenueID == theirs && r.Symbol == v.Symbol && r.Status == order.Accepted && r.Quantity.IsPositive():
			found++
		}
	}
	if len(all) != 2 || found != 2 {
		return fmt.Errorf("open are %+v", all)
	}
	return nil
}

// duplicate holds that an order whose id the venue has is not taken for refused:
// one of that id lives.
func duplicate(ctx context.Context, v *Venue) error {
	o := v.limit(order.Buy)
	if _, err := v.submit(ctx, o); err != nil {
		return err
	}
	_, err := v.Broker.Submit(ctx, o)
	if err := want(err, broker.ErrUnknown); err != nil {
		return err
	}
	if n := v.taken(o.ID); n != 1 {
		return fmt.Errorf("the venue took the id %d times", n)
	}
	_, err = v.await(ctx, o, order.Accepted)
	return err
}

func tooMuch(ctx context.Context, v *Venue) error {
	o := v.limit(order.Buy)
	o.Quantity = o.Quantity.Mul(decimal.NewFromInt(10_000))
	r, err := v.Broker.Submit(ctx, o)
	if err == nil && r.Status == order.Submitted {
		_, err = v.await(ctx, o, order.Rejected) // it is never lost
		return err
	}
	if err := want(err, broker.ErrRejected); err != nil {
		return err
	}
	if f := fault.Of(err); f == nil || f.Message == "" {
		return fmt.Errorf("no fault says why: %w", err)
	}
	if n := v.taken(o.ID); n != 0 {
		return fmt.Errorf("the venue took it %d times", n)
	}
	return nil
}

func unknownSymbol(ctx context.Context, v *Venue) error {
	o := v.limit(order.Buy)
	o.Symbol = v.Unknown
	_, err := v.Broker.Submit(ctx, o)
	if fate := broker.Outcome(err); !errors.Is(fate, broker.ErrNotSent) && !errors.Is(fate, broker.ErrRejected) {
		return orNone(err)
	}
	return nil
}

func cancelled(ctx context.Context, v *Venue) error {
	o := v.limit(order.Buy)
	if _, err := v.submit(ctx, o); err != nil {
		return err
	}
	over, cancel := context.WithCancel(ctx)
	cancel()
	next := v.market(order.Buy)
	_, submitErr := v.Broker.Submit(over, next)
	_, cancelErr := v.Broker.Cancel(over, o.Handle())
	for _, err := range []error{submitErr, cancelErr} {
		if !errors.Is(err, context.Canceled) {
			return fmt.Errorf("the error does not say that the context ended: %w", orNone(err))
		}
		if err := want(err, broker.ErrNotSent); err != nil {
			return err
		}
	}
	if n := v.taken(next.ID); n != 0 {
		return fmt.Errorf("the venue took it %d times", n)
	}
	if _, err := v.await(ctx, o, order.Accepted); err != nil {
		return err
	}
	_, queryErr := v.Broker.Query(over, o.Handle())
	_, openErr := v.Broker.Open(over)
	_, _, fillsErr := v.Broker.Fills(over, v.Symbol, "")
	_, holdingsErr := v.Broker.Holdings(over)
	for _, err := range []error{queryErr, openErr, fillsErr, holdingsErr} {
		if !errors.Is(err, context.Canceled) || errors.Is(err, broker.ErrNotFound) {
			return fmt.Errorf("a read whose context ended: %w", orNone(err))
		}
	}
	return nil
}

func concurrent(ctx context.Context, v *Venue) error {
	errs := make([]error, 4)
	var wg sync.WaitGroup
	for k := range errs {
		wg.Go(func() {
			for range 3 {
				o := v.limit(order.Buy)
				_, err := v.submit(ctx, o)
				if err == nil {
					_, err = v.Broker.Cancel(ctx, o.Handle())
				}
				if err == nil {
					_, err = v.await(ctx, o, order.Canceled)
				}
				errs[k] = errors.Join(errs[k], err)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}
