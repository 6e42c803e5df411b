package mcp

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"

	"candela/internal/kit/principal"
	"candela/internal/kit/strictjson"
	"candela/internal/serve/rpc"
	"candela/lib/fault"
)

// Tool describes a tool to clients.
type Tool struct {
	Name         string          `json:"name"`
	Title        string          `json:"title,omitempty"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	Annotations  Annotations     `json:"annotations"`
	Meta         json.RawMessage `json:"_meta,omitempty"`
	Urgent       bool            `json:"-"` // runs beside the requests that a client may have under way
	Long         bool            `json:"-"` // may take so long that it becomes a task
}

// Annotations holds the hints of a tool. All are always written: clients treat an absent
// hint as "destructive, open world".
type Annotations struct {
	Title       string `json:"title"`
	ReadOnly    bool   `json:"readOnlyHint"`
	Destructive bool   `json:"destructiveHint"`
	Idempotent  bool   `json:"idempotentHint"`
	OpenWorld   bool   `json:"openWorldHint"`
}

// Content is one item of a result: a text, or an image if MIME is set.
type Content struct {
	Text  []byte
	Image []byte
	MIME  string
	Meta  json.RawMessage `json:",omitempty"` // nil or a JSON object about the item, its _meta
}

// Result is the result of a tool. Structured is nil or a JSON object. Kind is the kind of
// an error, for statistics only. OnSent, if not nil, is called once and reports whether
// the response was sent, for tools that deliver each item once. Task is set if the result
// is not the last: clients that know tasks get the task in its place.
type Result struct {
	Content    []Content
	Structured json.RawMessage `json:",omitempty"`
	IsError    bool
	Kind       fault.Kind
	OnSent     func(sent bool) `json:"-"`
	Task       *Task           `json:"-"`
}

// ToolSet is the set of tools behind a Server. It must be safe for concurrent use. Call
// must not retain arguments. It reports the failure of a tool in the Result; its error is
// an *rpc.Error for a call that reaches no tool.
type ToolSet interface {
	Tools() []Tool
	Call(ctx context.Context, caller principal.Caller, name string, arguments json.RawMessage) (Result, error)
}

// UnknownTool is the error of Call for a tool that does not exist.
func UnknownTool(message string) error {
	return &rpc.Error{Code: rpc.CodeInvalidParams, Message: message}
}

// rendering is how results are written for legacy or modern requests.
type rendering struct {
	open       []byte // a result up to its own members
	structured bool   // with structured content
}

// appendResult appends r as the result of tools/call.
func appendResult(dst []byte, r *Result, as rendering) []byte {
	dst = append(append(dst, as.open...), `"content":[`...)
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
	if as.structured && r.Structured != nil {
		dst = append(dst, `,"structuredContent":`...)
		dst = append(dst, r.Structured...)
	}
	if r.IsError {
		dst = append(dst, `,"isError":true`...)
	}
	return append(dst, '}')
}

// listed returns the tools as clients see them. Without structured content a tool has no
// output schema, which describes it, and no title but that of its annotations: both came
// with later revisions, which do not require them.
func listed(tools []Tool, structured bool) []Tool {
	tools = slices.Clone(tools)
	for i := range tools {
		if !structured {
			tools[i].Title, tools[i].OutputSchema = "", nil
		}
	}
	return tools
}

// listTools marshals the result of tools/list.
func listTools(tools []Tool, structured bool) (json.RawMessage, error) {
	data, err := strictjson.Marshal(struct {
		Tools []Tool `json:"tools"`
	}{listed(tools, structured)})
	if err != nil {
		return nil, fmt.Errorf("marshal the tool list: %w", err)
	}
	return data, nil
}
