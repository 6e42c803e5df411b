package rpc

import (
	"encoding/json"
	"strconv"

	"candela/internal/kit/strictjson"
)

// The error codes: JSON-RPC 2.0 section 5.1, and from -32000 the server's own.
const (
	CodeParse          = -32700
	CodeInvalidRequest = -32600
	CodeMethodNotFound = -32601
	CodeInvalidParams  = -32602
	CodeInternal       = -32603
	CodeUnauthorized   = -32000 // no valid bearer token
	CodeRefused        = -32001 // refused before it was read: size, type, host, load
)

// The error codes of MCP since revision 2026-07-28. One of them proves to a client that
// the server knows that revision, so no older request may get one.
const (
	CodeHeaderMismatch     = -32020 // the HTTP header differs from the body
	CodeMissingCapability  = -32021 // the client lacks what the call needs
	CodeUnsupportedVersion = -32022
)

// Error is a JSON-RPC error object.
type Error struct {
	Code    int
	Message string
	Data    json.RawMessage // nil for none
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// AppendResult appends the response to id with a result, which must be valid JSON.
func AppendResult(dst []byte, id, result json.RawMessage) []byte {
	dst = AppendResultOpen(dst, id)
	dst = append(dst, result...)
	return append(dst, '}')
}

// AppendResultOpen appends a response up to its result. The caller appends the result and
// a closing brace, so that a large result is not copied.
func AppendResultOpen(dst []byte, id json.RawMessage) []byte {
	return append(appendID(dst, id), `,"result":`...)
}

// AppendError appends the error response to id. A nil id is written as null, for requests
// whose id could not be read.
func AppendError(dst []byte, id json.RawMessage, e *Error) []byte {
	return append(AppendErrorObject(append(appendID(dst, id), `,"error":`...), e), '}')
}

// AppendErrorObject appends the error alone.
func AppendErrorObject(dst []byte, e *Error) []byte {
	dst = append(dst, `{"code":`...)
	dst = strconv.AppendInt(dst, int64(e.Code), 10)
	dst = append(dst, `,"message":`...)
	dst = strictjson.AppendString(dst, e.Message)
	if e.Data != nil {
		dst = append(dst, `,"data":`...)
		dst = append(dst, e.Data...)
	}
	return append(dst, '}')
}

// AppendRefusal appends the same error response to every request of the body. It appends
// nothing if there is no request with a readable id.
func (b *Body) AppendRefusal(dst []byte, e *Error) []byte {
	start := len(dst)
	for i := range b.Calls {
		c := &b.Calls[i]
		if c.ID == nil || c.Kind == Response {
			continue
		}
		if b.Batch {
			dst = append(dst, ',')
		}
		dst = AppendError(dst, c.ID, e)
	}
	if b.Batch && len(dst) > start {
		dst[start] = '['
		dst = append(dst, ']')
	}
	return dst
}

// appendID appends a response up to its id.
func appendID(dst []byte, id json.RawMessage) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	if id == nil {
		return append(dst, "null"...)
	}
	return append(dst, id...)
}
