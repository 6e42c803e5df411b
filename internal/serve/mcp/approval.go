package mcp

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"time"

	"candela/internal/kit/principal"
	"candela/internal/kit/seal"
	"candela/internal/kit/strictjson"
	"candela/internal/serve/rpc"
)

// A call that waits for the owner is answered with the address of the page where the owner decides, if the client can
// open one, and with a sealed state. The client repeats the call with that state and gets what has become of it. The
// repetition never runs the tool.

const inputRequired = "input_required"

const (
	statePurpose = "request state"
	maxState     = 1 << 10   // bytes of a state, as it is sent
	stateGrace   = time.Hour // after the question has ended, in which the client may ask for the outcome
)

// errState is the answer to a state that was not sealed here for this client and these arguments, or that has ended.
var errState = invalidParams("requestState is not valid for this client and these arguments, or has expired; nothing was executed")

// callState is what a client repeats a call with.
type callState struct {
	Task   string    `json:"t"`
	Key    string    `json:"k"` // of the token
	Digest []byte    `json:"d"` // of the tool and its arguments
	End    time.Time `json:"e"`
}

// asksOwner reports whether the client of a request can open the page where the owner decides.
func (m *modernServer) asksOwner(e *envelope) bool {
	return m.approvals != "" && declares(e.capabilities, "elicitation", "url")
}

// appendQuestion appends the request that the client shows the page. The page asks for the owner's login: what the client
// answers decides nothing.
func (m *modernServer) appendQuestion(dst []byte, t *Task) []byte {
	dst = append(dst, `"inputRequests":{"approval":{"method":"elicitation/create","params":{"mode":"url","url":`...)
	dst = strictjson.AppendString(dst, m.approvals+"/"+url.PathEscape(t.ID))
	dst = strictjson.AppendString(append(dst, `,"message":`...), t.Question)
	return append(dst, "}}}"...)
}

// appendWaiting answers a call that waits for the owner, and reports false if this client gets the result as others do.
func (j *Job) appendWaiting(dst []byte, m rpc.Message, called toolCall, t *Task) ([]byte, bool) {
	s := j.server.modern
	switch {
	case s.tasks != nil && j.modern.takesTasks():
		return j.appendLater(dst, m, t), true
	case !s.asksOwner(j.modern):
		return dst, false
	}
	state, ok := s.sealState(callState{Task: t.ID, Key: j.from.Caller.Key, Digest: called.digest(), End: t.Until.Add(stateGrace)})
	if !ok {
		return dst, false
	}
	dst = append(rpc.AppendResultOpen(dst, m.ID), s.asking...)
	dst = append(append(append(dst, `"requestState":"`...), state...), `",`...)
	return append(s.appendQuestion(dst, t), '}', '}'), true
}

// appendRetry answers a call that is repeated with a state: it returns what has become of the first one.
func (j *Job) appendRetry(ctx context.Context, dst []byte, m rpc.Message, called toolCall, state json.RawMessage) ([]byte, *rpc.Error) {
	s := j.server.modern
	sealed, ok := strictjson.Text(state)
	opened, valid := s.openState(sealed)
	if !ok || !valid || opened.Key != j.from.Caller.Key || subtle.ConstantTimeCompare(opened.Digest, called.digest()) != 1 || time.Now().After(opened.End) {
		return dst, errState
	}
	var task *Task
	failure := j.server.task(ctx, j.from, m.Method, func() (err error) {
		task, err = s.tasks.Get(ctx, j.from.Caller, opened.Task)
		return err
	})
	switch {
	case principal.TokenEnded(ctx):
		return dst, errCutOff
	case failure == errUnknownTask || failure == nil && task.Result == nil:
		return dst, errState
	case failure != nil:
		return dst, failure
	}
	return append(appendResult(rpc.AppendResultOpen(dst, m.ID), task.Result, s.as), '}'), nil
}

// sealState seals a state, and reports false if there is no key.
func (m *modernServer) sealState(s callState) (string, bool) {
	box, data := m.stateBox(), must(json.Marshal(s))
	if box == nil || m.tasks == nil {
		return "", false
	}
	return base64.RawURLEncoding.EncodeToString(box.Seal(seal.Place{Name: statePurpose}, time.Now(), data)), true
}

// openState returns what was sealed, and reports false if it was not sealed here.
func (m *modernServer) openState(text string) (s callState, ok bool) {
	if len(text) > maxState || m.tasks == nil {
		return s, false
	}
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(text)
	box := m.stateBox()
	if err != nil || box == nil {
		return s, false
	}
	data, _, err := box.Open(seal.Place{Name: statePurpose}, sealed)
	return s, err == nil && json.Unmarshal(data, &s) == nil
}

// stateBox returns what seals states, nil without a secret. The secret may change at any time.
func (m *modernServer) stateBox() *seal.Box {
	if m.secret == nil {
		return nil
	}
	box, err := seal.NewBox(m.secret(), statePurpose)
	if err != nil {
		return nil
	}
	return box
}

// digest identifies the call, however its arguments are spaced and ordered.
func (c toolCall) digest() []byte {
	read := json.NewDecoder(bytes.NewReader(c.arguments))
	read.UseNumber()
	var arguments map[string]any
	if read.Decode(&arguments) != nil {
		return nil // equal to no digest
	}
	sum := sha256.Sum256(append([]byte(c.name+"\x00"), must(json.Marshal(arguments))...))
	return sum[:]
}

// must returns what was marshalled of values that always can be.
func must(data []byte, _ error) []byte { return data }
