package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"candela/internal/kit/strictjson"
	"candela/internal/serve/rpc"
)

// Methods of modern requests, beside tools/list and tools/call.
const (
	methodDiscover      = "server/discover"
	methodListResources = "resources/list"
	methodListTemplates = "resources/templates/list"
	methodReadResource  = "resources/read"
	methodListen        = "subscriptions/listen"
)

// listTTL is how long clients may cache what changes only with the program, in
// milliseconds.
const listTTL = 3_600_000

// modernServer is the part of a Server that answers modern requests.
type modernServer struct {
	as        rendering
	constant  map[string]json.RawMessage // results of the methods that have no arguments
	resources ResourceSet                // nil for none
	offered   string                     // the methods, for errors
	tasks     TaskSet                    // nil for none
	long      []string                   // names of tools that may become tasks
	later     []byte                     // a result that is a task, up to its own members
	asking    []byte                     // a result that waits for the owner, likewise
	approvals string                     // address of the owner's pages, "" for none
	secret    func() []byte              // seals states; nil for none

	mu        sync.Mutex
	listening map[string]int // open subscriptions by token
}

func newModernServer(tools []Tool, cfg Config, apps *appServer) (*modernServer, error) {
	meta, err := json.Marshal(map[string]any{metaServer: serverInfo{cfg.Name, cfg.Title, cfg.Version}})
	if err != nil {
		return nil, fmt.Errorf("marshal the server info: %w", err)
	}
	m := &modernServer{
		as:    rendering{open: opened("complete", meta), structured: cfg.Structured},
		later: opened("task", meta), asking: opened(inputRequired, meta),
		resources: cfg.Resources, listening: map[string]int{}, tasks: cfg.Tasks, approvals: cfg.Approvals, secret: cfg.Secret,
	}
	m.offered = strings.Join([]string{methodDiscover, methodListTools, methodCallTool}, ", ")
	capabilities, extensions := `{"tools":{}`, ""
	var resources []Resource
	if m.tasks != nil {
		m.offered += ", " + strings.Join([]string{methodGetTask, methodUpdateTask, methodCancelTask}, ", ")
		extensions = `"` + tasksExtension + `":{}`
		for _, t := range tools {
			if t.Long {
				m.long = append(m.long, t.Name)
			}
		}
	}
	if m.resources != nil {
		m.offered += ", " + strings.Join([]string{methodListResources, methodListTemplates, methodReadResource, methodListen}, ", ")
		capabilities += `,"resources":{"subscribe":true}`
		resources = m.resources.Resources()
	}
	if m.constant, err = m.results(tools, resources, announced(capabilities, extensions), cfg.Instructions, publicHint()); err != nil || apps == nil {
		return m, err
	}
	if m.resources == nil {
		capabilities += `,"resources":{}`
	}
	if tools, err = appTools(tools, apps.app); err != nil {
		return nil, err
	}
	// Other clients get other results, so these are for this one alone.
	if extensions != "" {
		extensions += ","
	}
	apps.modern, err = m.results(tools, append(resources, apps.resource()), announced(capabilities, extensions+appExtension), cfg.Instructions, cacheHint{listTTL, "private"})
	return m, err
}

// opened is a result of a type up to its own members.
func opened(kind string, meta []byte) []byte {
	return []byte(`{"resultType":"` + kind + `","_meta":` + string(meta) + `,`)
}

// announced is the capabilities with the members of extensions, "" for none.
func announced(capabilities, extensions string) string {
	if extensions == "" {
		return capabilities + "}"
	}
	return capabilities + `,"extensions":{` + extensions + `}}`
}

// results marshals the results of the methods that have no arguments. Without resources
// there are no methods for them.
func (m *modernServer) results(tools []Tool, resources []Resource, capabilities, instructions string, hint cacheHint) (map[string]json.RawMessage, error) {
	results := map[string]any{
		methodListTools: struct {
			Tools []Tool `json:"tools"`
			cacheHint
		}{listed(tools, m.as.structured), hint},
		methodDiscover: struct {
			Versions     []string        `json:"supportedVersions"`
			Capabilities json.RawMessage `json:"capabilities"`
			Instructions string          `json:"instructions,omitempty"`
			cacheHint
		}{supportedVersions(), json.RawMessage(capabilities), instructions, hint},
	}
	if resources != nil {
		results[methodListResources] = struct {
			Resources []Resource `json:"resources"`
			cacheHint
		}{resources, hint}
		results[methodListTemplates] = struct {
			Templates []struct{} `json:"resourceTemplates"`
			cacheHint
		}{[]struct{}{}, hint}
	}
	constant := map[string]json.RawMessage{}
	for method, result := range results {
		data, err := strictjson.Marshal(result)
		if err != nil {
			return nil, fmt.Errorf("marshal the result of %s: %w", method, err)
		}
		constant[method] = append(append(json.RawMessage{}, m.as.open...), data[1:]...)
	}
	return constant, nil
}

