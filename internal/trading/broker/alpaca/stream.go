package alpaca

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/data/upstream"
	"candela/internal/kit/strictjson"
	"candela/internal/trading/order"
	"candela/lib/fault"
)

const (
	handshake = 10 * time.Second
	pingEvery = 15 * time.Second
	updates   = "trade_updates"
	// legsTimeout bounds how long reports wait for the legs of an entry to be read.
	legsTimeout = 5 * time.Second
)

// Stream sends what happens to the account's orders until ctx ends or the
// connection is lost. A message that cannot be read ends it, and so does an event
// that is not known, such as a trade that is taken back: the caller then reads
// everything. A venue that is there and says nothing looks like an account on
// which nothing happens: only a reconciliation shows the difference.
func (b *Broker) Stream(ctx context.Context, ready func(), out chan<- order.Report) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	socket, err := b.hosts.Dial(ctx, upstream.SocketConfig{
		Venue: name, URL: "ws" + strings.TrimPrefix(b.config.URL, "http") + "/stream",
		Idle: 365 * 24 * time.Hour, // an account may be quiet for long; pings find out whether the venue is there
	})
	if err != nil {
		return err
	}
	defer socket.Close()
	l := &listener{broker: b, socket: socket, out: out}
	if err := l.open(ctx); err != nil {
		return err
	}
	ready()
	return socket.Serve(ctx, l.receive, l.tend)
}

// listener is one connection's life.
type listener struct {
	broker *Broker
	socket *upstream.Socket
	out    chan<- order.Report
	busy   sync.Mutex // held while a report waits to be taken, or legs are read
}

// open proves who we are and asks for the updates.
func (l *listener) open(ctx context.Context) error {
	id, secret := l.broker.config.Keys.Reveal()
	if err := l.send(ctx, "authenticate", map[string]string{"key_id": id, "secret_key": secret}); err != nil {
		return err
	}
	m, err := l.expect(ctx, "authorization")
	if err != nil {
		return err
	}
	if m.status != "authorized" {
		return fault.New(fault.Unauthorized, "keys_refused",
			"alpaca stream: the venue refuses the keys: those of a paper account are not known to the live host, nor the other way round").
			Because(fmt.Errorf("authorization status %q", m.status))
	}
	if err := l.send(ctx, "listen", map[string][]string{"streams": {updates}}); err != nil {
		return err
	}
	if m, err = l.expect(ctx, "listening"); err != nil {
		return err
	}
	if !m.listening {
		return fault.Unreachable(nil, 0, "alpaca stream: the venue does not report orders now")
	}
	return nil
}

func (l *listener) send(ctx context.Context, action string, data any) error {
	message, err := json.Marshal(map[string]any{"action": action, "data": data})
	if err != nil {
		return err
	}
	return l.socket.Send(ctx, message)
}

// expect reads until a message of the stream comes. What else comes is of the
// time before the stream was ready, and will be read.
func (l *listener) expect(ctx context.Context, stream string) (message, error) {
	wait, cancel := context.WithTimeout(ctx, handshake)
	defer cancel()
	for {
		data, err := l.socket.Read(wait)
		if err != nil {
			if ctx.Err() == nil && wait.Err() != nil {
				return message{}, fault.Unreachable(errors.New(err.Error()), 0, "alpaca stream: no %s within %v", stream, handshake)
			}
			return message{}, err
		}
		m, err := readMessage(data)
		if err != nil {
			return message{}, upstream.MalformedResponse(name, "stream", err)
		}
		if m.stream == stream {
			return m, nil
		}
	}
}

// receive hands one frame on.
func (l *listener) receive(ctx context.Context, data []byte) error {
	m, err := readMessage(data)
	if err != nil {
		return upstream.MalformedResponse(name, "stream", err)
	}
	switch m.stream {
	case "authorization", "listening":
		if m.status == "unauthorized" || !m.listening && m.stream == "listening" {
			return fault.Unreachable(nil, 0, "alpaca stream: the venue ended the reports")
		}
		return nil
	case updates:
	default:
		return nil // nothing that was asked for
	}
	l.busy.Lock()
	defer l.busy.Unlock()
	if err := l.report(ctx, m.report); err != nil {
		return err
	}
	if m.filled {
		if err := l.reportLegs(ctx, m.report); err != nil {
			return err
		}
	}
	if m.strange != "" {
		return fault.Unreachable(nil, 0, "alpaca stream: unknown event %q", m.strange)
	}
	return nil
}

