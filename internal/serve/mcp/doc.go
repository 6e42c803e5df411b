// Package mcp is the Model Context Protocol, revision 2025-03-26, without a
// transport: the methods a server answers, the shapes of tools and results, and
// which methods need a token. HTTP and stdio hand their messages to one Server,
// so a client finds the same service behind either. It keeps no session: all
// that a call depends on is in the call.
package mcp

// ProtocolVersion is the revision that initialize answers whatever the client
// asks for; a client that cannot speak it disconnects, as the protocol says.
const ProtocolVersion = "2025-03-26"

const (
	methodInitialize = "initialize"
	methodListTools  = "tools/list"
	methodCallTool   = "tools/call"
)

// AllowsAnonymous reports whether a method is answered without a bearer token, so that a
// connector can list the tools before anyone has approved it.
func AllowsAnonymous(method string) bool {
	return method == methodInitialize || method == methodListTools
}
