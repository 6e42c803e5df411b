package oauth

import (
	"bytes"
	"compress/flate"
	"crypto/hmac"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"candela/internal/access/upstream"
)

const (
	flowCookie = "candela_flow_" // and the id of the flow
	flowBytes  = 16              // of an id
	// maxFlowCookie bounds name and value together: browsers drop a cookie of more than 4,096 bytes.
	maxFlowCookie = 4000
	// maxFlows is how many of them a browser keeps: proxies refuse headers of more than 8 KiB.
	maxFlows    = 2
	maxFlowJSON = 32 << 10 // unpacked

	flowPurpose     = "flow "
	noncePurpose    = "signin nonce"
	verifierPurpose = "signin verifier"
)

// flow is a request that waits in the browser until its owner has signed in. It is a request
// that was checked, or the query of one whose client has a document.
type flow struct {
	Request *request `json:"r,omitempty"`
	Query   string   `json:"q,omitempty"`
	Browser string   `json:"b"`           // fingerprint of the browser cookie that the sign-in requires
	Expires int64    `json:"e"`           // unix seconds
	Prompt  string   `json:"p,omitempty"` // what the provider was asked to ask
}

// flowOf returns the secrets of a flow. They follow from its id and the key, so every replica
// knows them and none keeps them.
func (s *Server) flowOf(id string) upstream.Flow {
	return upstream.Flow{State: id, Nonce: s.seal.derive(noncePurpose, id), Verifier: s.seal.derive(verifierPurpose, id)}
}

// sealFlow returns the value of a flow's cookie, or false if a browser would not keep it.
func (s *Server) sealFlow(id string, f flow) (string, bool) {
	raw, err := json.Marshal(f)
	if err != nil || len(raw) > maxFlowJSON {
		return "", false
	}
	var packed bytes.Buffer
	w, err := flate.NewWriter(&packed, flate.BestCompression)
	if err == nil {
		_, err = w.Write(raw)
	}
	if err != nil || w.Close() != nil {
		return "", false
	}
	data := base64.RawURLEncoding.EncodeToString(packed.Bytes())
	sealed := data + "." + base64.RawURLEncoding.EncodeToString(s.seal.mac(flowPurpose+id, data))
	return sealed, len(s.cookieName(flowCookie+id, "/"))+len(sealed) <= maxFlowCookie
}

// openFlow returns the flow of an id, or false if this browser has none, or it has expired.
func (s *Server) openFlow(r *http.Request, id string) (flow, bool) {
	if len(id) != base64.RawURLEncoding.EncodedLen(flowBytes) {
		return flow{}, false
	}
	c, err := r.Cookie(s.cookieName(flowCookie+id, "/"))
	if err != nil {
		return flow{}, false
	}
	f, ok := s.unsealFlow(id, c.Value)
	return f, ok && s.fresh(r, f.Browser, f.Expires)
}

func (s *Server) unsealFlow(id, sealed string) (f flow, ok bool) {
	data, tag, found := strings.Cut(sealed, ".")
	mac, err := base64.RawURLEncoding.Strict().DecodeString(tag)
	if !found || err != nil || !hmac.Equal(mac, s.seal.mac(flowPurpose+id, data)) {
		return flow{}, false
	}
	packed, err := base64.RawURLEncoding.Strict().DecodeString(data)
	if err != nil {
		return flow{}, false
	}
	raw, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(packed)), maxFlowJSON))
	return f, err == nil && json.Unmarshal(raw, &f) == nil
}

// makeRoom drops the oldest flows of the browser, so that with the next one there are no more
// than maxFlows.
func (s *Server) makeRoom(w http.ResponseWriter, r *http.Request) {
	prefix := s.cookieName(flowCookie, "/")
	type kept struct {
		id      string
		expires int64
	}
	var all []kept
	for _, c := range r.Cookies() {
		if id, ok := strings.CutPrefix(c.Name, prefix); ok {
			f, _ := s.unsealFlow(id, c.Value)
			all = append(all, kept{id, f.Expires}) // 0 for one that cannot be read
		}
	}
	slices.SortFunc(all, func(a, b kept) int { return int(a.expires - b.expires) })
	for _, one := range all[:max(0, len(all)-maxFlows+1)] {
		s.dropFlow(w, one.id)
	}
}

// dropFlow makes the browser forget a flow; "" is none.
func (s *Server) dropFlow(w http.ResponseWriter, id string) {
	if id != "" {
		http.SetCookie(w, s.cookie(flowCookie+id, "/", "", -time.Second))
	}
}