// report sends a report.
func (l *listener) report(ctx context.Context, r order.Report) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case l.out <- r:
		return nil
	}
}

// reportLegs reads the legs of an order that was filled, if it has some, and reports them: no
// event says that a stop works, which the venue calls held before and after. A read that
// fails is left to those who ask for the order.
func (l *listener) reportLegs(ctx context.Context, filled order.Report) error {
	wait, cancel := context.WithTimeout(ctx, legsTimeout)
	defer cancel()
	t, err := l.broker.byVenueID(wait, filled.Symbol.Name, filled.VenueID)
	if err != nil || t.id != filled.VenueID || len(t.legs) == 0 {
		return ctx.Err()
	}
	for _, r := range t.reports()[1:] {
		if err := l.report(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// tend finds out whether the venue is still there.
func (l *listener) tend(ctx context.Context) error {
	ping := time.NewTicker(pingEvery)
	defer ping.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ping.C:
		}
		if !l.busy.TryLock() {
			continue // the receiver of reports is slow, and the answer would not be seen
		}
		l.busy.Unlock()
		if err := l.socket.Ping(ctx); err != nil {
			return err
		}
	}
}

// message is what the stream sends. The stream says which fields count.
type message struct {
	stream    string
	status    string // of authorization
	listening bool   // of listening: the updates are among the streams
	report    order.Report
	filled    bool   // the order is of a class with legs, and filled
	strange   string // the event, when it is not one of those documented
}

// readMessage reads one frame, which is JSON in text and in binary frames alike.
func readMessage(frame []byte) (message, error) {
	j := strictjson.NewReader(frame)
	var m message
	var data []byte
	j.Object(func(key []byte) {
		switch string(key) {
		case "stream":
			m.stream = j.Text()
		case "data":
			data = j.Raw()
		}
	})
	if m.stream == "" || data == nil {
		j.Failf("no stream or no data in it")
	}
	if err := j.End(); err != nil {
		return message{}, fmt.Errorf("not a message of the stream: %w", err)
	}
	d := strictjson.NewReader(data)
	switch m.stream {
	case updates:
		m.report, m.filled, m.strange = updateAt(d)
	case "authorization":
		d.Object(func(key []byte) {
			if string(key) == "status" {
				m.status = d.Text()
			}
		})
	case "listening":
		d.Object(func(key []byte) {
			if string(key) == "streams" && !d.Null() {
				d.Array(func(int) { m.listening = d.Is(updates) || m.listening })
			}
		})
	default:
		d.Skip()
	}
	if err := d.End(); err != nil {
		return message{}, fmt.Errorf("not a message of %s: %w", m.stream, err)
	}
	return m, nil
}

// updateAt reads what happened to an order, whether that filled one that may have legs, and
// the event when it is not known. The order in it has its state; the event only what
// changed it.
func updateAt(j *strictjson.Reader) (r order.Report, filled bool, strange string) {
	var t ticket
	var event, execution string
	var price, quantity decimal.Decimal
	var at time.Time
	j.Object(func(key []byte) {
		switch string(key) {
		case "event":
			event = j.Text()
		case "order":
			t = orderAt(j)
		case "execution_id":
			execution = text(j)
		case "price":
			price = amount(j)
		case "qty":
			quantity = amount(j)
		case "timestamp":
			at = instant(j)
		}
	})
	if event == "" || t.id == "" {
		j.Failf("an update without event or order")
		return order.Report{}, false, ""
	}
	r = t.report()
	if at.IsZero() {
		at = t.changed
	}
	if at.After(r.At) {
		r.At = at
	}
	switch event {
	case "new", "canceled", "expired", "done_for_day", "replaced", "rejected", "pending_new", "stopped", "pending_cancel",
		"pending_replace", "calculated", "suspended", "accepted", "held", "pending_review":
	case "order_cancel_rejected":
		r.Reason = "the venue refused the cancel"
	case "order_replace_rejected":
		r.Reason = "the venue refused to replace it"
	case "fill", "partial_fill":
		if t.isStop() {
			r.Triggered = at
		}
		// Without all of it the sum of the order says that something is missing.
		if execution != "" && price.IsPositive() && quantity.IsPositive() && t.side != 0 {
			r.Fills = []order.Fill{{
				TradeID: execution, OrderID: t.clientID, VenueID: t.id, Symbol: t.symbol, Side: t.side, Quantity: quantity, Price: price, At: at,
			}}
		}
	default:
		strange = event
	}
	return r, t.legOfEntry() && r.Status == order.Filled, strange
}
