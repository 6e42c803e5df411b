// Package httpd serves MCP over HTTP. It checks requests (host, origin, media types,
// size, token), passes MCP bodies to the dispatcher and writes notifications to streams.
// It keeps no sessions. routes.go lists every route.
package httpd
