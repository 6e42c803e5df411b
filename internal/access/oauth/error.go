package oauth

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"strconv"
	"time"
)

// Error is the public error of a refused request. writeError renders it as JSON (RFC
// 6749 5.2), as a page for a person, or as a redirect to the client.
type Error struct {
	Status      int
	Code        string        // "invalid_request"
	Description string        // safe to show; names the parameter at fault
	RetryAfter  time.Duration // zero if waiting does not help

	page bool         // render a page if a browser asks
	back *destination // redirect the error to the client
	heal string       // link that makes a client of an earlier run register again
	// remedy says what the owner can do in the program; "" if nothing
	remedy string
	// title and lead replace those of the page; "" for the usual ones
	title, lead string
}

// Error returns code and description, for logs.
func (e *Error) Error() string { return e.Code + ": " + e.Description }

func refuse(status int, code, description string) *Error {
	return &Error{Status: status, Code: code, Description: description}
}

func invalidRequest(description string) *Error {
	return refuse(http.StatusBadRequest, "invalid_request", description)
}

func invalidGrant(description string) *Error {
	return refuse(http.StatusBadRequest, "invalid_grant", description)
}

// invalidClient makes SDK clients register again, which they must after a restart.
func invalidClient(status int, description string) *Error {
	return refuse(status, "invalid_client", description)
}

const unknownClient = "client_id is not registered; registrations end when the server restarts: register again"

func tooLarge() *Error {
	return refuse(http.StatusRequestEntityTooLarge, "invalid_request", "the body is longer than 16 KiB")
}

func slowDown(wait time.Duration) *Error {
	e := refuse(http.StatusTooManyRequests, "temporarily_unavailable", "too many requests; try again later")
	e.RetryAfter = wait
	return e
}

// serverError hides an internal failure; the log has it.
func serverError() *Error {
	return refuse(http.StatusInternalServerError, "server_error", "internal error; see the server's log")
}

// full refuses a login for which the store has no room.
func full() *Error {
	e := refuse(http.StatusServiceUnavailable, "temporarily_unavailable", "this server has as many logins as it may hold; try again later")
	e.RetryAfter = time.Minute
	return e
}

// writeError renders and logs an Error.
func (s *Server) writeError(w http.ResponseWriter, r *http.Request, e *Error) {
	status := e.Status
	if e.back != nil {
		status = http.StatusSeeOther // the browser delivers it to the client
	}
	s.limitedLog.LogAttrs(r.Context(), slog.LevelInfo, "[OAuth] request refused",
		slog.String("endpoint", r.URL.Path), slog.Int("status", status),
		slog.String("error", e.Code), slog.String("reason", e.Description))
	if e.RetryAfter > 0 {
		setRetryAfter(w, e.RetryAfter)
	}
	switch {
	case e.back != nil:
		s.sendBack(w, *e.back, "error", e.Code, "error_description", e.Description)
	case e.page && wantsHTML(r):
		s.writePage(w, e.Status, pageData{Problem: e})
	default:
		writeJSON(w, e.Status, struct {
			Code        string `json:"error"`
			Description string `json:"error_description"`
		}{e.Code, e.Description})
	}
}

// writeErrorPage is writeError for a request that a browser may have sent.
func (s *Server) writeErrorPage(w http.ResponseWriter, r *http.Request, e *Error) {
	e.page = true
	s.writeError(w, r, e)
}

// setRetryAfter rounds up: a client that returns too early is refused again.
func setRetryAfter(w http.ResponseWriter, wait time.Duration) {
	w.Header().Set("Retry-After", strconv.Itoa(int((wait+time.Second-1)/time.Second)))
}

// writeJSON writes an uncacheable JSON response. RFC 6749 5.1.
func writeJSON(w http.ResponseWriter, status int, body any) {
	raw, err := json.Marshal(body)
	if err != nil { // only a type that cannot be marshalled
		status, raw = http.StatusInternalServerError, []byte(`{"error":"server_error"}`)
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Length", strconv.Itoa(len(raw)))
	w.WriteHeader(status)
	_, _ = w.Write(raw) // the client may have disconnected
}
