// Package mcp implements the Model Context Protocol without a transport: revision
// 2025-03-26, and beside it 2026-07-28 unless that is turned off. HTTP and stdio pass message
// bodies to one Server. It keeps no sessions.
package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"candela/internal/kit/lograte"
	"candela/internal/kit/principal"
	"candela/internal/kit/strictjson"
	"candela/internal/serve/rpc"
)

// ProtocolVersion is the revision that initialize returns for any requested one. A client
// that does not support it disconnects, as the protocol says.
const ProtocolVersion = "2025-03-26"

const (
	methodInitialize = "initialize"
	methodListTools  = "tools/list"
	methodCallTool   = "tools/call"
)

// AllowsAnonymous reports whether a method needs no bearer token, so that a client can
// list the tools before it is approved.
func AllowsAnonymous(method string) bool {
	return method == methodInitialize || method == methodListTools
}

// Config describes the server to clients.
type Config struct {
	Name         string
	Title        string
	Version      string
	Instructions string        // for the model: the purpose of the tools and where to start
	Channel      bool          // announce a Claude Code channel
	Modern       bool          // also serve ModernVersion
	Resources    ResourceSet   // for ModernVersion; nil for none
	Structured   bool          // list output schemas and write each JSON result as structured content, too
	App          *App          // for clients that show apps; nil for none
	Tasks        TaskSet       // for ModernVersion; nil for none
	Approvals    string        // the address of the pages where the owner decides, without the last slash; "" for none
	Secret       func() []byte // seals the state of calls that wait for the owner, at least seal.MinSecret bytes; nil for none
	Log          *slog.Logger

	// Called gets each call of a tool with its outcome, before the answer is written. It may be nil.
	Called func(caller principal.Caller, tool string, result Result, err error)
}

// Server answers MCP messages. It is safe for concurrent use.
type Server struct {
	tools      ToolSet
	called     func(principal.Caller, string, Result, error) // nil for nobody
	urgent     []string                                      // names of urgent tools
	log        *slog.Logger
	limitedLog *slog.Logger // rate-limited, for messages that anyone can cause
	initialize json.RawMessage
	list       json.RawMessage
	legacy     rendering
	modern     *modernServer // nil if only legacy requests are served
	apps       *appServer    // nil without an app
	active     activeCalls
	counters   counters
}

// Origin describes where a message came from.
type Origin struct {
	Caller        principal.Caller
	RequestID     string // of the HTTP request, for the log and internal errors
	Authorization bool   // the request had an Authorization header
	Header        Header // of the HTTP request; nil on stdio
	Apps          bool   // the client has announced in initialize that it shows apps
}

// NewServer returns a Server over tools. It fails only if they cannot be marshalled.
func NewServer(tools ToolSet, cfg Config) (*Server, error) {
	offered := tools.Tools()
	list, err := listTools(offered, cfg.Structured)
	if err != nil {
		return nil, err
	}
	welcome, err := hello(cfg, "")
	if err != nil {
		return nil, err
	}
	apps, err := newAppServer(offered, cfg)
	if err != nil {
		return nil, err
	}
	s := &Server{
		tools: tools, called: cfg.Called, log: cfg.Log, limitedLog: lograte.New(cfg.Log), initialize: welcome, list: list, apps: apps, legacy: rendering{open: []byte{'{'}, structured: cfg.Structured},
		active: activeCalls{calls: map[activeCallKey][]*activeCall{}}, counters: newCounters(offered, cfg),
	}
	for _, t := range offered {
		if t.Urgent {
			s.urgent = append(s.urgent, t.Name)
		}
	}
	if cfg.Modern {
		s.modern, err = newModernServer(offered, cfg, apps)
	}
	return s, err
}

// hello marshals the result of initialize. more is further capabilities, or "".
func hello(cfg Config, more string) (json.RawMessage, error) {
	capabilities := `{"tools":{}`
	if cfg.Channel {
		capabilities += `,"experimental":{"claude/channel":{}}`
	}
	if more != "" {
		capabilities += "," + more
	}
	data, err := json.Marshal(struct {
		ProtocolVersion string          `json:"protocolVersion"`
		Capabilities    json.RawMessage `json:"capabilities"`
		ServerInfo      serverInfo      `json:"serverInfo"`
		Instructions    string          `json:"instructions,omitempty"`
	}{ProtocolVersion, json.RawMessage(capabilities + "}"), serverInfo{cfg.Name, cfg.Title, cfg.Version}, cfg.Instructions})
	if err != nil {
		return nil, fmt.Errorf("marshal the initialize result: %w", err)
	}
	return data, nil
}

// serverInfo identifies the server to clients.
type serverInfo struct {
	Name    string `json:"name"`
	Title   string `json:"title,omitempty"`
	Version string `json:"version"`
}

