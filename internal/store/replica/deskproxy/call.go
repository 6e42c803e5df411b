package deskproxy

import (
	"bytes"
	"compress/flate"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"candela/internal/kit/principal"
	"candela/internal/store/replica/member"
	"candela/internal/trading/desk"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/fault"
	"candela/lib/market"
)

// The calls to a desk and their replies.
type (
	placeCall struct {
		Caller  principal.Caller
		Request order.Request
	}
	cancelCall struct {
		Caller principal.Caller
		ID     string
	}
	ordersCall struct {
		Caller   principal.Caller
		OpenOnly bool
	}
	pageCall struct {
		Caller principal.Caller
		Query  order.Query
	}
	tradesCall struct {
		Caller principal.Caller
		Query  order.TradeQuery
	}
	symbolCall struct {
		Caller principal.Caller
		Symbol market.Symbol
	}
	controlCall struct {
		Who, Reason string
		All         bool            `json:",omitempty"` // cancel what protects positions too
		Owner       principal.Owner `json:",omitempty"` // of many; "" for all
	}
	decideCall struct{ ID, Who, Reason string }

	orderReply struct {
		Order order.Placed
		failure
	}
	symbolReply struct {
		Orders   []order.Order
		Position order.PricedPosition
	}
	stateReply struct {
		State guard.State
		failure
	}
)

// failure makes a reply that can return a value and an error together.
type failure struct {
	Failure *member.WireError `json:",omitempty"`
}

// failing is a reply with a failure.
type failing interface {
	encode(err error) error
	decode() error
}

var _, _ failing = (*orderReply)(nil), (*stateReply)(nil)

// encode adds a fault to the reply. Other errors are returned instead.
func (f *failure) encode(err error) error {
	if fault.Of(err) == nil {
		return err
	}
	form := member.ToWire(err)
	f.Failure = &form
	return nil
}

func (f *failure) decode() error {
	if f.Failure == nil {
		return nil
	}
	return f.Failure.Err()
}

// A method runs on the local desk, or at the trading replica if that is another one.
type method[C, A any] func(ctx context.Context, call C) (A, error)

// methods are the calls to the desk of an account.
type methods struct {
	place        method[placeCall, orderReply]
	cancel       method[cancelCall, orderReply]
	asked        method[cancelCall, orderReply]
	withdraw     method[cancelCall, struct{}]
	orders       method[ordersCall, []order.Order]
	orderPage    method[pageCall, order.Page]
	positions    method[principal.Caller, []order.PricedPosition]
	inSymbol     method[symbolCall, symbolReply]
	account      method[principal.Caller, guard.Account]
	trades       method[tradesCall, order.TradePage]
	halt, resume method[controlCall, stateReply]
	pending      method[struct{}, []order.Order]
	review       method[decideCall, guard.Review]
	approve      method[decideCall, orderReply]
	refuse       method[decideCall, orderReply]
	status       method[struct{}, desk.Status]
	drop         method[dropCall, struct{}]
	look, act    method[askCall, askReply]
}

const (
	methodHalt     = "desk.halt"
	methodStatus   = "desk.status"
	methodHaltFile = "desk.haltfile" // answered by every replica
)

// register registers the handlers for calls to the local desk and sets the methods.
func (d *Desk) register() {
	d.place = newMethod(d, "desk.place", func(ctx context.Context, running Trader, c placeCall) (a orderReply, err error) {
		a.Order, err = running.Place(ctx, c.Caller, c.Request)
		return a, err
	})
	d.cancel = newMethod(d, "desk.cancel", func(ctx context.Context, running Trader, c cancelCall) (a orderReply, err error) {
		a.Order.Order, err = running.Cancel(ctx, c.Caller, c.ID)
		return a, err
	})
	d.orders = newReadMethod(d, "desk.orders", func(ctx context.Context, running Trader, c ordersCall) ([]order.Order, error) {
		return running.Orders(ctx, c.Caller, c.OpenOnly)
	})
	d.orderPage = newReadMethod(d, "desk.page", func(ctx context.Context, running Trader, c pageCall) (order.Page, error) {
		return running.OrderPage(ctx, c.Caller, c.Query)
	})
	d.positions = newReadMethod(d, "desk.positions", func(ctx context.Context, running Trader, caller principal.Caller) ([]order.PricedPosition, error) {
		return running.Positions(ctx, caller)
	})
	d.inSymbol = newReadMethod(d, "desk.on", func(ctx context.Context, running Trader, c symbolCall) (a symbolReply, err error) {
		a.Orders, a.Position, err = running.InSymbol(ctx, c.Caller, c.Symbol)
		return a, err
	})
	d.account = newReadMethod(d, "desk.account", func(ctx context.Context, running Trader, caller principal.Caller) (guard.Account, error) {
		return running.Account(ctx, caller)
	})
	d.trades = newReadMethod(d, "desk.trades", func(ctx context.Context, running Trader, c tradesCall) (order.TradePage, error) {
		return running.Trades(ctx, c.Caller, c.Query)
	})
	d.halt = newMethod(d, methodHalt, func(ctx context.Context, running Trader, c controlCall) (a stateReply, err error) {
		a.State, err = haltOn(ctx, running, c)
		return a, err
	})
	d.resume = newMethod(d, "desk.resume", func(ctx context.Context, running Trader, c controlCall) (a stateReply, err error) {
		// A halt file of any replica would halt it again at once.
		if err := d.checkNoHaltFile(ctx); err != nil {
			return a, err
		}
		if c.Owner == "" {
			a.State, err = running.Resume(ctx, c.Who)
		} else {
			a.State, err = resumeOwner(ctx, running, c)
		}
		return a, err
	})
	d.registerApproval()
	d.registerOwners()
	d.registerStrategies()
	d.status = newReadMethod(d, methodStatus, func(_ context.Context, running Trader, _ struct{}) (desk.Status, error) {
		return running.Status(), nil
	})
	d.members.Handle(d.method(methodHaltFile), func(context.Context, []byte) ([]byte, error) { return json.Marshal(d.haltFile()) })
	// A halt, and the calls before one, must not wait for other calls.
	for _, method := range []string{methodHalt, methodStatus, methodHaltFile} {
		d.members.Prioritize(d.method(method))
	}
}

