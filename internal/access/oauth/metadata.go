package oauth

import (
	"log/slog"
	"net/http"
	"strings"

	"candela/internal/kit/principal"
)

const resourceMetadataPath = "/.well-known/oauth-protected-resource"

// ServeMetadata serves the authorization server's metadata. RFC 8414 2.
func (s *Server) ServeMetadata(w http.ResponseWriter, r *http.Request) {
	s.logDiscovery(r)
	base := s.cfg.BaseURL
	writeJSON(w, http.StatusOK, struct {
		Issuer        string   `json:"issuer"`
		Authorize     string   `json:"authorization_endpoint"`
		Token         string   `json:"token_endpoint"`
		Register      string   `json:"registration_endpoint"`
		ResponseTypes []string `json:"response_types_supported"`
		GrantTypes    []string `json:"grant_types_supported"`
		Challenges    []string `json:"code_challenge_methods_supported"`
		AuthMethods   []string `json:"token_endpoint_auth_methods_supported"`
		Logo          string   `json:"logo_uri"`
		Iss           bool     `json:"authorization_response_iss_parameter_supported"` // RFC 9207 3
		Scopes        []string `json:"scopes_supported"`
		Documents     bool     `json:"client_id_metadata_document_supported,omitempty"`
	}{
		base, base + "/authorize", base + "/token", base + "/register",
		[]string{"code"},
		[]string{"authorization_code"},
		[]string{"S256"},
		[]string{methodNone, methodPost},
		base + "/favicon.svg", true, scopeNames(), s.cfg.Documents != nil,
	})
}

// ServeResource serves the metadata of the resource that the path names. Clients compare
// it with their configured address, so each path has its own.
func (s *Server) ServeResource(w http.ResponseWriter, r *http.Request) {
	s.logDiscovery(r)
	writeJSON(w, http.StatusOK, struct {
		Resource string   `json:"resource"`
		Servers  []string `json:"authorization_servers"`
		Methods  []string `json:"bearer_methods_supported"`
		Scopes   []string `json:"scopes_supported"`
		Name     string   `json:"resource_name"`
	}{
		s.cfg.BaseURL + strings.TrimPrefix(r.URL.Path, resourceMetadataPath),
		[]string{s.cfg.BaseURL},
		[]string{"header"},
		scopeNames(),
		s.cfg.Name,
	})
}

func scopeNames() []string {
	all := principal.Scopes()
	names := make([]string, len(all))
	for i, scope := range all {
		names[i] = scope.String()
	}
	return names
}

func (s *Server) logDiscovery(r *http.Request) {
	s.limitedLog.LogAttrs(r.Context(), slog.LevelInfo, "[OAuth] metadata requested", slog.String("path", r.URL.Path))
}
