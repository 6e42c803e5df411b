package httpd

import (
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"candela/internal/kit/retry"
	"candela/internal/serve/rpc"
)

// exchange is one request on an MCP path and its response.
type exchange struct {
	s             *Server
	w             http.ResponseWriter
	r             *http.Request
	id            string
	authorization bool // the request has an Authorization header
}

func (s *Server) begin(w http.ResponseWriter, r *http.Request) *exchange {
	x := &exchange{s: s, w: w, r: r, id: s.requestID(), authorization: len(r.Header["Authorization"]) > 0}
	w.Header().Set("X-Request-Id", x.id)
	return x
}

// httpRefusal is the response to a request refused before the dispatcher.
type httpRefusal struct {
	status    int
	err       *rpc.Error
	challenge string        // WWW-Authenticate
	cause     error         // for the log
	retry     time.Duration // Retry-After; zero for none
	hold      time.Duration // before the answer, less than a second
	reply     []byte        // body; nil for err
}

func refuse(status int, message string) *httpRefusal {
	return &httpRefusal{status: status, err: &rpc.Error{Code: rpc.CodeRefused, Message: message}}
}

// refuse sends and logs the refusal. It uses the ids of the requests in body, or null if
// none is known.
func (x *exchange) refuse(ctx context.Context, body *rpc.Body, refusal *httpRefusal) {
	if refusal.challenge != "" {
		x.w.Header().Set("WWW-Authenticate", refusal.challenge)
	}
	if refusal.retry > 0 {
		x.w.Header().Set("Retry-After", strconv.Itoa(int(refusal.retry.Seconds())))
	}
	x.s.tallies.refuse(refusal.status)
	attrs := []slog.Attr{
		slog.Int("status", refusal.status), slog.String("reason", refusal.err.Message),
		slog.Bool("authorization", x.authorization), slog.String("request_id", x.id),
		slog.String("http_method", x.r.Method), slog.String("path", x.r.URL.Path),
	}
	if refusal.cause != nil {
		attrs = append(attrs, slog.Any("error", refusal.cause))
	}
	x.s.strangers.LogAttrs(ctx, slog.LevelInfo, "[MCP] request refused", attrs...)
	if refusal.status == http.StatusRequestTimeout || refusal.status == http.StatusRequestEntityTooLarge {
		x.w.Header().Set("Connection", "close") // the rest of the body is not read
	}
	reply := refusal.reply
	if len(reply) == 0 && body != nil {
		reply = body.AppendRefusal(nil, refusal.err)
	}
	if len(reply) == 0 {
		reply = rpc.AppendError(nil, nil, refusal.err)
	}
	if refusal.hold > 0 {
		_ = retry.Sleep(ctx, refusal.hold) // ends early if the client has disconnected
	}
	_ = x.write(refusal.status, reply) // the client may have disconnected
}

func (x *exchange) write(status int, body []byte) error {
	h := x.w.Header()
	h["Cache-Control"] = x.s.noStore
	if len(body) > 0 {
		h["Content-Type"] = x.s.jsonType
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	x.w.WriteHeader(status)
	_, err := x.w.Write(body)
	return err
}

// writeJSON writes a response outside MCP.
func writeJSON(w http.ResponseWriter, status int, body string) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write([]byte(body))
}
