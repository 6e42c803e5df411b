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

// pages declares the arguments of a tool that returns a list in pages.
func pages(tool string) func() (*paging, args) {
	return func() (*paging, args) {
		p := &paging{limit: maxItems}
		return p, args{intArg("limit", &p.limit, 1, maxItems, "Maximum number of items."), p.cursor(tool)}
	}
}

// cursor is where a page begins. It works only with the tool that issued it.
func (p *paging) cursor(tool string) arg {
	allowed := "the cursor from the previous result of " + tool + ", or none for the first page"
	s := &schema{Type: "string", Description: "From the previous result, for the next page."}
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
		data, err := marshalPlain(record(item))
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
	return arrayResult(tool, name, append(array, ']'), left, rest)
}

// arrayResult is a result whose text is an array. Structured content must be an object,
// so there the array has a name. The rest of the list is described in a second text and
// next to the array; rest is appended to the object.
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

// leftOut describes the rest of a list to a model.
func leftOut(tool string, left *more) []byte {
	message := fmt.Sprintf("%d more items; call %s again for the next", left.Left, tool)
	if left.Cursor != "" {
		message = fmt.Sprintf("%d more items; call %s with this cursor for the next", left.Left, tool)
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
