package alpaca

import (
	"fmt"
	"time"

	"candela/internal/kit/strictjson"
	"candela/lib/fault"
	"candela/lib/market"
)

// message is one element of what the stream sends. Kind says which fields count.
type message struct {
	kind   string // the venue's T: success, error, subscription, b, u, d, t
	symbol string
	bar    market.Bar // of b, u, d
	price  float64    // of t
	odd    bool       // of t: made at a price that is not the market's of that time
	at     time.Time
	code   int64 // of error
	text   string
}

// readMessages reads one frame. Kinds that nobody asked for come back with their
// kind alone.
func readMessages(data []byte) ([]message, error) {
	j := strictjson.NewReader(data)
	var all []message
	j.Array(func(int) { all = append(all, readMessage(j)) })
	if err := j.End(); err != nil {
		return nil, fmt.Errorf("not a message of the stream: %w", err)
	}
	return all, nil
}

// readMessage reads an element. The type may stand anywhere in it, and c is a
// price in a bar and a list in a trade, so that the fields wait for it.
func readMessage(j *strictjson.Reader) message {
	raw := j.Raw()
	var m message
	first := strictjson.NewReader(raw)
	first.Object(func(key []byte) {
		if string(key) == "T" {
			m.kind = first.Text()
		}
	})
	if m.kind == "" {
		j.Failf("a message without T")
		return m
	}
	fields := strictjson.NewReader(raw)
	switch m.kind {
	case "b", "u", "d":
		m.readBar(fields)
	case "t":
		m.readTrade(fields)
	case "error", "success":
		fields.Object(func(key []byte) {
			switch string(key) {
			case "code":
				m.code = fields.Int()
			case "msg":
				m.text = fields.Text()
			}
		})
	default:
		fields.Skip()
	}
	if err := fields.End(); err != nil {
		j.Failf("%v", err)
	}
	return m
}

func (m *message) readBar(j *strictjson.Reader) {
	m.bar, m.symbol = readBar(j)
	if m.symbol == "" {
		j.Failf("a bar without S")
	}
	m.at = time.Unix(m.bar.T, 0).UTC()
}

func (m *message) readTrade(j *strictjson.Reader) {
	j.Object(func(key []byte) {
		switch string(key) {
		case "S":
			m.symbol = j.Text()
		case "p":
			m.price = j.Number()
		case "t":
			m.at = instant(j).UTC()
		case "c":
			if j.Null() {
				return
			}
			j.Array(func(int) { m.odd = m.odd || oddCondition(j.Text()) })
		}
	})
	if m.symbol == "" || m.price <= 0 || m.at.IsZero() {
		j.Failf("a trade without S, p or t")
	}
}

// oddCondition lists the sale conditions of the consolidated tapes under which a
// price is not that of the market at the time: late and out of order reports,
// averages, prices agreed before, official opens and closes that repeat a trade.
func oddCondition(c string) bool {
	switch c {
	case "C", "H", "M", "N", "P", "Q", "R", "U", "V", "W", "Z", "4", "7", "9":
		return true
	}
	return false
}

// complaint gives an error message of the stream its meaning.
func complaint(code int64, text, feed string) error {
	cause := fmt.Errorf("stream error %d: %s", code, text)
	refuse := func(kind fault.Kind, code, words string) error {
		return &fault.Error{Kind: kind, Code: code, Message: "alpaca stream: " + words, Cause: cause}
	}
	switch code {
	case 401, 402:
		return refuse(fault.Unauthorized, "keys_refused", "the venue refuses the keys")
	case 404:
		return fault.Unreachable(cause, 0, "alpaca stream: the venue did not get the keys in time")
	case 405:
		return refuse(fault.Invalid, "too_many_symbols", "the account may not subscribe to this many symbols")
	case 406:
		return fault.Unreachable(cause, 0, "alpaca stream: another program holds the one connection that the account may have")
	case 407:
		return fault.Unreachable(cause, 0, "alpaca stream: we did not read as fast as the venue sent")
	case 409, 411:
		return refuse(fault.Unauthorized, "no_subscription", "the account has no subscription to the feed "+feed+"; use iex or delayed_sip")
	}
	return fault.Unreachable(cause, 0, "alpaca stream: the venue reports error %d", code)
}