// cacheHint says how long a client may keep a result, and for whom.
type cacheHint struct {
	TTL   int    `json:"ttlMs"`
	Scope string `json:"cacheScope"`
}

// publicHint is the hint of results that are the same for every caller.
func publicHint() cacheHint { return cacheHint{listTTL, "public"} }

// errModernBatch is the answer to a modern request in a batch.
var errModernBatch = &rpc.Error{Code: rpc.CodeInvalidRequest, Message: "invalid request: revision " + ModernVersion + " has no batches; send each request on its own"}

// modernEnvelope returns the envelope of a modern request, and nil for any other message.
func (s *Server) modernEnvelope(from Origin, call rpc.Call) *envelope {
	if s.modern == nil || call.Err != nil || call.Kind != rpc.Request {
		return nil
	}
	if e := readEnvelope(call.Params); e.isModern(from.Header, call.Message) {
		return &e
	}
	return nil
}

// Versions returns the revisions that the server serves, the newest first.
func (s *Server) Versions() []string {
	if s.modern == nil {
		return []string{ProtocolVersion}
	}
	return supportedVersions()
}

// Modern reports whether the job answers a modern request.
func (j *Job) Modern() bool { return j.modern != nil }

// Refusal returns the error of a modern request that was not executed, or nil. Over HTTP
// it has a status of its own.
func (j *Job) Refusal() *rpc.Error { return j.refusal }

func (j *Job) appendModern(ctx context.Context, dst []byte, m rpc.Message, line *logRecord) ([]byte, *rpc.Error) {
	line.revision, line.client = ModernVersion, j.modern.client
	if j.refusal = j.modern.check(j.from.Header, m); j.refusal != nil {
		return dst, j.refusal
	}
	mark := len(dst)
	dst, failure := j.dispatchModern(ctx, dst, m, line)
	if line.cancelled = errors.Is(context.Cause(ctx), errCancelled); line.cancelled {
		return dst[:mark], nil // a cancelled request gets no response
	}
	if failure != nil && slices.Contains([]int{rpc.CodeMethodNotFound, rpc.CodeMissingCapability, rpc.CodeRefused}, failure.Code) {
		j.refusal = failure
	}
	return dst, failure
}

func (j *Job) dispatchModern(ctx context.Context, dst []byte, m rpc.Message, line *logRecord) ([]byte, *rpc.Error) {
	s, constant := j.server.modern, j.server.modern.constant
	if apps := j.server.apps; apps != nil && announcesApps(j.modern.capabilities) {
		constant = apps.modern
		uri := textField(m.Params, "uri")
		switch {
		case m.Method != methodReadResource:
		case uri == apps.app.URI:
			return j.appendPage(ctx, dst, m, string(s.as.open), `,"ttlMs":`+strconv.Itoa(listTTL)+`,"cacheScope":"private"`)
		case s.resources == nil:
			return dst, unknownResource(uri)
		}
	}
	if result := constant[m.Method]; result != nil {
		if failure := checkCursor(m.Params); failure != nil {
			return dst, failure
		}
		return rpc.AppendResult(dst, m.ID, result), nil
	}
	switch {
	case m.Method == methodCallTool:
		return j.appendToolCall(ctx, dst, m, line, s.as)
	case m.Method == methodReadResource && s.resources != nil:
		return j.appendResource(ctx, dst, m)
	case isTaskMethod(m.Method) && s.tasks != nil:
		return j.appendTaskAnswer(ctx, dst, m)
	case m.Method == methodListen && j.failed != nil:
		return dst, j.failed
	}
	return dst, &rpc.Error{Code: rpc.CodeMethodNotFound, Message: fmt.Sprintf("method not found: %q; revision %s offers %s", m.Method, ModernVersion, s.offered)}
}
