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

	"candela/internal/kit/fault"
	"candela/internal/kit/principal"
	"candela/internal/market"
	"candela/internal/store/replica/member"
	"candela/internal/trading/desk"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
)

// The calls to a desk and their replies. A reply with a Failure field can return a value and an
// error together.
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
	symbolCall struct {
		Caller principal.Caller
		Symbol market.Symbol
	}
	controlCall struct{ Who, Reason string }

	orderReply struct {
		Order   order.Order
		Failure *member.WireError `json:",omitempty"`
	}
	symbolReply struct {
		Orders   []order.Order
		Position order.PricedPosition
	}
	stateReply struct {
		State   guard.State
		Failure *member.WireError `json:",omitempty"`
	}
)

func (a orderReply) result() (order.Order, error) { return a.Order, failed(a.Failure) }

func (a stateReply) result() (guard.State, error) { return a.State, failed(a.Failure) }

func failed(form *member.WireError) error {
	if form == nil {
		return nil
	}
	return form.Err()
}

// encodeFault encodes an error for the reply. Errors that mean "not executed", and errors that
// are not faults, are returned instead.
func encodeFault(err error) (*member.WireError, error) {
	if err == nil {
		return nil, nil //nolint:nilnil // no failure
	}
	if notExecuted(err) || fault.Of(err) == nil {
		return nil, err
	}
	form := member.ToWire(err)
	return &form, nil
}

func newSymbolReply(orders []order.Order, position order.PricedPosition, err error) (symbolReply, error) {
	return symbolReply{orders, position}, err
}

// handleCalls registers the handlers for calls to the local desk.
func (d *Desk) handleCalls() {
	handleCall(d, methodPlace, func(ctx context.Context, running *desk.Desk, c placeCall) (a orderReply, err error) {
		a.Order, err = running.Place(ctx, c.Caller, c.Request)
		a.Failure, err = encodeFault(err)
		return a, err
	})
	handleCall(d, methodCancel, func(ctx context.Context, running *desk.Desk, c cancelCall) (a orderReply, err error) {
		a.Order, err = running.Cancel(ctx, c.Caller, c.ID)
		a.Failure, err = encodeFault(err)
		return a, err
	})
	handleCall(d, methodOrders, func(ctx context.Context, running *desk.Desk, c ordersCall) ([]order.Order, error) {
		return running.Orders(ctx, c.Caller, c.OpenOnly)
	})
	handleCall(d, methodPositions, func(ctx context.Context, running *desk.Desk, caller principal.Caller) ([]order.PricedPosition, error) {
		return running.Positions(ctx, caller)
	})
	handleCall(d, methodOn, func(ctx context.Context, running *desk.Desk, c symbolCall) (symbolReply, error) {
		return newSymbolReply(running.InSymbol(ctx, c.Caller, c.Symbol))
	})
	handleCall(d, methodHalt, func(ctx context.Context, running *desk.Desk, c controlCall) (a stateReply, err error) {
		a.State, err = running.Halt(ctx, c.Who, c.Reason)
		a.Failure, err = encodeFault(err)
		return a, err
	})
	handleCall(d, methodResume, func(ctx context.Context, running *desk.Desk, c controlCall) (a stateReply, err error) {
		a.State, err = d.resume(ctx, running, c.Who)
		a.Failure, err = encodeFault(err)
		return a, err
	})
	handleCall(d, methodStatus, func(_ context.Context, running *desk.Desk, _ struct{}) (desk.Status, error) {
		return running.Status(), nil
	})
	d.members.Handle(d.method(methodHaltFile), func(context.Context, []byte) ([]byte, error) { return json.Marshal(d.haltFile()) })
	// A halt, and the calls before one, must not wait for other calls.
	for _, method := range []string{methodHalt, methodStatus, methodHaltFile} {
		d.members.Prioritize(d.method(method))
	}
}

// onLocal calls do with the local desk. It returns member.ErrNotShardOwner if there is none, or
// if its term ended and nothing was executed.
func onLocal[T any](d *Desk, do func(*desk.Desk) (T, error)) (T, error) {
	running := d.local.Load()
	if running == nil {
		return *new(T), member.ErrNotShardOwner
	}
	value, err := do(running)
	if notExecuted(err) {
		return *new(T), member.ErrNotShardOwner
	}
	return value, err
}

// handleCall registers a handler that uses the local desk.
func handleCall[C, A any](d *Desk, method string, do func(ctx context.Context, running *desk.Desk, call C) (A, error)) {
	d.members.Handle(d.method(method), func(ctx context.Context, body []byte) ([]byte, error) {
		var call C
		if err := decodeReply(body, &call); err != nil {
			return nil, fmt.Errorf("decode call %s: %w", method, err)
		}
		a, err := onLocal(d, func(running *desk.Desk) (A, error) { return do(ctx, running, call) })
		if err != nil {
			return nil, err
		}
		return encodeReply(a, int(d.members.Conn().NATS().MaxPayload())-smallAnswer) // leaves room for headers
	})
}

// method returns the name of a method for this account.
func (d *Desk) method(name string) string { return name + " " + d.cfg.Account }

// call calls a method at the trading replica.
func call[A any](ctx context.Context, d *Desk, method string, request any) (A, error) {
	var a A
	body, err := json.Marshal(request)
	if err != nil {
		return a, fmt.Errorf("encode call %s: %w", method, err)
	}
	data, err := d.members.Call(ctx, tradingShard, d.method(method), body)
	if err != nil {
		return a, err
	}
	if err := decodeReply(data, &a); err != nil {
		return a, member.OutcomeUnknown(fmt.Errorf("decode reply to %s: %w", method, err))
	}
	return a, nil
}

// callRead is call for requests without effect: an unanswered one is sent once more.
func callRead[A any](ctx context.Context, d *Desk, method string, request any) (A, error) {
	a, err := call[A](ctx, d, method, request)
	if errors.Is(err, member.ErrOutcomeUnknown) && ctx.Err() == nil {
		a, err = call[A](ctx, d, method, request)
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
			a.Order.Fills = nil
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