// newMethod returns a method that runs with the desk of the trading replica, and serves it to the
// other replicas.
func newMethod[C, A any](d *Desk, name string, run func(ctx context.Context, running Trader, call C) (A, error)) method[C, A] {
	d.members.Handle(d.method(name), func(ctx context.Context, body []byte) ([]byte, error) {
		var c C
		if err := decodeReply(body, &c); err != nil {
			return nil, fmt.Errorf("decode call %s: %w", name, err)
		}
		a, err := onLocal(d, func(running Trader) (A, error) { return run(ctx, running, c) })
		if f, ok := any(&a).(failing); ok {
			err = f.encode(err)
		}
		if err != nil {
			return nil, err
		}
		return encodeReply(a, int(d.members.Conn().NATS().MaxPayload())-smallAnswer) // leaves room for headers
	})
	return func(ctx context.Context, c C) (A, error) {
		a, err := onLocal(d, func(running Trader) (A, error) { return run(ctx, running, c) })
		if errors.Is(err, member.ErrNotShardOwner) {
			a, err = call[A](ctx, d, name, c)
		}
		return a, err
	}
}

// newReadMethod is newMethod for a method without effect: an unanswered call is sent once more.
func newReadMethod[C, A any](d *Desk, name string, run func(ctx context.Context, running Trader, call C) (A, error)) method[C, A] {
	once := newMethod(d, name, run)
	return func(ctx context.Context, c C) (a A, err error) {
		err = d.members.Conn().AnswerSoon(ctx, name, func(ctx context.Context) (err error) {
			a, err = once(ctx, c)
			if errors.Is(err, member.ErrOutcomeUnknown) && ctx.Err() == nil {
				a, err = once(ctx, c)
			}
			return err
		})
		return a, err
	}
}

// onLocal calls do with the local desk. It returns member.ErrNotShardOwner if there is none, or
// if its term ended and nothing was executed.
func onLocal[T any](d *Desk, do func(Trader) (T, error)) (T, error) {
	running := d.local.Load()
	if running == nil {
		return *new(T), member.ErrNotShardOwner
	}
	value, err := do(running.Trader)
	if notExecuted(err) {
		return *new(T), member.ErrNotShardOwner
	}
	return value, err
}

// method returns the name of a method for this account.
func (d *Desk) method(name string) string { return name + " " + d.cfg.Account }

func call[A any](ctx context.Context, d *Desk, method string, request any) (a A, err error) {
	body, err := json.Marshal(request)
	if err != nil {
		return a, fmt.Errorf("encode call %s: %w", method, err)
	}
	data, err := d.members.Call(ctx, TradingShard, d.method(method), body)
	if err != nil {
		return a, err
	}
	if err := decodeReply(data, &a); err != nil {
		return *new(A), member.OutcomeUnknown(fmt.Errorf("decode reply to %s: %w", method, err))
	}
	if f, ok := any(&a).(failing); ok {
		err = f.decode()
	}
	return a, err
}

// withRemedy adds advice for the client to an error with unknown outcome. Other errors are
// returned unchanged.
func withRemedy(err error, retryable bool, message string) error {
	if !errors.Is(err, member.ErrOutcomeUnknown) {
		return err
	}
	f := *fault.Of(err)
	f.Message, f.Retryable = message, retryable
	return &f
}

// compressedPrefix marks a compressed reply. No JSON starts with it.
const compressedPrefix = 0x01

const (
	smallAnswer = 8 << 10  // sent uncompressed
	largeAnswer = 64 << 20 // not decoded
)

// encodeReply encodes a reply of at most limit bytes. Orders in a longer one lose their
// fills, but keep their sums.
func encodeReply(answer any, limit int) ([]byte, error) {
	data, err := compress(answer)
	if err == nil && len(data) > limit {
		switch a := answer.(type) {
		case []order.Order:
			data, err = compress(withoutFills(a))
		case symbolReply:
			data, err = compress(symbolReply{withoutFills(a.Orders), a.Position})
		case orderReply: // it was executed, so it must be answered
			a.Order.Fills, a.Order.Legs = nil, withoutFills(a.Order.Legs)
			data, err = compress(a)
		}
	}
	if err == nil && len(data) > limit {
		err = &fault.Error{Kind: fault.Unsupported, Code: "too_large", Message: "The reply exceeds the message limit between replicas."}
	}
	return data, err
}

func withoutFills(orders []order.Order) []order.Order {
	orders = slices.Clone(orders)
	for i := range orders {
		orders[i].Fills = nil
	}
	return orders
}

// compress encodes a value and compresses it if it is large.
func compress(value any) ([]byte, error) {
	data, err := json.Marshal(value)
	if err != nil || len(data) <= smallAnswer {
		return data, err
	}
	var b bytes.Buffer
	b.WriteByte(compressedPrefix)
	w, err := flate.NewWriter(&b, flate.BestSpeed)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// decodeReply decodes the result of encodeReply or plain JSON.
func decodeReply(data []byte, value any) error {
	if len(data) > 0 && data[0] == compressedPrefix {
		var err error
		if data, err = io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(data[1:])), largeAnswer)); err != nil {
			return err
		}
	}
	return json.Unmarshal(data, value)
}
