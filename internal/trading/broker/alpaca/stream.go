package alpaca

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/data/upstream"
	"candela/internal/kit/strictjson"
	"candela/internal/trading/order"
	"candela/internal/trading/venue"
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
	id, secret := b.config.Keys.Reveal()
	return venue.Reports{
		Hosts: b.hosts, Answer: handshake, Ping: pingEvery, Handle: b.handle,
		Socket: upstream.SocketConfig{
			Venue: name, URL: "ws" + strings.TrimPrefix(b.config.URL, "http") + "/stream",
			Idle: 365 * 24 * time.Hour, // an account may be quiet for long; pings find out whether the venue is there
		},
		Steps: []venue.Step{
			step("authenticate", map[string]string{"key_id": id, "secret_key": secret}, "authorization", authorized),
			step("listen", map[string][]string{"streams": {updates}}, "listening", listening),
		},
	}.Run(ctx, ready, out)
}

// step returns a request and what judges the answer, the next message of a stream.
func step(action string, data any, stream string, judge func(message) error) venue.Step {
	return venue.Step{
		What: stream,
		Request: func() []byte {
			request, _ := json.Marshal(map[string]any{"action": action, "data": data}) //nolint:errchkjson // texts
			return request
		},
		Confirms: func(frame []byte) (bool, error) {
			m, err := readMessage(frame)
			if err != nil {
				return false, upstream.MalformedResponse(name, "stream", err)
			}
			if m.stream != stream {
				return false, nil
			}
			return true, judge(m)
		},
	}
}

func authorized(m message) error {
	if m.status == "authorized" {
		return nil
	}
	return fault.New(fault.Unauthorized, "keys_refused",
		"alpaca stream: the venue refuses the keys: those of a paper account are not known to the live host, nor the other way round").
		Because(fmt.Errorf("authorization status %q", m.status))
}

func listening(m message) error {
	if m.listening {
		return nil
	}
	return fault.Unreachable(nil, 0, "alpaca stream: the venue does not report orders now")
}

// handle hands one frame on. What is not of the updates was not asked for.
func (b *Broker) handle(ctx context.Context, frame []byte, deliver venue.Deliver) error {
	m, err := readMessage(frame)
	switch {
	case err != nil:
		return upstream.MalformedResponse(name, "stream", err)
	case m.stream == "authorization" && m.status == "unauthorized", m.stream == "listening" && !m.listening:
		return fault.Unreachable(nil, 0, "alpaca stream: the venue ended the reports")
	case m.stream != updates:
		return nil
	}
	if err := deliver(ctx, m.report); err != nil {
		return err
	}
	if m.filled {
		if err := b.reportLegs(ctx, m.report, deliver); err != nil {
			return err
		}
	}
	if m.strange != "" {
		return fault.Unreachable(nil, 0, "alpaca stream: unknown event %q", m.strange)
	}
	return nil
}

// reportLegs reads the legs of an order that was filled, if it has some, and reports them: no
// event says that a stop works, which the venue calls held before and after. A read that
// fails is left to those who ask for the order.
func (b *Broker) reportLegs(ctx context.Context, filled order.Report, deliver venue.Deliver) error {
	wait, cancel := context.WithTimeout(ctx, legsTimeout)
	defer cancel()
	t, err := b.byVenueID(wait, filled.Symbol.Name, filled.VenueID)
	if err != nil || t.id != filled.VenueID || len(t.legs) == 0 {
		return ctx.Err()
	}
	for _, r := range t.reports()[1:] {
		if err := deliver(ctx, r); err != nil {
			return err
		}
	}
	return nil
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
	var data []byte
	m, err := venue.Parse(frame, "a message of the stream", func(j *strictjson.Reader) (m message) {
		form.Object(j, "a message", venue.Members{"stream": &m.stream, "data": func() { data = j.Raw() }}, "stream", "data")
		return m
	})
	if err != nil {
		return m, err
	}
	return venue.Parse(data, "a message of "+m.stream, func(j *strictjson.Reader) message {
		switch m.stream {
		case updates:
			m.report, m.filled, m.strange = updateAt(j)
		case "authorization":
			form.Object(j, "an authorization", venue.Members{"status": &m.status})
		case "listening":
			form.Object(j, "the streams", venue.Members{"streams": func() {
				j.Array(func(int) { m.listening = j.Is(updates) || m.listening })
			}})
		default:
			j.Skip()
		}
		return m
	})
}

// updateAt reads what happened to an order, whether that filled one that may have legs, and
// the event when it is not known. The order in it has its state; the event only what
// changed it.
func updateAt(j *strictjson.Reader) (r order.Report, filled bool, strange string) {
	var t ticket
	var event, execution string
	var price, quantity decimal.Decimal
	var at time.Time
	form.Object(j, "an update", venue.Members{
		"event": &event, "order": func() { t = orderAt(j) }, "execution_id": &execution, "price": &price, "qty": &quantity, "timestamp": &at,
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
