package oauth

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"

	"candela/internal/kit/bucket"
)

// registration holds the supported client metadata. RFC 7591 2. Other metadata is
// ignored, and the response states the values in force.
type registration struct {
	Redirects     []string `json:"redirect_uris"`
	Name          string   `json:"client_name"`
	Method        string   `json:"token_endpoint_auth_method"`
	GrantTypes    []string `json:"grant_types"`
	ResponseTypes []string `json:"response_types"`
}

// ServeRegister answers POST /register: dynamic registration. It is open to all, because
// a registration grants nothing and uses no memory.
func (s *Server) ServeRegister(w http.ResponseWriter, r *http.Request) {
	s = s.pinned()
	if wait := s.limits.register.Take(bucket.Network(s.cfg.Address(r)), time.Now()); wait > 0 {
		s.writeError(w, r, slowDown(wait))
		return
	}
	asked, e := readRegistration(w, r)
	if e == nil {
		e = checkRegistration(asked, s.cfg.RedirectSchemes)
	}
	if e != nil {
		s.writeError(w, r, e)
		return
	}
	c := client{
		Name: cleanName(asked.Name), Redirects: asked.Redirects, Method: authMethod(asked.Method), Issued: time.Now().Unix(), Nonce: randomText(9),
	}
	c.id = s.clients.seal(clientPurpose, c)
	s.limitedLog.LogAttrs(r.Context(), slog.LevelInfo, "[OAuth] client registered",
		slog.String("client", c.fingerprint()), slog.String("client_name", c.Name),
		slog.Int("redirect_uris", len(c.Redirects)), slog.String("first_redirect", shownRedirect(c.Redirects[0])))
	s.writeClient(w, c)
}

func (s *Server) writeClient(w http.ResponseWriter, c client) {
	writeJSON(w, http.StatusCreated, struct {
		ID            string   `json:"client_id"`
		Secret        string   `json:"client_secret"`
		Issued        int64    `json:"client_id_issued_at"`
		SecretExpires int64    `json:"client_secret_expires_at"` // 0: never
		Redirects     []string `json:"redirect_uris"`
		GrantTypes    []string `json:"grant_types"`
		ResponseTypes []string `json:"response_types"`
		Method        string   `json:"token_endpoint_auth_method"`
		Name          string   `json:"client_name,omitempty"`
	}{
		c.id, s.secretOf(c), c.Issued, 0, c.Redirects,
		[]string{"authorization_code"},
		[]string{"code"},
		c.Method, c.Name,
	})
}

func readRegistration(w http.ResponseWriter, r *http.Request) (registration, *Error) {
	var asked registration
	if !isJSON(mediaType(r)) {
		return asked, refuse(http.StatusUnsupportedMediaType, "invalid_client_metadata", "send application/json")
	}
	body, e := readBody(w, r)
	if e != nil {
		return asked, e
	}
	if err := json.Unmarshal(body, &asked); err != nil {
		return asked, invalidMetadata("the body is not a JSON object of client metadata")
	}
	return asked, nil
}

func invalidMetadata(description string) *Error {
	return refuse(http.StatusBadRequest, "invalid_client_metadata", description)
}

func checkRegistration(asked registration, schemes []string) *Error {
	if e := checkRedirects(asked.Redirects, schemes); e != nil {
		return e
	}
	if len(asked.GrantTypes) > 0 && !slices.Contains(asked.GrantTypes, "authorization_code") {
		return invalidMetadata("grant_types must contain authorization_code, the only supported grant")
	}
	if len(asked.ResponseTypes) > 0 && !slices.Contains(asked.ResponseTypes, "code") {
		return invalidMetadata("response_types must contain code, the only supported response type")
	}
	return nil
}

// authMethod returns the method in force. A client that requested Basic may use either
// way to send its secret; PKCE protects all others.
func authMethod(asked string) string {
	if asked == methodPost || asked == "client_secret_basic" {
		return methodPost
	}
	return methodNone
}

// Client authentication methods at the token endpoint.
const (
	methodNone = "none"
	methodPost = "client_secret_post"
)

