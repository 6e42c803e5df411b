package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"candela/internal/kit/fault"
	"candela/internal/serve/mcp"
)

// jsonResult is a result with the same object as text and as structured content, unless
// there is an error.
func jsonResult(v any, err error) (mcp.Result, error) {
	if err != nil {
		return mcp.Result{}, err
	}
	data, err := marshalPlain(v)
	if err != nil {
		return mcp.Result{}, fmt.Errorf("write the answer: %w", err)
	}
	return rawResult(data), nil
}

func rawResult(object []byte) mcp.Result {
	return mcp.Result{Content: []mcp.Content{{Text: object}}, Structured: object}
}

// toolError is the error object of a failed tool.
type toolError struct {
	Code        string   `json:"code"`
	Message     string   `json:"message"`
	Retryable   bool     `json:"retryable"`
	RetryAfterS int      `json:"retry_after_s,omitempty"`
	Field       string   `json:"field,omitempty"`
	Value       string   `json:"value,omitempty"`
	Allowed     string   `json:"allowed,omitempty"`
	Suggestions []string `json:"suggestions,omitempty"`

	// Of an order that was denied or rejected.
	Rule  string     `json:"rule,omitempty"`
	Limit string     `json:"limit,omitempty"`
	Order *orderJSON `json:"order,omitempty"`

	kind fault.Kind
}

// newToolError returns the public part of err.
func newToolError(ctx context.Context, err error) toolError {
	p := toolError{Code: "internal", Message: "internal error; see the server's log"}
	if f := fault.Of(err); f != nil && f.Kind != fault.Internal {
		p = toolError{
			Code: f.Code, Message: f.Public(), Retryable: f.Retryable,
			RetryAfterS: int((f.RetryAfter + time.Second - 1) / time.Second),
			Field:       f.Field, Value: truncate(f.Value), Allowed: f.Allowed, Suggestions: f.Suggestions,
			kind: f.Kind,
		}
	} else if canceledByCaller(ctx, err) {
		p = toolError{Code: "cancelled", Message: "the call was cancelled", Retryable: true}
	}
	return p
}

// canceledByCaller reports whether a call failed because the caller went away.
func canceledByCaller(ctx context.Context, err error) bool {
	return ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded))
}

func (p toolError) result() mcp.Result {
	data, err := json.Marshal(p)
	if err != nil {
		data = []byte(`{"code":"internal","message":"internal error","retryable":false}`)
	}
	return mcp.Result{IsError: true, Kind: p.kind, Content: []mcp.Content{{Text: data}}}
}
