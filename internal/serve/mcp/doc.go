// Package mcp implements the Model Context Protocol (revision 2025-03-26) without a
// transport. HTTP and stdio pass message bodies to one Server. It keeps no sessions.
package mcp

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
