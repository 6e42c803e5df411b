// Package rpc reads and writes JSON-RPC 2.0 messages. It does no I/O.
//
// It rejects any body that two decoders could read differently (duplicate keys, keys
// that differ in case, trailing bytes, invalid UTF-8), because the token check and the
// dispatcher must agree about a request.
package rpc
