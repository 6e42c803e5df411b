package sink

import (
	"context"
	"strings"
	"time"

	"candela/internal/alerting/notify"
)

// A Receiver delivers messages to one destination. It is safe for concurrent use.
type Receiver interface {
	// Send makes one attempt to deliver a message.
	Send(ctx context.Context, m Message) Answer
	// Check reports what can be known about the destination without sending a message.
	Check(ctx context.Context) Answer
	// Host is the part of the destination that may be shown; the rest may hold a key.
	Host() string
	// Close closes idle connections.
	Close()
}

// Target is a receiver under the name of its sink, which identifies it in logs and in the
// store.
type Target struct {
	Name string
	Receiver
}

// Message is one message: a fired alert, a batch for a paced receiver, a notice, or a test if it has none of them.
type Message struct {
	Now    time.Time
	Alert  *notify.Entry
	Batch  *Batch
	Notice *Notice
}

// Title returns the heading of a message for people.
func (m Message) Title() string {
	switch {
	case m.Alert != nil:
		if m.Alert.Kind == notify.Order {
			return strings.TrimSpace(m.Alert.Symbol.Name + " account")
		}
		return m.Alert.Symbol.Name + " alert"
	case m.Notice != nil:
		return m.Notice.Title
	}
	return "candela test"
}

// Text returns the body of a message for people.
func (m Message) Text() string {
	switch {
	case m.Alert != nil:
		f := ParseFiring(m.Alert)
		return f.Text(m.Now)
	case m.Notice != nil:
		return m.Notice.Text
	}
	return "candela notify test: alerts will arrive here"
}

// Outcome is the result of one attempt.
type Outcome uint8

// The outcomes.
const (
	// Unreachable means that the receiver did not respond or is throttling. The message is
	// not at fault.
	Unreachable Outcome = iota
	// Failed means that the receiver responded with a temporary failure, which the message
	// may have caused.
	Failed
	// Refused means that a retry would get the same response.
	Refused
	// Delivered means that the receiver accepted the message.
	Delivered
)

// Answer is the outcome of one attempt, and how the receiver put it.
type Answer struct {
	Outcome Outcome
	Text    string        // such as "200 OK", or the reason; without secrets
	Wait    time.Duration // requested by the receiver
	Stop    bool          // the receiver wants nothing more
}
