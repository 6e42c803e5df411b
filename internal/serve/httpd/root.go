package httpd

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"net/http"
	"strings"

	"candela/internal/access/door"
)

//go:embed root.html
var rootHTML string

// rootPage renders what a person sees at the root: the address to add in a client, and the
// way to the console. It says nothing about the account.
func (s *Server) rootPage(title, lead string) ([]byte, error) {
	page, err := template.New("root").Parse(rootHTML)
	if err != nil {
		return nil, fmt.Errorf("root page: %w", err)
	}
	var b bytes.Buffer
	err = page.Execute(&b, struct {
		Style                            template.CSS
		Name, Base, Console, Title, Lead string
	}{door.Style(), s.cfg.Name, s.cfg.BaseURL, s.consolePath, title, lead})
	if err != nil {
		return nil, fmt.Errorf("root page: %w", err)
	}
	return b.Bytes(), nil
}

// root answers GET /: a page for a browser, the discovery document for programs.
func (s *Server) root(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Vary", "Accept")
	if !prefersPage(r.Header["Accept"]) {
		s.discovery(w, r)
		return
	}
	door.Write(w, http.StatusOK, s.pagePolicy, s.base.Scheme == "https", s.page)
}

// strayPage answers a browser at an address that is for programs, or at none, with a page that says so, and
// reports whether it did. Programs get what they always get.
func (s *Server) strayPage(w http.ResponseWriter, r *http.Request) bool {
	if r.Method != http.MethodGet || r.Header.Get("Authorization") != "" || !prefersPage(r.Header["Accept"]) {
		return false
	}
	status, title, lead := http.StatusNotFound, "There is no page here", "The address has a mistake, or what stood here is gone. This is an MCP server for AI agents. Add this address in your client:"
	if r.URL.Path == "/mcp" || r.URL.Path == "/sse" {
		status, title, lead = http.StatusUnauthorized, "This address is for programs", "An AI client speaks to it, after the owner has allowed it. A browser has nothing to see here. Add this address in your client:"
	}
	page, err := s.rootPage(title, lead)
	if err != nil {
		return false
	}
	w.Header().Set("Vary", "Accept")
	door.Write(w, status, s.pagePolicy, s.base.Scheme == "https", page)
	return true
}

// prefersPage reports whether an Accept header names text/html before JSON, as browsers do.
func prefersPage(headers []string) bool {
	for _, header := range headers {
		for item := range strings.SplitSeq(header, ",") {
			media, params, _ := strings.Cut(item, ";")
			media = strings.ToLower(strings.TrimSpace(media))
			if weight, _ := quality(params); weight <= 0 {
				continue
			}
			switch media {
			case "text/html":
				return true
			case "application/json", "application/*", "*/*":
				return false
			}
		}
	}
	return false
}
