package httpd

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"candela/internal/serve/mcp"
)

//go:embed favicon.svg
var favicon []byte

// describe marshals the constant response to GET /.
func (s *Server) describe() ([]byte, error) {
	data, err := json.Marshal(struct {
		Name                string `json:"name"`
		Version             string `json:"version"`
		Protocol            string `json:"protocol"`
		ProtocolVersion     string `json:"protocolVersion"`
		Status              string `json:"status"`
		MCPEndpoint         string `json:"mcp_endpoint"`
		AuthorizationServer string `json:"authorization_server"`
		Tools               int    `json:"tools"`
		Trading             bool   `json:"trading"`
	}{
		s.cfg.Name, s.cfg.Version, "MCP", mcp.ProtocolVersion, "ok",
		s.cfg.BaseURL + "/mcp", s.cfg.BaseURL, s.cfg.Tools, s.cfg.Trading,
	})
	if err != nil {
		return nil, fmt.Errorf("marshal the discovery document: %w", err)
	}
	return data, nil
}

// discovery answers GET /.
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