// Job is a received body that is not yet answered.
type Job struct {
	server *Server
	ctx    context.Context // of the request; a job lives no longer
	from   Origin
	body   rpc.Body
	modern *envelope     // of a single modern request
	active []*activeCall // of the slow calls, in order
	full   bool          // the answers are so long that no more is done
	onSent []func(sent bool)

	refusal *rpc.Error // of a single modern request that was not executed
	failed  *rpc.Error // of Subscribe
}

// Receive registers the slow calls of a body, which can be cancelled from then on. So a
// transport must receive bodies in the order of arrival, even if it answers them
// concurrently. Append must be called once.
func (s *Server) Receive(ctx context.Context, from Origin, body rpc.Body) *Job {
	job := &Job{server: s, ctx: ctx, from: from, body: body}
	if !body.Batch {
		job.modern = s.modernEnvelope(from, body.Calls[0])
	}
	for _, call := range body.Calls {
		if s.IsSlow(call) {
			job.active = append(job.active, s.active.add(ctx, from.Caller.Key, call.ID))
		}
	}
	return job
}

// ReportSent reports to the tools whether their results were sent. A transport calls it
// after Append if NeedsSentReport returns true.
func (j *Job) ReportSent(sent bool) {
	for _, report := range j.onSent {
		report(sent)
	}
	j.onSent = nil
}

// NeedsSentReport reports whether a tool waits for ReportSent.
func (j *Job) NeedsSentReport() bool { return len(j.onSent) > 0 }

// IsSlow reports whether the job may be slow.
func (j *Job) IsSlow() bool { return len(j.active) > 0 }

// TokenEnded reports whether the token of the job has ended, so that the remaining calls
// were not executed.
func (j *Job) TokenEnded() bool { return principal.TokenEnded(j.ctx) }

// IsSlow reports whether a call may be slow, because it calls a tool or reads or watches
// a resource.
func (s *Server) IsSlow(call rpc.Call) bool {
	if call.Err != nil || call.Kind != rpc.Request {
		return false
	}
	return call.Method == methodCallTool || s.modern != nil && (call.Method == methodReadResource || call.Method == methodListen || isTaskMethod(call.Method))
}

// maxBatchReply is the size of a batch response after which no further call is executed:
// a small request must not fill the memory.
const maxBatchReply = 4 << 20

// Errors of calls that are not executed, or whose token ends meanwhile.
var (
	errBatchFull = &rpc.Error{Code: rpc.CodeRefused, Message: "the response to this batch has reached 4 MiB; this call was not executed: send it in another request"}
	errNotBegun  = &rpc.Error{Code: rpc.CodeUnauthorized, Message: "unauthorized: the bearer token has ended; this call was not executed"}
	errCutOff    = &rpc.Error{Code: rpc.CodeUnauthorized, Message: "unauthorized: the bearer token ended during this call; it may have been executed"}
)

// Append executes the messages of the body in order and appends the response, which is
// empty for notifications. The response to a batch is one array.
func (j *Job) Append(dst []byte) []byte {
	if !j.body.Batch {
		return j.appendCall(dst, j.body.Calls[0])
	}
	start := len(dst)
	for _, call := range j.body.Calls {
		j.full = len(dst)-start > maxBatchReply
		if call.Err == nil && call.Method == methodInitialize {
			call.Err = &rpc.Error{Code: rpc.CodeInvalidRequest, Message: "invalid request: initialize must not be part of a batch"}
		}
		mark := len(dst)
		dst = append(dst, ',')
		dst = j.appendCall(dst, call)
		if len(dst) == mark+1 {
			dst = dst[:mark]
		}
	}
	if len(dst) == start {
		return dst
	}
	dst[start] = '['
	return append(dst, ']')
}

// appendCall answers and logs one message.
func (j *Job) appendCall(dst []byte, call rpc.Call) []byte {
	began, s := time.Now(), j.server
	line := logRecord{method: call.Method}
	switch {
	case s.IsSlow(call):
		fl := j.active[0]
		j.active = j.active[1:]
		dst = j.appendAnswer(fl.ctx, dst, call.Message, &line)
		s.active.remove(fl)
	case call.Err != nil && call.Kind == rpc.Notification:
		line.code = call.Err.Code
	case call.Err != nil:
		line.code = call.Err.Code
		dst = rpc.AppendError(dst, call.ID, call.Err)
	case call.Kind == rpc.Request:
		dst = j.appendAnswer(j.ctx, dst, call.Message, &line)
	case call.Kind == rpc.Notification && call.Method == "notifications/cancelled":
		s.active.cancel(j.from.Caller.Key, call.Params)
	default:
		// Other notifications and responses need nothing. A request method without an id
		// is a notification and does not run: the client could not learn its result.
	}
	took := time.Since(began)
	s.counters.add(&line, took)
	s.logMessage(j.ctx, j.from, line, took)
	return dst
}