// client is a registration. It is sealed into the client id, so the server stores none.
type client struct {
	Name      string   `json:"n,omitempty"`
	Redirects []string `json:"r"`
	Method    string   `json:"m"`
	Issued    int64    `json:"t"` // unix seconds
	Nonce     string   `json:"x"` // makes equal registrations differ

	id      string
	digest  string // of the document; "" for a registration
	renewed bool   // the registration of an earlier run, see claimedClient
}

const clientPurpose, secretPurpose = "client", "client secret"

// findClient returns the registration sealed into a client id.
func (s *Server) findClient(id string) (client, bool) {
	var c client
	if id == "" || s.clients.open(clientPurpose, id, &c) != nil {
		return client{}, false
	}
	c.id = id
	return c, true
}

// maxClaim bounds the client id of an earlier run: more than any registration needs.
const maxClaim = 20 << 10

// claimedClient returns the registration in a client id of an earlier run, whose seal
// cannot be verified any more. It is worth as much as a registration: a claim that
// anyone can make, and that grants nothing before the owner approves it.
func claimedClient(id string, schemes []string) (client, bool) {
	data, tag, _ := strings.Cut(id, ".")
	mac, err := base64.RawURLEncoding.Strict().DecodeString(tag)
	if err != nil || len(mac) != sha256.Size || len(id) > maxClaim || strings.ContainsAny(id, "\r\n") {
		return client{}, false
	}
	var c client
	raw, err := base64.RawURLEncoding.Strict().DecodeString(data)
	if err != nil || json.Unmarshal(raw, &c) != nil || checkRedirects(c.Redirects, schemes) != nil {
		return client{}, false
	}
	return client{Name: cleanName(c.Name), Redirects: c.Redirects, Method: methodNone, id: id, renewed: true}, true
}

// secretOf derives the client's secret from its id.
func (s *Server) secretOf(c client) string { return s.clients.derive(secretPurpose, c.id) }

// rightSecret compares in constant time.
func (s *Server) rightSecret(c client, secret string) bool {
	return subtle.ConstantTimeCompare([]byte(s.secretOf(c)), []byte(secret)) == 1
}

// fingerprint is a short form of the client id for codes and logs.
func (c client) fingerprint() string { return fingerprint(c.id) }

// key is equal for registrations with the same name and redirect URIs, so that a client
// that registers again after a restart is recognised. The port of a loopback address is
// ignored, because it changes between runs.
func (c client) key() string {
	if c.digest != "" {
		return c.fingerprint()
	}
	uris := make([]string, 0, len(c.Redirects))
	for _, uri := range c.Redirects {
		if plain, ok := withoutLoopbackPort(uri); ok {
			uri = plain
		}
		uris = append(uris, uri)
	}
	slices.Sort(uris)
	raw, err := json.Marshal(append([]string{c.Name}, slices.Compact(uris)...))
	if err != nil {
		panic("oauth: strings cannot be marshalled: " + err.Error())
	}
	return fingerprint(string(raw))
}

// maxName bounds a client's name, in bytes.
const maxName = 80

// cleanName removes invalid encoding and characters that control, reorder or hide text.
func cleanName(name string) string {
	var b strings.Builder
	for _, r := range strings.Join(strings.Fields(strings.ToValidUTF8(name, "")), " ") {
		if unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co) {
			continue
		}
		if b.Len()+len(string(r)) > maxName {
			break
		}
		b.WriteRune(r)
	}
	return strings.TrimSpace(b.String())
}

// claimedName returns the name in a client id of an earlier run, whose seal cannot be
// verified any more.
func claimedName(id string) string {
	data, _, _ := strings.Cut(id, ".")
	raw, err := base64.RawURLEncoding.DecodeString(data)
	var c client
	if err != nil || json.Unmarshal(raw, &c) != nil {
		return ""
	}
	return cleanName(c.Name)
}

// remedy says how a program drops its registration of an earlier run.
func remedy(name string) string {
	for _, r := range []struct{ name, text string }{
		{"Claude Code", "In a terminal run claude mcp logout NAME and then claude mcp login NAME, with the name that this server has there."},
		{"Codex", "In a terminal run codex mcp logout NAME and then codex mcp login NAME, with the name that this server has there."},
		{"MCP CLI Proxy", "Stop mcp-remote and start it again."},
	} {
		if strings.Contains(name, r.name) {
			return r.text
		}
	}
	return "Log out from this server in the settings of the program, or remove the server there and add it again."
}
