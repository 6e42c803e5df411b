package tool

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"strings"
	"time"

	"candela/internal/kit/strictjson"
	"candela/internal/serve/mcp"
	"candela/lib/fault"
	"candela/lib/market"
)

// jsonResult is a result with the same object as text and as structured content, unless
// there is an error.
func jsonResult(v any, err error) (mcp.Result, error) {
	if err != nil {
		return mcp.Result{}, err
	}
	data, err := strictjson.Marshal(v)
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
	return ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Cause(ctx)))
}

func (p toolError) result() mcp.Result {
	data, err := strictjson.Marshal(p)
	if err != nil {
		data = []byte(`{"code":"internal","message":"internal error","retryable":false}`)
	}
	return mcp.Result{IsError: true, Kind: p.kind, Content: []mcp.Content{{Text: data}}}
}

// Limits of one page: clients truncate long results at arbitrary points.
const (
	maxItems = 500
	maxBytes = 256 << 10
)

// paging selects a part of a list.
type paging struct {
	limit int
	after string // key of the last item of the previous page; "" for the first page
}

// symbolPaging is paging of a list that may be asked for by symbol.
type symbolPaging struct {
	paging
	symbol market.Symbol
}

// pages declares the arguments of a tool that returns a list in pages.
func pages(tool string) func() (*symbolPaging, args) {
	return func() (*symbolPaging, args) {
		p := &symbolPaging{paging: paging{limit: maxItems}}
		return p, args{symbolArg(&p.symbol, ""), limitArg(&p.limit, maxItems, ""), p.cursor(tool)}
	}
}

// cursor is where a page begins. It works only with the tool that issued it.
func (p *paging) cursor(tool string) arg {
	allowed := "the cursor from the previous result of " + tool + ", or none for the first page"
	s := &schema{Type: "string"}
	return newArg("cursor", &p.after, allowed, s, func(raw json.RawMessage) (string, error) {
		value, _ := strictjson.Text(raw)
		data, err := base64.RawURLEncoding.DecodeString(value)
		key, ours := strings.CutPrefix(string(data), tool+" ")
		if err != nil || !ours || key == "" {
			return "", fault.Field("cursor", quoteValue(raw), allowed)
		}
		return key, nil
	})
}

// more describes the rest of a list. A queue has no cursor.
type more struct {
	Left   int    `json:"left"`
	Cursor string `json:"cursor,omitempty"`
}

func moreAfter(tool, key string, left int) *more {
	return &more{Left: left, Cursor: base64.RawURLEncoding.EncodeToString([]byte(tool + " " + key))}
}

func moreSchema() prop { return prop{"more?", &schema{Type: "object"}} }

// ordered is a list sorted by ascending keys.
type ordered[T any] struct {
	items []T
	key   func(T) string
}

// from returns the items after a key, even if the item with that key is gone.
func (o ordered[T]) from(key string) []T {
	i := sort.Search(len(o.items), func(i int) bool { return o.key(o.items[i]) > key })
	return o.items[i:]
}

// pageResult is an arrayResult of the requested part of a list.
func pageResult[T any](tool, name string, p *paging, o ordered[T], rest string, record func(T) any) (mcp.Result, error) {
	items := o.from(p.after)
	array := []byte{'['}
	var left *more
	for i, item := range items {
		data, err := strictjson.Marshal(record(item))
		if err != nil {
			return mcp.Result{}, fmt.Errorf("write the answer: %w", err)
		}
		if i == p.limit || i > 0 && len(array)+len(data) > maxBytes {
			left = moreAfter(tool, o.key(items[i-1]), len(items)-i)
			break
		}
		if i > 0 {
			array = append(array, ',')
		}
		array = append(array, data...)
	}
	return arrayResult(tool, name, append(array, ']'), left, rest), nil
}

// arrayResult is a result whose text is an array. Structured content must be an object,
// so there the array has a name. The rest of the list is described in a second text and
// next to the array; rest is appended to the object.
func arrayResult(tool, name string, array []byte, left *more, rest string) mcp.Result {
	object := append([]byte(`{"`+name+`":`), array...)
	result := mcp.Result{Content: []mcp.Content{{Text: array}}}
	if left != nil {
		data, _ := json.Marshal(left) // a number and a text always can be
		object = append(append(object, `,"more":`...), data...)
		result.Content = append(result.Content, mcp.Content{Text: leftOut(tool, left)})
	}
	result.Structured = append(append(object, rest...), '}')
	return result
}

// leftOut describes the rest of a list to a model.
func leftOut(tool string, left *more) []byte {
	message := fmt.Sprintf("%d more items; call %s again for the next", left.Left, tool)
	if left.Cursor != "" {
		message = fmt.Sprintf("%d more items; call %s with this cursor for the next", left.Left, tool)
	}
	text, _ := json.Marshal(struct {
		*more
		Message string `json:"message"`
	}{left, message})
	return text
}
