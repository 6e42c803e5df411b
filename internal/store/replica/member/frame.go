package member

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"time"

	"github.com/nats-io/nats.go"

	"candela/internal/kit/fault"
	"candela/internal/kit/seal"
	"candela/internal/store/replica/conn"
)

// A call of another replica is one sealed text, for the subject of who is called: its
// head, a line break and its body. An answer is sealed for the id of the call, which
// only the two know, so that it answers no other. Nothing of either is in a header.

const (
	// callWindow is how much older or newer than the time here a call may be. Clocks are
	// to agree to a second; the rest is for a replica that was stopped for a while.
	callWindow = 30 * time.Second
	// maxRemembered bounds the calls of a minute that are remembered, so that none is
	// carried out twice. One more is told to try again.
	maxRemembered = 1 << 18
)

// callHead is what a call says before its body.
type callHead struct {
	seal.Try
	Name   string `json:"name,omitempty"`
	Method string `json:"method"`
	Wait   int64  `json:"wait"`            // how many milliseconds the caller waits
	Token  string `json:"token,omitempty"` // the key of the token that it acts for, "" for the service
}

// answerHead is what an answer says before its body.
type answerHead struct {
	Kind string `json:"kind"`
	Why  string `json:"why,omitempty"` // of one that is refused, "" for no other reason than that
}

// incoming is a call that is ours.
type incoming struct {
	callHead
	reply string
	body  []byte
}

var errFrame = errors.New("it has no head")

// frame writes a head and a body. A head has no line breaks.
func frame(head any, body []byte) ([]byte, error) {
	data, err := json.Marshal(head)
	if err != nil {
		return nil, err
	}
	return append(append(data, '\n'), body...), nil
}

// unframe reads what frame wrote.
func unframe(data []byte, head any) (body []byte, err error) {
	first, body, ok := bytes.Cut(data, []byte("\n"))
	if !ok {
		return nil, errFrame
	}
	return body, json.Unmarshal(first, head)
}

// sealCall makes the message of a call.
func (m *Group) sealCall(subject string, head callHead, body []byte) (*nats.Msg, error) {
	data, err := frame(head, body)
	if err != nil {
		return nil, err
	}
	msg := nats.NewMsg(subject)
	msg.Data = m.table.Seals.Calls.Seal(seal.Place{Name: subject}, m.table.Seals.Now(), data)
	return msg, nil
}

// openCall reads a call and when it was made. It may have come before.
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

// sealAnswer makes the message of an answer.
func (m *Group) sealAnswer(call incoming, head answerHead, body []byte) (*nats.Msg, error) {
	data, err := frame(head, body)
	if err != nil {
		return nil, err
	}
	msg := nats.NewMsg(call.reply)
	msg.Data = m.table.Seals.Answers.Seal(answerPlace(call.ID), m.table.Seals.Now(), data)
	return msg, nil
}

// openAnswer reads the answer to a call.
func (m *Group) openAnswer(id seal.ID, msg *nats.Msg) (head answerHead, body []byte, err error) {
	data, _, err := m.table.Seals.Answers.Open(answerPlace(id), msg.Data)
	if err != nil {
		return head, nil, err
	}
	body, err = unframe(data, &head)
	return head, body, err
}

// admitCall reads a call and refuses one that is not ours or has come before: ok is
// false, and nobody is told. The error goes back to the
// replica that made a valid call which cannot be carried out now.
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
	// It may be a replay. The answer is sealed for who made it.
	return call, true, &fault.Error{
		Kind: fault.Unavailable, Code: "clocks_differ",
		Message: "the clocks of two replicas differ by more than " + callWindow.String() + ", or the call was held up for that long; nothing was done",
	}
}
