package upstream

import (
	"net/http"
	"net/url"
)

// Trust lets requests to a test server take its certificate.
func Trust(h *Hosts, base string, client *http.Client) {
	u, err := url.Parse(base)
	if err != nil {
		panic(err)
	}
	at := h.hostFor(u)
	for _, one := range []*http.Client{at.rest, at.writes} {
		config := client.Transport.(*http.Transport).TLSClientConfig     //nolint:errcheck // httptest's client has one
		one.Transport.(*http.Transport).TLSClientConfig = config.Clone() //nolint:errcheck // ours has one
	}
}
