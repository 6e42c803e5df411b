package tool

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"sort"
	"strings"

	"candela/internal/kit/fault"
	"candela/internal/kit/strictjson"
	"candela/internal/serve/mcp"
)

// What a list answers with at most at a time: more costs a conversation more than it
// tells, and clients cut long answers where they like.
const (
	maxItems = 500
	maxBytes = 256 << 10
)

// paging is which part of a list a client wants.
type paging struct {
	limit int
	after string // the key of the last item it has; "" for none
}

// fields are the arguments of a list. The cursor is of the tool that gave it.
func (p *paging) fields(tool string) args {
	return args{
		intArg("limit", &p.limit, 1, maxItems, "Items at most."),
		p.cursor(tool),
	}
}

// cursor reads where an earlier answer ended.
func (p *paging) cursor(tool string) arg {
	allowed := "the cursor that the last answer of " + tool + " gave, or none for the first page"
	return arg{
		name: "cursor", allowed: allowed,
		schema: &schema{Type: "string", Description: "Of the last answer, to go on."},
		read: func(raw json.RawMessage) error {
			value, _ := strictjson.Text(raw)
			data, err := base64.RawURLEncoding.DecodeString(value)
			key, ours := strings.CutPrefix(string(data), tool+" ")
			if err != nil || !ours || key == "" {
				return fault.Field("cursor", quoteValue(raw), allowed)
			}
			p.after = key
			return nil
		},
	}
}

// more says what a list left out. A list that is taken from has no cursor.
type more struct {
	Left   int    `json:"left"`
	Cursor string `json:"cursor,omitempty"`
}

func moreAfter(tool, key string, left int) *more {
	return &more{Left: left, Cursor: base64.RawURLEncoding.EncodeToString([]byte(tool + " " + key))}
}

// moreSchema is more in an output schema.
func moreSchema() prop { return prop{"more?", &schema{Type: "object"}} }

// ordered is a list whose items have ascending keys.
type ordered[T any] struct {
	items []T
	key   func(T) string
}

// from returns what follows a key. An item that is gone leaves its place.
func (o ordered[T]) from(key string) []T {
	i := sort.Search(len(o.items), func(i int) bool { return o.key(o.items[i]) > key })
	return o.items[i:]
}

// page writes the part of a list that was asked for. Only what it returns is put into
// JSON.
func page[T any](tool string, p paging, o ordered[T], record func(T) any) (array []byte, left *more, err error) {
	items := o.from(p.after)
	array = []byte{'['}
	for i, item := range items {
		data, err := marshalPlain(record(item))
		if err != nil {
			return nil, nil, fmt.Errorf("write the answer: %w", err)
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
	return append(array, ']'), left, nil
}

// arrayResult is a result whose text is an array. Structured content must be an
// object, so there the array stands under a name. What was left out is said in a
// second text and beside the array; rest ends the object.
func arrayResult(tool, name string, array []byte, left *more, rest string) (mcp.Result, error) {
	object := append([]byte(`{"`+name+`":`), array...)
	result := mcp.Result{Content: []mcp.Content{{Text: array}}}
	if left != nil {
		data, err := json.Marshal(left)
		if err != nil {
			return mcp.Result{}, fmt.Errorf("write the answer: %w", err)
		}
		object = append(append(object, `,"more":`...), data...)
		result.Content = append(result.Content, mcp.Content{Text: leftOut(tool, left)})
	}
	result.Structured = append(append(object, rest...), '}')
	return result, nil
}

// leftOut says to a model what was left out and how to get it.
func leftOut(tool string, left *more) []byte {
	message := fmt.Sprintf("%d more were left out; call %s again for the next", left.Left, tool)
	if left.Cursor != "" {
		message = fmt.Sprintf("%d more were left out; call %s with this cursor for the next", left.Left, tool)
	}
	text, err := json.Marshal(struct {
		*more
		Message string `json:"message"`
	}{left, message})
	if err != nil {
		return []byte(`{}`)
	}
	return text
}
