// Package httpd is the HTTP front: it decides which requests may enter (host,
// origin, media types, size, token) and carries MCP bodies to the dispatcher and
// notifications to the streams. What a method means is not its business, and it
// keeps no session. routes.go shows every route on one screen.
package httpd
