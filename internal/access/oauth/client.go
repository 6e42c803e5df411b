package oauth

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"unicode"
)

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

	id string
}

const clientPurpose, secretPurpose = "client", "client secret"

// newClient seals a registration into an id.
func (s *Server) newClient(c client) client {
	c.Nonce = randomText(9)
	c.id = s.seal.seal(clientPurpose, c)
	return c
}

// findClient returns the registration sealed into a client id.
func (s *Server) findClient(id string) (client, bool) {
	var c client
	if id == "" || s.seal.open(clientPurpose, id, &c) != nil {
		return client{}, false
	}
	c.id = id
	return c, true
}

// secretOf derives the client's secret from its id.
func (s *Server) secretOf(c client) string { return s.seal.derive(secretPurpose, c.id) }

// rightSecret compares in constant time.
func (s *Server) rightSecret(c client, secret string) bool {
	return subtle.ConstantTimeCompare([]byte(s.secretOf(c)), []byte(secret)) == 1
}

// fingerprint is a short form of the client id for codes and logs.
func (c client) fingerprint() string {
	sum := sha256.Sum256([]byte(c.id))
	return hex.EncodeToString(sum[:16])
}

// key is equal for registrations with the same name and redirect URIs, so that a client
// that registers again after a restart is recognised. The port of a loopback address is
// ignored, because it changes between runs.
func (c client) key() string {
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
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:16])
}

// maxName bounds a client's name, in bytes.
const maxName = 80

// cleanName removes control characters, characters that reorder or hide text, and
// invalid encoding.
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
