package oauth

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"strconv"
	"time"
)

// Error is what a client is told when a request is refused. Handlers return it
// and one writer renders it: as JSON (RFC 6749 5.2), as a page for a person at a
// browser, or as a redirect to the client.
type Error struct {
	Status      int
	Code        string        // "invalid_request"
	Description string        // safe to show; names the parameter at fault
	RetryAfter  time.Duration // how long to wait, zero when that does not help

	page bool         // a person may be reading
	back *destination // the client to which the browser takes the error
	heal string       // a link that lets a client of a former run start anew
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

func invalidTarget() *Error {
	return refuse(http.StatusBadRequest, "invalid_target", "resource is not an address of this server")
}

// invalidClient makes SDK clients forget their registration and register again,
// which is what brings them back after a restart.
func invalidClient(status int, description string) *Error {
	return refuse(status, "invalid_client", description)
}

const unknownClient = "client_id is not registered here; registrations end when the server restarts: register again"

func tooLarge() *Error {
	return refuse(http.StatusRequestEntityTooLarge, "invalid_request", "the body may have at most 16 KiB")
}

func slowDown(wait time.Duration) *Error {
	e := refuse(http.StatusTooManyRequests, "temporarily_unavailable", "too many requests; try again later")
	e.RetryAfter = wait
	return e
}

// serverError hides a failure of ours; the log has it.
func serverError() *Error {
	return refuse(http.StatusInternalServerError, "server_error", "the server could not do it; its log says why")
}

// writeError is the one writer of refusals.
func (s *Server) writeError(w http.ResponseWriter, r *http.Request, e *Error) {
	status := e.Status
	if e.back != nil {
		status = http.StatusSeeOther // the client hears of it, by way of the browser
	}
	s.limitedLog.LogAttrs(r.Context(), slog.LevelInfo, "[OAuth] refused",
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

// setRetryAfter rounds up: a client that comes back too early is refused again.
func setRetryAfter(w http.ResponseWriter, wait time.Duration) {
	w.Header().Set("Retry-After", strconv.Itoa(int((wait+time.Second-1)/time.Second)))
}

// writeJSON answers with an object that no cache may keep. RFC 6749 5.1.
func writeJSON(w http.ResponseWriter, status int, body any) {
	raw, err := json.Marshal(body)
	if err != nil { // only a type that cannot be written, which a test would meet first
		status, raw = http.StatusInternalServerError, []byte(`{"error":"server_error"}`)
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Length", strconv.Itoa(len(raw)))
	w.WriteHeader(status)
	_, _ = w.Write(raw) // a client that went away is nobody's error
}
