package httpd

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"candela/internal/kit/loopback"
	"candela/internal/serve/mcp"
	"candela/lib/chart/webfont"
)

//go:embed favicon.svg
var favicon []byte

// route is one path: its handler for each method, and whether pages of other origins may
// read the response.
type route struct {
	path    string
	methods map[string]http.HandlerFunc
	cors    bool
}

// routes returns every path. Any other path is a 404 in JSON.
func (s *Server) routes() []route {
	return append(append(s.authorization(), s.about...),
		route{"/mcp", map[string]http.HandlerFunc{"POST": s.message, "GET": s.stream}, true},
		route{"/message", map[string]http.HandlerFunc{"POST": s.message}, true},
		route{"/sse", map[string]http.HandlerFunc{"GET": s.stream}, true},
		route{"/", map[string]http.HandlerFunc{"POST": s.message, "GET": s.root, "HEAD": s.root}, true},
		route{"/fonts/roboto.woff", s.font(webfont.Regular), false},
		route{"/fonts/roboto-medium.woff", s.font(webfont.Medium), false},
		route{"/favicon.svg", map[string]http.HandlerFunc{"GET": s.icon, "HEAD": s.icon}, true},
	)
}

// authorization returns the paths of the authorization server, if there is one. Other
// origins must not read the two that a person's browser opens.
func (s *Server) authorization() []route {
	oauth := s.cfg.OAuth
	if oauth == nil {
		return nil
	}
	get := func(serve http.HandlerFunc) map[string]http.HandlerFunc {
		serve = s.notRebound(serve)
		return map[string]http.HandlerFunc{"GET": serve, "HEAD": serve}
	}
	only := func(method string, serve http.HandlerFunc) map[string]http.HandlerFunc {
		return map[string]http.HandlerFunc{method: s.notRebound(serve)}
	}
	routes := []route{
		{"/.well-known/oauth-authorization-server", get(oauth.ServeMetadata), true},
		{"/register", only("POST", oauth.ServeRegister), true},
		{"/authorize", only("GET", oauth.ServeAuthorize), false},
		{"/consent", only("POST", oauth.ServeConsent), false},
		{"/token", only("POST", oauth.ServeToken), true},
	}
	if oauth.SignsIn() {
		routes = append(routes, route{"/signin/callback", only("GET", oauth.ServeSignedIn), false},
			route{"/signin/consent", only("GET", oauth.ServeSignInConsent), false},
			route{"/signin/logout", only("POST", oauth.ServeSignOut), false})
	}
	// One per MCP path: clients compare it with their configured address.
	for _, path := range []string{"", "/mcp", "/sse", "/message"} {
		routes = append(routes, route{"/.well-known/oauth-protected-resource" + path, get(oauth.ServeResource), true})
	}
	return routes
}

// notRebound refuses a rebound DNS name, as checkOrigin does on the MCP paths.
func (s *Server) notRebound(serve http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if s.rebound(r) {
			writeJSON(w, http.StatusForbidden, `{"error":"forbidden"}`)
			return
		}
		serve(w, r)
	}
}

// Handler returns the handler of all routes. It matches the path exactly. http.ServeMux
// would redirect an unclean path, and a redirected POST loses its body or method; its "GET"
// patterns would also match HEAD and open a stream that is never read.
func (s *Server) Handler() http.Handler {
	table := map[string]http.HandlerFunc{}
	for _, r := range s.routes() {
		table[r.path] = s.dispatch(r)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if serve, ok := table[r.URL.Path]; ok {
			serve(w, r)
			return
		}
		if s.cfg.Console != nil && underConsole(r.URL.Path) {
			s.tallies.paths[consolePath].Add(1)
			s.cfg.Console.ServeHTTP(w, r)
			return
		}
		s.tallies.paths[otherPath].Add(1)
		if s.strayPage(w, r) {
			return
		}
		setCORS(w.Header(), r)
		writeJSON(w, http.StatusNotFound, `{"error":"not_found"}`)
	})
}

// consolePath is the path of the owner's console.
const consolePath = "/console"

func underConsole(path string) bool {
	return path == consolePath || strings.HasPrefix(path, consolePath+"/")
}

func (s *Server) dispatch(r route) http.HandlerFunc {
	allow := make([]string, 0, len(r.methods)+1)
	for method := range r.methods {
		allow = append(allow, method)
	}
	if r.cors {
		allow = append(allow, http.MethodOptions)
	}
	slices.Sort(allow)
	allowed := strings.Join(allow, ", ")
	count := s.tallies.paths[r.path]
	return func(w http.ResponseWriter, req *http.Request) {
		count.Add(1)
		if r.cors {
			setCORS(w.Header(), req)
		}
		if serve, ok := r.methods[req.Method]; ok {
			serve(w, req)
			return
		}
		if r.cors && req.Method == http.MethodOptions {
			preflight(w.Header(), allowed)
			w.WriteHeader(http.StatusNoContent)
			return
		}
		w.Header().Set("Allow", allowed)
		writeJSON(w, http.StatusMethodNotAllowed, `{"error":"method_not_allowed"}`)
	}
}

// describe marshals the constant response to GET /. It lists the revisions of the protocol
// if there is more than one.
func (s *Server) describe() ([]byte, error) {
	var revisions []string
	if all := s.mcp.Versions(); len(all) > 1 {
		revisions = all
	}
	data, err := json.Marshal(struct {
		Name                string   `json:"name"`
		Version             string   `json:"version"`
		Protocol            string   `json:"protocol"`
		ProtocolVersion     string   `json:"protocolVersion"`
		ProtocolVersions    []string `json:"protocolVersions,omitempty"`
		Status              string   `json:"status"`
		MCPEndpoint         string   `json:"mcp_endpoint"`
		AuthorizationServer string   `json:"authorization_server"`
		Tools               int      `json:"tools"`
		Trading             bool     `json:"trading"`
	}{
		s.cfg.Name, s.cfg.Version, "MCP", mcp.ProtocolVersion, revisions, "ok",
		s.cfg.BaseURL + "/mcp", s.cfg.BaseURL, s.cfg.Tools, s.cfg.Trading,
	})
	if err != nil {
		return nil, fmt.Errorf("marshal the discovery document: %w", err)
	}
	return data, nil
}

// discovery answers GET / of programs.
func (s *Server) discovery(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, string(s.landing))
}

// icon answers GET /favicon.svg.
func (s *Server) icon(w http.ResponseWriter, _ *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "image/svg+xml")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "public, max-age=86400")
	h.Set("Content-Length", strconv.Itoa(len(favicon)))
	_, _ = w.Write(favicon)
}

// font serves a weight of the typeface of the consent page and of the page at the root.
func (s *Server) font(weight webfont.Weight) map[string]http.HandlerFunc {
	file := sync.OnceValues(func() ([]byte, error) { return webfont.WOFF(weight) })
	serve := func(w http.ResponseWriter, _ *http.Request) {
		font, err := file()
		if err != nil {
			writeJSON(w, http.StatusNotFound, `{"error":"not_found"}`)
			return
		}
		h := w.Header()
		h.Set("Content-Type", webfont.Kind)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "public, max-age=86400")
		h.Set("Content-Length", strconv.Itoa(len(font)))
		_, _ = w.Write(font)
	}
	return map[string]http.HandlerFunc{"GET": serve, "HEAD": serve}
}

// checkOrigin refuses requests that a web page made a browser send: those with a foreign Origin
// and, on a loopback server, those whose Host is not loopback, as after DNS rebinding.
func (s *Server) checkOrigin(r *http.Request) *httpRefusal {
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
