package install

import (
	"net/url"
	"strings"

	"candela/internal/kit/fault"
	"candela/internal/kit/loopback"
)

const urlAllowed = "the https address of a candela server, such as https://charts.example.com; http only on this machine"

// remoteAddress returns the MCP endpoint of a remote server. An address without a path gets
// that of the endpoint.
func remoteAddress(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Opaque != "" {
		return "", fault.Field("--url", text, urlAllowed)
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		// Hidden, because it may contain a password or a key.
		return "", fault.Field("--url", "(hidden)", urlAllowed+"; without a password, a query or a fragment")
	}
	if u.Scheme != "https" && (u.Scheme != "http" || !loopback.Host(strings.ToLower(u.Hostname()))) {
		return "", fault.Field("--url", text, urlAllowed)
	}
	if strings.Trim(u.Path, "/") == "" {
		u.Path = "/mcp"
	}
	return u.String(), nil
}
