// Package rpc reads and writes JSON-RPC 2.0 as MCP uses it. It knows no method
// and does no I/O: the transports hand it bytes and the dispatcher hands it
// results.
//
// Reading is strict on purpose. A body that two decoders can read differently
// (a key given twice, keys that differ in case, bytes after the end, invalid
// UTF-8) is refused, because the token check and the dispatcher must never
// disagree about what a request says.
package rpc
