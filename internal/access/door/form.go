package door

import (
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"candela/internal/kit/loopback"
	"candela/lib/fault"
)

// SameOrigin reports whether a form was sent by a page of an origin. A browser says so in Origin,
// which a page cannot change, and in Sec-Fetch-Site.
func SameOrigin(base *url.URL, r *http.Request) bool {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" {
		return false
	}
	origins := r.Header["Origin"]
	if len(origins) != 1 {
		return false
	}
	u, err := url.Parse(origins[0])
	if err != nil || u.Host == "" {
		return false // also "null"
	}
	if strings.EqualFold(u.Scheme, base.Scheme) && strings.EqualFold(u.Host, base.Host) {
		return true
	}
	// On loopback the same server has several names.
	return loopback.Host(strings.ToLower(base.Hostname())) && loopback.Host(strings.ToLower(u.Hostname())) && strings.EqualFold(u.Host, r.Host)
}

// Rebound reports whether a loopback server is addressed by another name, as after DNS
// rebinding.
func Rebound(base *url.URL, r *http.Request) bool {
	host := (&url.URL{Host: r.Host}).Hostname()
	return loopback.Host(strings.ToLower(base.Hostname())) && !loopback.Host(strings.ToLower(host))
}

// Harden sets the headers of every response: nothing but this origin's own files, no frames,
// no caches, no other origins. secure is whether the server is reached over https.
func Harden(h http.Header, secure bool) {
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	// Not no-referrer: it would make the Origin of a form "null".
	h.Set("Referrer-Policy", "same-origin")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	if secure {
		h.Set("Strict-Transport-Security", "max-age=31536000")
	}
}

// ReadForm reads the body of a form of at most so many bytes, or answers the request.
func ReadForm(w http.ResponseWriter, r *http.Request, most int64) bool {
	kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	if !strings.EqualFold(strings.TrimSpace(kind), "application/x-www-form-urlencoded") {
		http.Error(w, "The form must be application/x-www-form-urlencoded.", http.StatusUnsupportedMediaType)
		return false
	}
	r.Body = http.MaxBytesReader(w, r.Body, most)
	if err := r.ParseForm(); err != nil {
		_, _ = io.Copy(io.Discard, r.Body)
		http.Error(w, "The form could not be read.", http.StatusBadRequest)
		return false
	}
	return true
}

// StatusOf returns the status of a page that shows an error.
func StatusOf(err error) int {
	switch fault.KindOf(err) {
	case fault.NotFound:
		return http.StatusNotFound
	case fault.Unauthorized:
		return http.StatusForbidden
	case fault.Conflict:
		return http.StatusConflict
	case fault.Unavailable:
		return http.StatusServiceUnavailable
	case fault.Internal:
		return http.StatusInternalServerError
	default:
		return http.StatusUnprocessableEntity
	}
}

// WriteHTML writes a page.
func WriteHTML(w http.ResponseWriter, status int, page []byte) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(len(page)))
	w.WriteHeader(status)
	_, _ = w.Write(page) // the browser may have left
}
