package setup

import (
	"net/url"
	"strings"

	"candela/internal/kit/fault"
	"candela/internal/kit/loopback"
)

const urlAllowed = "the https address of a candela server, such as https://charts.example.com; http for this machine alone"

// remoteAddress returns the address at which a remote server answers MCP. The address
// of the server alone gets the path of the endpoint.
func remoteAddress(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Opaque != "" {
		return "", fault.Field("--url", text, urlAllowed)
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		// Not shown: it may hold a password or a key.
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
