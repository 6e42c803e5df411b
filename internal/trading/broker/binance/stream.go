package binance

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"candela/internal/data/upstream"
	"candela/internal/kit/strictjson"
	"candela/internal/trading/order"
	"candela/internal/trading/venue"
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
	if err := b.clock.Ready(ctx); err != nil {
		return fmt.Errorf("binance stream: %w", err)
	}
	return venue.Reports{
		Hosts: b.hosts, Socket: upstream.SocketConfig{Venue: name, URL: b.config.StreamURL, Idle: streamIdle}, Age: b.config.MaxAge, Answer: answerWait, Handle: handle,
		Steps: []venue.Step{{What: "subscription", Request: func() []byte { return b.subscription(subscribing) }, Confirms: b.subscribed}},
	}.Run(ctx, ready, out)
}

// handle delivers an execution report.
func handle(ctx context.Context, data []byte, deliver venue.Deliver) error {
	m, err := parseMessage(data)
	switch {
	case err != nil:
		return upstream.MalformedResponse(name, "stream", err)
	case m.event == "executionReport": // a list's orders have reports of their own
		return deliver(ctx, m.report)
	case m.event == "serverShutdown":
		return fault.Unreachable(nil, 0, "binance: the venue is about to restart the stream")
	case m.event == "eventStreamTerminated":
		return fault.Unreachable(nil, 0, "binance: the venue has ended the stream")
	}
	return nil
}

// subscribed reports whether a message answers the subscription, and returns the venue's refusal.
func (b *Broker) subscribed(data []byte) (bool, error) {
	m, err := parseMessage(data)
	switch {
	case err != nil:
		return false, upstream.MalformedResponse(name, "stream", err)
	case m.answers != subscribing:
		return false, nil
	case m.status == http.StatusOK:
		return true, nil
	case m.code == codeTimestamp:
		b.clock.Doubt()
	}
	f := fault.Unreachable(nil, 0, "binance stream: the venue refuses the subscription: %s (status %d, code %s)", m.words, m.status, m.code)
	if venue.Lists(codesKeys, m.code) {
		f.Code, f.Retryable = "venue_keys_refused", false
	}
	return false, f
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
	return venue.Parse(data, "a message of the stream", func(j *strictjson.Reader) (m message) {
		refusal := venue.Members{"code": func() { m.code = j.Exact() }, "msg": &m.words}
		form.Object(j, "a message", venue.Members{
			"id": func() {
				if !j.Null() {
					m.answers = j.Text()
				}
			},
			"status": &m.status, "error": func() { form.Object(j, "a refusal", refusal) }, "event": func() { m.event, m.report = parseEvent(j) },
		})
		if m.answers != "" && m.status == 0 {
			j.Failf("an answer without a status")
		}
		return m
	})
}

// parseEvent reads an event, of which execution reports alone are looked into: the
// same letters mean other things elsewhere.
func parseEvent(j *strictjson.Reader) (kind string, r order.Report) {
	raw := j.Raw()
	if !j.OK() {
		return "", r
	}
	kind, err := venue.Parse(raw, "an event", func(j *strictjson.Reader) (kind string) {
		form.Object(j, "an event", venue.Members{"e": &kind})
		return kind
	})
	if err == nil && kind == "executionReport" {
		r, err = venue.Parse(raw, "an execution report", func(j *strictjson.Reader) order.Report { return parseAnyOrder(j, "an execution report", true) })
	}
	if err != nil {
		j.Failf("%v", err)
	}
	return kind, r
}
