package member

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"time"

	"github.com/nats-io/nats.go"

	"candela/internal/kit/seal"
	"candela/internal/store/replica/conn"
	"candela/lib/fault"
)

// A call is one sealed text for the subject of the called replica: a head, a line break and a
// body. A reply is sealed for the ID of its call, which only the two replicas know, so it cannot
// answer another call. Neither uses headers.

const (
	// callWindow limits the difference between a call's time and the local clock. Clocks
	// should agree to a second; the rest allows for a paused replica.
	callWindow = 30 * time.Second
	// maxRemembered bounds the calls remembered against replays. Further calls are refused as
	// busy.
	maxRemembered = 1 << 18
)

type callHead struct {
	seal.Try
	Name   string `json:"name,omitempty"`
	Method string `json:"method"`
	Wait   int64  `json:"wait"`            // milliseconds that the caller waits
	Token  string `json:"token,omitempty"` // key of the caller's token, "" for the service
}

type answerHead struct {
	Kind string `json:"kind"`
	Why  string `json:"why,omitempty"` // reason of a refusal: busy or ""
}

type incoming struct {
	callHead
	reply string
	body  []byte
}

var errFrame = errors.New("message has no head")

// frame joins a head, which has no line breaks, and a body.
func frame(head any, body []byte) ([]byte, error) {
	data, err := json.Marshal(head)
	if err != nil {
		return nil, err
	}
	return append(append(data, '\n'), body...), nil
}

func unframe(data []byte, head any) (body []byte, err error) {
	first, body, ok := bytes.Cut(data, []byte("\n"))
	if !ok {
		return nil, errFrame
	}
	return body, json.Unmarshal(first, head)
}

func (m *Group) sealCall(subject string, head callHead, body []byte) (*nats.Msg, error) {
	data, err := frame(head, body)
	if err != nil {
		return nil, err
	}
	msg := nats.NewMsg(subject)
	msg.Data = m.table.Seals.Calls.Seal(seal.Place{Name: subject}, m.table.Seals.Now(), data)
	return msg, nil
}

// openCall opens a call and returns when it was sealed. It does not check for replays.
func (m *Group) openCall(msg *nats.Msg) (call incoming, at time.Time, err error) {
	data, at, err := m.table.Seals.Calls.Open(seal.Place{Name: msg.Subject}, msg.Data)
	if err != nil {
		return call, at, err
	}
	call.reply = msg.Reply
	call.body, err = unframe(data, &call.callHead)
	return call, at, err
}

func answerPlace(id seal.ID) seal.Place { return seal.Place{Name: hex.EncodeToString(id[:])} }

func (m *Group) sealAnswer(call incoming, head answerHead, body []byte) (*nats.Msg, error) {
	data, err := frame(head, body)
	if err != nil {
		return nil, err
	}
	msg := nats.NewMsg(call.reply)
	msg.Data = m.table.Seals.Answers.Seal(answerPlace(call.ID), m.table.Seals.Now(), data)
	return msg, nil
}

func (m *Group) openAnswer(id seal.ID, msg *nats.Msg) (head answerHead, body []byte, err error) {
	data, _, err := m.table.Seals.Answers.Open(answerPlace(id), msg.Data)
	if err != nil {
		return head, nil, err
	}
	body, err = unframe(data, &head)
	return head, body, err
}

// admitCall opens a call. ok is false, and nothing is sent, if the call is forged or was
// received before. err is the reply to a valid call that cannot be executed now.
func (m *Group) admitCall(msg *nats.Msg) (call incoming, ok bool, err error) {
	t := m.table.Seals
	call, at, err := m.openCall(msg)
	if err == nil {
		err = m.replays.Take(call.Try, at, t.Now())
	}
	switch {
	case err == nil:
		return call, true, nil
	case errors.Is(err, seal.ErrFull):
		return call, true, errBusy
	}
	t.Refuse(m.ctx, conn.ForgedCall, msg.Subject, err)
	if !errors.Is(err, seal.ErrStale) {
		return call, false, nil
	}
	// It may be a replay, but only the caller can open the reply.
	return call, true, &fault.Error{
		Kind: fault.Unavailable, Code: "clocks_differ",
		Message: "The clocks of two replicas differ by more than " + callWindow.String() + ", or the call was delayed that long; nothing was executed.",
	}
}

// WireError is an error sent between replicas.
type WireError struct {
	IsFault bool `json:"marked"` // it was a fault
	fault.Error
	Cause string `json:"cause,omitempty"` // for the log of the calling replica
}

func encodeFailure(err error) []byte {
	data, err := json.Marshal(ToWire(err))
	if err != nil { // cannot happen: plain texts and numbers
		return []byte(`{"cause":"error could not be encoded"}`)
	}
	return data
}

// ToWire encodes an error.
func ToWire(err error) WireError {
	f := fault.Of(err)
	if f == nil {
		return WireError{Cause: err.Error()}
	}
	form := WireError{IsFault: true, Error: *f}
	if f.Cause != nil {
		form.Cause = f.Cause.Error()
	}
	return form
}

// Err decodes the error.
func (form WireError) Err() error {
	var cause error
	if form.Cause != "" || !form.IsFault {
		cause = errors.New(form.Cause)
	}
	if !form.IsFault {
		return cause
	}
	f := form.Error
	f.Cause = cause
	return &f
}
