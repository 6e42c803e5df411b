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

// The calls of a desk on their way between replicas, and the answers. An answer has
// a place for an error of its own where something comes beside it.
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

// encodeFault returns an error as it travels with an answer. What was not done is no
// answer, nor is what the desk failed to say.
func encodeFault(err error) (*member.WireError, error) {
	if err == nil {
		return nil, nil //nolint:nilnil // there is no failure
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

// handleCalls answers what other replicas ask of the desk that runs here.
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
	// A halt, and what is asked before one, waits for no orders and no charts.
	for _, method := range []string{methodHalt, methodStatus, methodHaltFile} {
		d.members.Prioritize(d.method(method))
	}
}

// onLocal has the desk that runs here do something. Where none does, or its term is
// over and nothing was done, that is ErrNotOwner.
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

// handleCall answers calls of a method by the desk that runs here.
func handleCall[C, A any](d *Desk, method string, do func(ctx context.Context, running *desk.Desk, call C) (A, error)) {
	d.members.Handle(d.method(method), func(ctx context.Context, body []byte) ([]byte, error) {
		var call C
		if err := decodeReply(body, &call); err != nil {
			return nil, fmt.Errorf("%s: %w", method, err)
		}
		a, err := onLocal(d, func(running *desk.Desk) (A, error) { return do(ctx, running, call) })
		if err != nil {
			return nil, err
		}
		return encodeReply(a, int(d.members.Conn().NATS().MaxPayload())-smallAnswer) // which is room for headers
	})
}

// method names a method of this account.
func (d *Desk) method(name string) string { return name + " " + d.cfg.Account }

// call calls a method at the replica that has the account.
func call[A any](ctx context.Context, d *Desk, method string, request any) (A, error) {
	var a A
	body, err := json.Marshal(request)
	if err != nil {
		return a, fmt.Errorf("%s: %w", method, err)
	}
	data, err := d.members.Call(ctx, tradingShard, d.method(method), body)
	if err != nil {
		return a, err
	}
	if err := decodeReply(data, &a); err != nil {
		return a, member.OutcomeUnknown(fmt.Errorf("%s: %w", method, err))
	}
	return a, nil
}

// callRead is ask for what changes nothing: a replica that does not answer is asked once
// more, or the one that took over from it.
func callRead[A any](ctx context.Context, d *Desk, method string, request any) (A, error) {
	a, err := call[A](ctx, d, method, request)
	if errors.Is(err, member.ErrOutcomeUnknown) && ctx.Err() == nil {
		a, err = call[A](ctx, d, method, request)
	}
	return a, err
}

// withRemedy says what a client can do about a call that was not answered. Other errors
// pass.
func withRemedy(err error, retryable bool, message string) error {
	if !errors.Is(err, member.ErrOutcomeUnknown) {
		return err
	}
	f := *fault.Of(err)
	f.Message, f.Retryable = message, retryable
	return &f
}

// compressedPrefix begins an answer that is compressed. No JSON does.
const compressedPrefix = 0x01

const (
	smallAnswer = 8 << 10  // which is sent as it is
	largeAnswer = 64 << 20 // which is not read
)

// encodeReply writes an answer of at most so many bytes. Orders that would be longer go
// without their single trades, whose sums they have.
func encodeReply(answer any, most int) ([]byte, error) {
	data, err := compress(answer)
	if err == nil && len(data) > most {
		switch a := answer.(type) {
		case []order.Order:
			data, err = compress(withoutFills(a))
		case symbolReply:
			data, err = compress(symbolReply{withoutFills(a.Orders), a.Position})
		case orderReply: // of what was done, whatever becomes of the answer
			a.Order.Fills = nil
			data, err = compress(a)
		}
	}
	if err == nil && len(data) > most {
		err = &fault.Error{Kind: fault.Unsupported, Code: "too_large", Message: "the answer is too large to travel between replicas"}
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

// compress writes a value, compressed when that is worth it.
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

// decodeReply reads what pack wrote.
func decodeReply(data []byte, value any) error {
	if len(data) > 0 && data[0] == compressedPrefix {
		var err error
		if data, err = io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(data[1:])), largeAnswer)); err != nil {
			return err
		}
	}
	return json.Unmarshal(data, value)
}
