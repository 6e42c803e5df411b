package mcp

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"

	"candela/internal/kit/fault"
	"candela/internal/kit/principal"
	"candela/internal/kit/strictjson"
)

// Tool is how a tool presents itself to a client.
type Tool struct {
	Name         string          `json:"name"`
	Title        string          `json:"title"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	Annotations  Annotations     `json:"annotations"`
	Meta         json.RawMessage `json:"_meta,omitempty"`
}

// Annotations tell a client what a tool may do. All are always written: an
// absent hint means "destructive, open world" to a careful client.
type Annotations struct {
	Title       string `json:"title"`
	ReadOnly    bool   `json:"readOnlyHint"`
	Destructive bool   `json:"destructiveHint"`
	Idempotent  bool   `json:"idempotentHint"`
	OpenWorld   bool   `json:"openWorldHint"`
}

// Content is one item of a result: a text, or an image when MIME is set.
type Content struct {
	Text  []byte
	Image []byte
	MIME  string
	Meta  json.RawMessage // nil or a JSON object about the item, its _meta
}

// Result is what a tool gives back. Structured is nil or a JSON object. Kind says
// of what kind an error is, for those who count them and not for clients. Settle is
// nil or is called once, with whether the answer was sent: a tool that hands out
// each thing once must know.
type Result struct {
	Content    []Content
	Structured json.RawMessage
	IsError    bool
	Kind       fault.Kind
	OnSent     func(sent bool)
}

// ToolSet is the set of tools behind a Server. It must be safe for concurrent
// use. Call may keep neither arguments nor a slice of it after it returns. Call
// reports every failure of a tool inside the Result; its error is an *rpc.Error
// for a call that reaches no tool.
type ToolSet interface {
	Tools() []Tool
	Call(ctx context.Context, caller principal.Caller, name string, arguments json.RawMessage) (Result, error)
}

// appendResult appends r as the object that answers tools/call.
func appendResult(dst []byte, r *Result) []byte {
	dst = append(dst, `{"content":[`...)
	for i, c := range r.Content {
		if i > 0 {
			dst = append(dst, ',')
		}
		if c.MIME == "" {
			dst = append(dst, `{"type":"text","text":`...)
			dst = strictjson.AppendString(dst, c.Text)
		} else {
			dst = append(dst, `{"type":"image","data":"`...)
			dst = base64.StdEncoding.AppendEncode(dst, c.Image)
			dst = append(dst, `","mimeType":`...)
			dst = strictjson.AppendString(dst, c.MIME)
		}
		if c.Meta != nil {
			dst = append(append(dst, `,"_meta":`...), c.Meta...)
		}
		dst = append(dst, '}')
	}
	dst = append(dst, ']')
	if r.Structured != nil {
		dst = append(dst, `,"structuredContent":`...)
		dst = append(dst, r.Structured...)
	}
	if r.IsError {
		dst = append(dst, `,"isError":true`...)
	}
	return append(dst, '}')
}

// listTools marshals the answer to tools/list once, at construction.
func listTools(tools []Tool) (json.RawMessage, error) {
	data, err := json.Marshal(struct {
		Tools []Tool `json:"tools"`
	}{tools})
	if err != nil {
		return nil, fmt.Errorf("marshal the tool list: %w", err)
	}
	return data, nil
}
