package console

import (
	"net/http"
	"net/url"
	"strings"

	"candela/internal/kit/loopback"
)

// ours reports whether a form was sent by a page of this origin. A browser says so in Origin,
// which a page cannot change, and in Sec-Fetch-Site.
func (c *Console) ours(r *http.Request) bool {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" {
		return false
	}
	origins := r.Header["Origin"]
	if len(origins) != 1 {
		return false
	}
	u, err := url.Parse(origins[0])
	if err != nil || u.Host == "" {
		return false // also "null"
	}
	if strings.EqualFold(u.Scheme, c.base.Scheme) && strings.EqualFold(u.Host, c.base.Host) {
		return true
	}
	// On loopback the same server has several names.
	return loopback.Host(strings.ToLower(c.base.Hostname())) && loopback.Host(strings.ToLower(u.Hostname())) && strings.EqualFold(u.Host, r.Host)
}
