package httpd

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"candela/internal/store/receipt"
)

// The media types and the schema of discovery.
const (
	cardType    = "application/mcp-server-card+json"
	catalogType = "application/ai-catalog+json"
	cardSchema  = "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json"
)

// document is a public document that does not change while the server runs.
type document struct {
	kind, tag string
	data      []byte
}

// newDocument returns a document of a media type.
func newDocument(kind string, of any) (document, error) {
	data, err := json.Marshal(of)
	if err != nil {
		return document{}, fmt.Errorf("marshal the document %s: %w", kind, err)
	}
	return document{kind, etag(data), data}, nil
}

func etag(data []byte) string {
	sum := sha256.Sum256(data)
	return `"` + hex.EncodeToString(sum[:8]) + `"`
}

// ServeHTTP answers a reader. One that has the document already gets none.
func (d document) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("ETag", d.tag)
	h.Set("Cache-Control", "public, max-age=3600")
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Expose-Headers", "ETag")
	h.Set("X-Content-Type-Options", "nosniff")
	if slices.Contains(r.Header["If-None-Match"], d.tag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", d.kind)
	h.Set("Content-Length", strconv.Itoa(len(d.data)))
	_, _ = w.Write(d.data)
}

// documents returns the paths of the card and the catalog, which pages of any origin may read.
func (s *Server) documents() ([]route, error) {
	card, err := s.card()
	if err != nil {
		return nil, err
	}
	catalog, err := s.catalog()
	get := func(d document) map[string]http.HandlerFunc {
		serve := s.notRebound(d.ServeHTTP)
		return map[string]http.HandlerFunc{"GET": serve, "HEAD": serve, "OPTIONS": preflightDocument}
	}
	routes := []route{{"/mcp/server-card", get(card), false}, {"/.well-known/ai-catalog.json", get(catalog), false}}
	if s.cfg.ReceiptKeys != nil {
		serve := s.notRebound(s.serveReceiptKeys)
		routes = append(routes, route{receipt.KeysPath, map[string]http.HandlerFunc{"GET": serve, "HEAD": serve, "OPTIONS": preflightDocument}, false})
	}
	return routes, err
}

// serveReceiptKeys answers with the public keys of receipts, which pages of any origin may read.
func (s *Server) serveReceiptKeys(w http.ResponseWriter, r *http.Request) {
	keys, err := s.cfg.ReceiptKeys(r.Context())
	if err != nil {
		writeJSON(w, http.StatusServiceUnavailable, `{"error":"unavailable"}`)
		return
	}
	document{kind: "application/jwk-set+json", tag: etag(keys), data: keys}.ServeHTTP(w, r)
}

// preflightDocument lets pages of other origins ask whether a document has changed.
func preflightDocument(w http.ResponseWriter, _ *http.Request) {
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Allow-Methods", "GET")
	h.Set("Access-Control-Allow-Headers", "Accept, Content-Type, If-None-Match")
	h.Set("Access-Control-Max-Age", "7200")
	w.WriteHeader(http.StatusNoContent)
}

// card describes this server to clients that do not know it yet: its name and where it is, and nothing that a
// client learns only with a token.
func (s *Server) card() (document, error) {
	type remote struct {
		Type     string   `json:"type"`
		URL      string   `json:"url"`
		Versions []string `json:"supportedProtocolVersions"`
	}
	return newDocument(cardType, struct {
		Schema      string   `json:"$schema"`
		Name        string   `json:"name"`
		Version     string   `json:"version"`
		Description string   `json:"description"`
		Title       string   `json:"title"`
		Remotes     []remote `json:"remotes"`
	}{
		cardSchema, reversed(s.base.Hostname()) + "/" + s.cfg.Name, s.cfg.Version, "Charts, technical indicators, alerts and trading for AI agents.", s.cfg.Name,
		[]remote{{"streamable-http", s.cfg.BaseURL + "/mcp", s.mcp.Versions()}},
	})
}

// catalog lists the one server of this host.
func (s *Server) catalog() (document, error) {
	type entry struct {
		Identifier string `json:"identifier"`
		Type       string `json:"type"`
		URL        string `json:"url"`
	}
	return newDocument(catalogType, struct {
		Version string  `json:"specVersion"`
		Entries []entry `json:"entries"`
	}{"1.0", []entry{{"urn:air:" + s.base.Hostname() + ":mcp:" + s.cfg.Name, cardType, s.cfg.BaseURL + "/mcp/server-card"}}})
}

// reversed returns the labels of a host in reverse order, as names of servers have them. An address has none.
func reversed(host string) string {
	if address, err := netip.ParseAddr(host); err == nil {
		return strings.NewReplacer(":", "-", "%", "-").Replace(address.String())
	}
	labels := strings.Split(strings.TrimSuffix(host, "."), ".")
	slices.Reverse(labels)
	return strings.Join(labels, ".")
}
