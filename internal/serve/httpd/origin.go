package httpd

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"candela/internal/kit/loopback"
)

// admit refuses requests that a web page made a browser send: those with a foreign Origin
// and, on a loopback server, those whose Host is not loopback, as after DNS rebinding.
func (s *Server) admit(r *http.Request) *httpRefusal {
	for _, origin := range r.Header["Origin"] {
		if origin != "" && !s.knownOrigin(origin) {
			return refuse(http.StatusForbidden, "forbidden: the Origin is not allowed; add it to the allowed origins if it is yours")
		}
	}
	if s.rebound(r) {
		return refuse(http.StatusForbidden, "forbidden: the Host is not a loopback name; set the base URL to serve under another name")
	}
	return nil
}

// rebound reports whether a loopback server is addressed by another name.
func (s *Server) rebound(r *http.Request) bool {
	return loopbackHost(s.base.Hostname()) && !loopbackHost(hostname(r.Host))
}

func (s *Server) knownOrigin(origin string) bool {
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" {
		return false // includes "null"
	}
	if loopbackHost(u.Hostname()) || slices.Contains(s.cfg.AllowedOrigins, origin) {
		return true
	}
	return strings.EqualFold(u.Scheme, s.base.Scheme) && strings.EqualFold(u.Host, s.base.Host)
}

func hostname(hostport string) string {
	if !strings.Contains(hostport, ":") {
		return hostport // SplitHostPort would fail
	}
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		return host
	}
	return strings.TrimSuffix(strings.TrimPrefix(hostport, "["), "]")
}

func loopbackHost(host string) bool { return loopback.Host(strings.ToLower(host)) }

// setCORS lets a page of any origin read the response. These paths use no cookies, so the
// origin need not be named.
func setCORS(h http.Header, r *http.Request) {
	if len(r.Header["Origin"]) == 0 {
		return
	}
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Expose-Headers", "WWW-Authenticate, Mcp-Session-Id, Mcp-Protocol-Version, Retry-After, X-Request-Id")
}

func preflight(h http.Header, methods string) {
	h.Set("Access-Control-Allow-Methods", methods)
	h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Accept, Mcp-Protocol-Version, Mcp-Session-Id, Last-Event-ID, Mcp-Method, Mcp-Name")
	h.Set("Access-Control-Max-Age", "7200")
}
