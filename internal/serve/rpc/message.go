// Package rpc reads and writes JSON-RPC 2.0 messages. It does no I/O.
//
// It rejects any body that two decoders could read differently (duplicate keys, keys
// that differ in case, trailing bytes, invalid UTF-8), because the token check and the
// dispatcher must agree about a request.
package rpc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"candela/internal/kit/strictjson"
)

// Limits of one body.
const (
	MaxBatch  = 64  // messages in a batch
	maxID     = 256 // bytes of an id, which is echoed
	maxMethod = 128 // bytes of a method name, which is echoed and logged
)

// Kind is the kind of a message.
type Kind uint8

// The kinds of message.
const (
	Request      Kind = iota + 1 // has an id and expects a response
	Notification                 // has no id and gets no response
	Response                     // to a request of the server, which sends none
)

// Message is one JSON-RPC message. ID and Params alias the body it was read from.
type Message struct {
	Kind   Kind
	ID     json.RawMessage // the client's exact bytes; nil if absent
	Method string
	Params json.RawMessage // an object, or nil when absent or null
}

// Call is a message, or Err if it is invalid. Message.ID is then still set if it could be
// read.
type Call struct {
	Message
	Err *Error
}

// Body is the content of one HTTP body or one line of stdio.
type Body struct {
	Batch bool
	Calls []Call
}

// Read reads one message or a batch. An error concerns the whole body and is answered
// once, with a null id; an invalid member of a batch is reported in its Call.
func Read(data []byte) (Body, *Error) {
	if err := strictjson.Check(data); err != nil {
		return Body{}, &Error{Code: CodeParse, Message: "parse error: " + err.Error()}
	}
	data = bytes.Trim(data, " \t\r\n")
	if data[0] != '[' {
		return Body{Calls: []Call{readCall(data)}}, nil
	}
	body := Body{Batch: true}
	for item := range strictjson.Items(data) {
		if len(body.Calls) == MaxBatch {
			return Body{}, &Error{Code: CodeInvalidRequest, Message: fmt.Sprintf("invalid request: a batch may contain at most %d messages", MaxBatch)}
		}
		body.Calls = append(body.Calls, readCall(item))
	}
	if len(body.Calls) == 0 {
		return Body{}, &Error{Code: CodeInvalidRequest, Message: "invalid request: the batch is empty"}
	}
	return body, nil
}

// envelope holds the raw members of a message.
type envelope struct {
	version, id, method, params json.RawMessage
	answer                      bool // has result or error
}

func readCall(data json.RawMessage) Call {
	if len(data) == 0 || data[0] != '{' {
		return invalid(nil, "a message must be a JSON object")
	}
	e, err := readEnvelope(data)
	if err != "" {
		return invalid(nil, err)
	}
	if e.id != nil && !validID(e.id) {
		return invalid(nil, fmt.Sprintf("id must be a string or a number of at most %d bytes", maxID))
	}
	if version, ok := strictjson.Text(e.version); !ok || version != "2.0" {
		return invalid(e.id, `jsonrpc must be "2.0"`)
	}
	if e.method == nil {
		if e.answer && e.id != nil {
			return Call{Message: Message{Kind: Response, ID: e.id}}
		}
		return invalid(e.id, "method is required")
	}
	return readMethod(e)
}

func readMethod(e envelope) Call {
	method, ok := strictjson.Text(e.method)
	switch {
	case e.answer:
		return invalid(e.id, "a message with a method has neither result nor error")
	case !ok || method == "" || len(method) > maxMethod:
		return invalid(e.id, fmt.Sprintf("method must be a string of 1 to %d bytes", maxMethod))
	}
	m := Message{Kind: Request, ID: e.id, Method: method, Params: e.params}
	if e.id == nil {
		m.Kind = Notification
	}
	switch {
	case e.params == nil:
	case e.params[0] == 'n':
		m.Params = nil
	case e.params[0] == '[':
		return Call{Message: m, Err: &Error{Code: CodeInvalidParams, Message: "invalid params: params must be an object"}}
	case e.params[0] != '{':
		return invalid(e.id, "params must be an object")
	}
	return Call{Message: m}
}

func readEnvelope(data json.RawMessage) (e envelope, wrong string) {
	for key, value := range strictjson.Fields(data) {
		switch key {
		case "jsonrpc":
			e.version = value
		case "id":
			e.id = value
		case "method":
			e.method = value
		case "params":
			e.params = value
		case "result", "error":
			e.answer = true
		default:
			// A case-insensitive decoder would accept these keys. It folds as Unicode
			// does: U+017F equals s.
			for _, right := range []string{"jsonrpc", "id", "method", "params", "result", "error"} {
				if strings.EqualFold(key, right) {
					return e, fmt.Sprintf("key %q must be written %q", key, right)
				}
			}
		}
	}
	return e, ""
}

func validID(id json.RawMessage) bool {
	if len(id) > maxID {
		return false
	}
	return id[0] == '"' || id[0] == '-' || id[0] >= '0' && id[0] <= '9'
}

// invalid returns a message that violates JSON-RPC.
func invalid(id json.RawMessage, reason string) Call {
	return Call{
		Message: Message{Kind: Request, ID: id},
		Err:     &Error{Code: CodeInvalidRequest, Message: "invalid request: " + reason},
	}
}