func (j *Job) appendAnswer(ctx context.Context, dst []byte, m rpc.Message, line *logRecord) []byte {
	mark := len(dst)
	var failure *rpc.Error
	switch {
	case principal.TokenEnded(ctx):
		failure = errNotBegun
	case j.full:
		failure = errBatchFull
	case j.modern != nil:
		dst, failure = j.appendModern(ctx, dst, m, line)
	case j.body.Batch && j.server.modernEnvelope(j.from, rpc.Call{Message: m}) != nil:
		failure = errModernBatch
	default:
		dst, failure = j.appendLegacy(ctx, dst, m, line)
	}
	if failure != nil {
		line.code = failure.Code
		dst = rpc.AppendError(dst[:mark], m.ID, failure)
	}
	return dst
}

func (j *Job) appendLegacy(ctx context.Context, dst []byte, m rpc.Message, line *logRecord) ([]byte, *rpc.Error) {
	if failure := newerRevision(m); failure != nil {
		return dst, failure
	}
	s := j.server
	if s.apps != nil && j.from.Apps {
		if dst, failure, done := j.appendApps(ctx, dst, m); done {
			return dst, failure
		}
	}
	switch m.Method {
	case methodInitialize:
		line.client = clientName(m.Params)
		welcome := s.initialize
		if _, apps := s.AppsSession(j.body, ""); apps {
			welcome = s.apps.initialize
		}
		return rpc.AppendResult(dst, m.ID, welcome), nil
	case "ping":
		return rpc.AppendResult(dst, m.ID, json.RawMessage("{}")), nil
	case methodListTools:
		if failure := checkCursor(m.Params); failure != nil {
			return dst, failure
		}
		return rpc.AppendResult(dst, m.ID, s.list), nil
	case methodCallTool:
		return j.appendToolCall(ctx, dst, m, line, s.legacy)
	}
	return dst, &rpc.Error{Code: rpc.CodeMethodNotFound, Message: fmt.Sprintf("method not found: %q; offered: initialize, ping, tools/list, tools/call", m.Method)}
}

// mostUrgent bounds the params of an urgent call, in bytes.
const mostUrgent = 1 << 10

// Urgent reports whether a message calls an urgent tool.
func (s *Server) Urgent(m rpc.Message) bool {
	if m.Method != methodCallTool || m.Params == nil || len(m.Params) > mostUrgent {
		return false
	}
	name, _, failure := callParams(m.Params)
	return failure == nil && slices.Contains(s.urgent, name)
}

// checkCursor rejects any cursor, because each list has one page.
func checkCursor(params json.RawMessage) *rpc.Error {
	for key, value := range strictjson.Fields(params) {
		if key == "cursor" && value[0] != 'n' {
			return invalidParams("cursor: the tool list has only one page")
		}
	}
	return nil
}

func invalidParams(reason string) *rpc.Error {
	return &rpc.Error{Code: rpc.CodeInvalidParams, Message: "invalid params: " + reason}
}

// newerRevision rejects requests of revisions without initialize, which name their
// revision in each request. Clients of such a revision fall back to initialize only if the
// error does not look like one of a newer server.
func newerRevision(m rpc.Message) *rpc.Error {
	newer := m.Method == "server/discover"
	if !newer && bytes.Contains(m.Params, []byte(metaVersion)) {
		requested := textIn(m.Params, "_meta", metaVersion)
		newer = requested != "" && requested != ProtocolVersion
	}
	if !newer {
		return nil
	}
	return &rpc.Error{Code: rpc.CodeMethodNotFound, Message: fmt.Sprintf("method not found: %q; this server speaks %s and begins with initialize", m.Method, ProtocolVersion)}
}

// textIn returns the text of a member of an object that params contain, or "".
func textIn(params json.RawMessage, object, name string) string {
	for key, value := range strictjson.Fields(params) {
		if key == object && value[0] == '{' {
			return textField(value, name)
		}
	}
	return ""
}

func clientName(params json.RawMessage) string { return textIn(params, "clientInfo", "name") }

// Initializes reports whether a body is an initialize request.
func Initializes(body rpc.Body) bool {
	return !body.Batch && body.Calls[0].Err == nil && body.Calls[0].Kind == rpc.Request && body.Calls[0].Method == methodInitialize
}

// ClientName returns the client's unverified name, shortened, from an initialize or
// modern request, and "" for any other body.
func (s *Server) ClientName(body rpc.Body) string {
	for _, call := range body.Calls {
		switch {
		case call.Err != nil || call.Kind != rpc.Request:
		case call.Method == methodInitialize:
			return shorten(clientName(call.Params))
		case s.modern != nil:
			if e := readEnvelope(call.Params); e.client != "" {
				return shorten(e.client)
			}
		}
	}
	return ""
}
