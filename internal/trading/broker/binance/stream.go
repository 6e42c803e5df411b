package binance

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"candela/internal/data/upstream"
	"candela/internal/kit/strictjson"
	"candela/internal/trading/order"
	"candela/lib/fault"
)

const (
	// The venue pings every 20 seconds; without three pings the connection is lost.
	streamIdle = time.Minute
	// answerWait is how long the venue may take to answer the subscription.
	answerWait = 15 * time.Second
	// subscribing is the id of that request.
	subscribing = "reports"
)

// Stream sends the account's execution reports. See broker.Broker.
func (b *Broker) Stream(ctx context.Context, ready func(), out chan<- order.Report) error {
	if err := b.clock.ready(ctx); err != nil {
		return fmt.Errorf("binance stream: %w", err)
	}
	limited, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	after := func(d time.Duration, format string) *time.Timer {
		return time.AfterFunc(d, func() { stop(fault.Unreachable(nil, 0, format, d)) })
	}
	defer after(b.config.MaxAge, "binance: the stream has run for %v and starts again").Stop()
	waiting := after(answerWait, "binance: the subscription was not answered for %v")
	defer waiting.Stop()
	err := b.stream(limited, func() {
		waiting.Stop()
		ready()
	}, out)
	if ctx.Err() == nil && limited.Err() != nil {
		return context.Cause(limited)
	}
	return err
}

// stream runs one connection to its end.
func (b *Broker) stream(ctx context.Context, ready func(), out chan<- order.Report) error {
	socket, err := b.hosts.Dial(ctx, upstream.SocketConfig{Venue: name, URL: b.config.StreamURL, Idle: streamIdle})
	if err != nil {
		return err
	}
	defer socket.Close()
	if err := socket.Send(ctx, b.subscription(subscribing)); err != nil {
		return err
	}
	for flows := false; ; {
		data, err := socket.Read(ctx)
		if err != nil {
			return err
		}
		m, err := parseMessage(data)
		if err != nil {
			return upstream.MalformedResponse(name, "stream", err)
		}
		switch {
		case m.answers == subscribing && !flows:
			if err := b.subscribed(m); err != nil {
				return err
			}
			flows = true
			ready()
		case m.event == "executionReport":
			select {
			case out <- m.report:
			case <-ctx.Done():
				return fmt.Errorf("binance stream: %w", ctx.Err())
			}
		case m.event == "listStatus": // its orders have reports of their own
		case m.event == "serverShutdown":
			return fault.Unreachable(nil, 0, "binance: the venue is about to restart the stream")
		case m.event == "eventStreamTerminated":
			return fault.Unreachable(nil, 0, "binance: the venue has ended the stream")
		}
	}
}

// subscribed judges the answer to the subscription.
func (b *Broker) subscribed(m message) error {
	if m.status == http.StatusOK {
		return nil
	}
	if m.code == codeTimestamp {
		b.clock.doubt()
	}
	f := fault.Unreachable(nil, 0, "binance stream: the venue refuses the subscription: %s (status %d, code %s)", m.words, m.status, m.code)
	switch m.code {
	case "-1022", "-2014", "-2015":
		f.Code, f.Retryable = "venue_keys_refused", false
	}
	return f
}

// message is anything that comes over the WebSocket API.
type message struct {
	answers     string // the id of our request, "" for an event
	status      int64
	code, words string // of a refusal
	event       string
	report      order.Report
}

// parseMessage reads a message. Case distinguishes its keys: c and C, t and T differ.
func parseMessage(data []byte) (message, error) {
	var m message
	j := strictjson.NewReader(data)
	j.Object(func(key []byte) {
		switch string(key) {
		case "id":
			if !j.Null() {
				m.answers = j.Text()
			}
		case "status":
			m.status = j.Int()
		case "error":
			j.Object(func(key []byte) {
				switch string(key) {
				case "code":
					m.code = j.Exact()
				case "msg":
					m.words = j.Text()
				}
			})
		case "event":
			m.event, m.report = parseEvent(j)
		}
	})
	if err := j.End(); err != nil {
		return message{}, err
	}
	if m.answers != "" && m.status == 0 {
		return message{}, errors.New("an answer without a status")
	}
	return m, nil
}

// parseEvent reads an event, of which execution reports alone are looked into: the
// same letters mean other things elsewhere.
func parseEvent(j *strictjson.Reader) (kind string, r order.Report) {
	raw := j.Raw()
	if !j.OK() {
		return "", r
	}
	first := strictjson.NewReader(raw)
	first.Object(func(key []byte) {
		if string(key) == "e" {
			kind = first.Text()
		}
	})
	if err := first.End(); err != nil {
		j.Failf("an event: %v", err)
		return "", r
	}
	if kind != "executionReport" {
		return kind, r
	}
	second := strictjson.NewReader(raw)
	r = parseAnyOrder(second, "an execution report", true)
	if err := second.End(); err != nil {
		j.Failf("an execution report: %v", err)
	}
	return kind, r
}
