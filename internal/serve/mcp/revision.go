package mcp

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"candela/internal/kit/strictjson"
	"candela/internal/serve/rpc"
)

// ModernVersion is the revision without a handshake that a Server can also serve. The
// specification calls such revisions modern, and those with initialize legacy.
const ModernVersion = "2026-07-28"

// Keys of _meta in modern messages.
const (
	metaPrefix       = "io.modelcontextprotocol/"
	metaVersion      = metaPrefix + "protocolVersion"
	metaCapabilities = metaPrefix + "clientCapabilities"
	metaClient       = metaPrefix + "clientInfo"
	metaServer       = metaPrefix + "serverInfo"
	metaSubscription = metaPrefix + "subscriptionId"
)

// Header is the header of an HTTP request. That of a modern one repeats parts of the body,
// so that proxies can decide by it; both must agree.
type Header map[string][]string

// The names of the repeated parts, as net/http writes them.
const (
	headerVersion = "Mcp-Protocol-Version"
	headerMethod  = "Mcp-Method"
	headerName    = "Mcp-Name"
)

// isLegacy reports whether a revision begins with initialize. Requests after the handshake
// may name any of them in the header.
func isLegacy(revision string) bool {
	return slices.Contains([]string{"", "2024-11-05", ProtocolVersion, "2025-06-18", "2025-11-25"}, revision)
}

// envelope is what a request states about itself in _meta.
type envelope struct {
	version      json.RawMessage // nil if absent
	capabilities json.RawMessage
	client       string
}

func readEnvelope(params json.RawMessage) (e envelope) {
	for key, value := range strictjson.Fields(params) {
		if key != "_meta" || value[0] != '{' {
			continue
		}
		for key, value := range strictjson.Fields(value) {
			switch key {
			case metaVersion:
				e.version = value
			case metaCapabilities:
				e.capabilities = value
			case metaClient:
				if value[0] == '{' {
					e.client = textField(value, "name")
				}
			}
		}
	}
	return e
}

// isModern decides whether a request is modern or legacy, and nothing else does. It is
// modern if _meta names a revision other than the legacy one that is served, if its method
// exists in modern revisions only, or if its HTTP header names a modern one or repeats
// another method or name: a proxy that trusts the header relies on the checks that follow.
// An initialize without a revision in _meta is always legacy.
func (e *envelope) isModern(header Header, m rpc.Message) bool {
	switch {
	case e.version != nil:
		if version, ok := strictjson.Text(e.version); !ok || version != ProtocolVersion {
			return true
		}
	case m.Method == methodInitialize:
		return false
	case m.Method == methodDiscover || m.Method == methodListen:
		return true
	}
	return slices.ContainsFunc(header[headerVersion], func(value string) bool { return !isLegacy(value) }) || contradicts(header, m)
}

// contradicts reports whether the header has a method or name that the body does not have.
func contradicts(header Header, m rpc.Message) bool {
	return len(header[headerMethod]) > 0 && sameMethod(header, m) != nil || len(header[headerName]) > 0 && sameName(header, m) != nil
}

// check returns why a modern request is refused before its method is looked up, or nil.
// header is nil where there is none.
func (e *envelope) check(header Header, m rpc.Message) *rpc.Error {
	version, ok := strictjson.Text(e.version)
	if !ok {
		return invalidParams(`_meta must contain "` + metaVersion + `", a string`)
	}
	if header != nil {
		if failure := sameVersion(header[headerVersion], version); failure != nil {
			return failure
		}
	}
	if version != ModernVersion {
		data, _ := json.Marshal(unsupported{supportedVersions(), shorten(version)}) // texts always can be
		return &rpc.Error{Code: rpc.CodeUnsupportedVersion, Message: fmt.Sprintf("unsupported protocol version %q; supported: %s", shorten(version), strings.Join(supportedVersions(), ", ")), Data: data}
	}
	if header != nil {
		if failure := cmp.Or(sameMethod(header, m), sameName(header, m)); failure != nil {
			return failure
		}
	}
	if e.capabilities == nil || e.capabilities[0] != '{' {
		return invalidParams(`_meta must contain "` + metaCapabilities + `", an object`)
	}
	return nil
}

// unsupported is the data of the error about an unknown revision.
type unsupported struct {
	Supported []string `json:"supported"`
	Requested string   `json:"requested"`
}

// supportedVersions lists what a modern Server supports.
func supportedVersions() []string { return []string{ModernVersion, ProtocolVersion} }

// sameVersion compares the revision in the header with that of the body.
func sameVersion(values []string, version string) *rpc.Error {
	return sameText("MCP-Protocol-Version", values, "the revision in _meta", version, false)
}

// sameMethod compares the method in the header with that of the body.
func sameMethod(header Header, m rpc.Message) *rpc.Error {
	return sameText(headerMethod, header[headerMethod], "method", m.Method, false)
}

// sameName compares the name in the header with that of the body.
func sameName(header Header, m rpc.Message) *rpc.Error {
	field := ""
	switch m.Method {
	case methodCallTool, "prompts/get":
		field = "name"
	case methodReadResource:
		field = "uri"
	case methodGetTask, methodUpdateTask, methodCancelTask:
		field = "taskId"
	}
	if field == "" {
		return nil
	}
	return sameText(headerName, header[headerName], "params."+field, textField(m.Params, field), true)
}

// sameText compares a header with a text of the body. Names may be encoded, because a
// header has no place for all characters.
func sameText(name string, values []string, field, want string, encoded bool) *rpc.Error {
	reason := "is missing"
	switch {
	case len(values) == 0 && want == "":
		return nil // the method reports what the body lacks
	case len(values) > 1:
		reason = "occurs more than once"
	case len(values) == 1:
		value, ok := strings.TrimSpace(values[0]), true
		if inner, wrapped := strings.CutPrefix(value, "=?base64?"); encoded && wrapped && strings.HasSuffix(inner, "?=") {
			value, ok = decodeText(strings.TrimSuffix(inner, "?="))
		}
		switch {
		case !ok:
			reason = fmt.Sprintf("is %q, which is not valid base64", shorten(values[0]))
		case value != want:
			reason = fmt.Sprintf("is %q, but %s is %q", shorten(value), field, shorten(want))
		default:
			return nil
		}
	}
	return &rpc.Error{Code: rpc.CodeHeaderMismatch, Message: fmt.Sprintf("header mismatch: %s %s; it must repeat %s of the body", name, reason, field)}
}

func decodeText(encoded string) (string, bool) {
	data, err := base64.StdEncoding.Strict().DecodeString(encoded)
	return string(data), err == nil
}

// textField returns the text of a member of an object, or "".
func textField(object json.RawMessage, name string) string {
	for key, value := range strictjson.Fields(object) {
		if key == name {
			text, _ := strictjson.Text(value)
			return text
		}
	}
	return ""
}
