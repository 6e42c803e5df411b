package rpc

import (
	"encoding/json"
	"math"
	"strconv"
	"unicode/utf8"
)

// The error codes: JSON-RPC 2.0 section 5.1, and from -32000 the server's own.
const (
	CodeParse              = -32700
	CodeInvalidRequest     = -32600
	CodeMethodNotFound     = -32601
	CodeInvalidParams      = -32602
	CodeInternal           = -32603
	CodeUnauthorized       = -32000 // no valid bearer token
	CodeRefused            = -32001 // refused before it was read: size, type, host, load
	CodeUnsupportedVersion = -32022 // a protocol revision that is not offered
)

// Error is a JSON-RPC error object.
type Error struct {
	Code    int
	Message string
	Data    json.RawMessage // nil for none
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// AppendResult appends the response that answers id with a result, which must be
// JSON already.
func AppendResult(dst []byte, id, result json.RawMessage) []byte {
	dst = AppendResultOpen(dst, id)
	dst = append(dst, result...)
	return append(dst, '}')
}

// AppendResultOpen appends a response up to where its result begins. The caller
// appends the result and a closing brace: a large result is then written once.
func AppendResultOpen(dst []byte, id json.RawMessage) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	dst = appendID(dst, id)
	return append(dst, `,"result":`...)
}

// AppendError appends the response that answers id with an error. A nil id is
// written as null, for requests whose id could not be read.
func AppendError(dst []byte, id json.RawMessage, e *Error) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	dst = appendID(dst, id)
	dst = append(dst, `,"error":{"code":`...)
	dst = strconv.AppendInt(dst, int64(e.Code), 10)
	dst = append(dst, `,"message":`...)
	dst = AppendString(dst, e.Message)
	if e.Data != nil {
		dst = append(dst, `,"data":`...)
		dst = append(dst, e.Data...)
	}
	return append(dst, "}}"...)
}

// AppendRefusal appends what answers every request of the body with the same error,
// a batch by one array. It appends nothing when there is no request, or none whose
// id could be read.
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

// AppendNotification appends a notification. Params must be a JSON object.
func AppendNotification(dst []byte, method string, params json.RawMessage) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","method":`...)
	dst = AppendString(dst, method)
	dst = append(dst, `,"params":`...)
	dst = append(dst, params...)
	return append(dst, '}')
}

func appendID(dst []byte, id json.RawMessage) []byte {
	if id == nil {
		return append(dst, "null"...)
	}
	return append(dst, id...)
}

// AppendFloat appends the shortest number that reads back as v, in the digits that
// encoding/json writes, so that a value has the same text wherever it stands. NaN and
// the infinities, which JSON has no number for, are null.
func AppendFloat(dst []byte, v float64) []byte {
	size := math.Abs(v)
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return append(dst, "null"...)
	case size == 0 || size >= 1e-6 && size < 1e21:
		return strconv.AppendFloat(dst, v, 'f', -1, 64)
	}
	dst = strconv.AppendFloat(dst, v, 'e', -1, 64)
	if n := len(dst); string(dst[n-4:n-1]) == "e-0" {
		dst = append(dst[:n-2], dst[n-1]) // e-09 is e-9
	}
	return dst
}

// AppendString appends s as a JSON string. Bytes that are not UTF-8 become
// U+FFFD, so the output is always valid.
func AppendString[T string | []byte](dst []byte, s T) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(string(s[i:min(len(s), i+utf8.UTFMax)]))
			if r != utf8.RuneError || size > 1 {
				i += size
				continue
			}
		}
		dst = append(dst, s[start:i]...)
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c == '\n':
			dst = append(dst, `\n`...)
		case c < ' ':
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			dst = append(dst, "\uFFFD"...)
		}
		i++
		start = i
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}
