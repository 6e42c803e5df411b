package oauth

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Limits of a registration's redirect URIs.
const (
	maxRedirects     = 10
	maxRedirectBytes = 512
	maxRedirectTotal = 2 << 10
)

// appSchemes returns the dotless schemes of known desktop clients.
func appSchemes() []string {
	return []string{"cursor", "vscode", "vscode-insiders", "windsurf", "claude", "zed", "jetbrains"}
}

// checkRedirects validates redirect URIs. extra are schemes the operator added.
func checkRedirects(uris, extra []string) *Error {
	wrong := func(why string) *Error { return refuse(http.StatusBadRequest, "invalid_redirect_uri", why) }
	if len(uris) == 0 || len(uris) > maxRedirects {
		return wrong("redirect_uris must contain 1 to 10 addresses")
	}
	total := 0
	for _, u := range uris {
		if total += len(u); len(u) > maxRedirectBytes || total > maxRedirectTotal {
			return wrong("redirect_uris are longer than 512 bytes each or 2 KiB together")
		}
		if why := checkRedirect(u, extra); why != "" {
			return wrong("redirect_uris: " + why)
		}
	}
	return nil
}

// checkRedirect returns why a URI is invalid, or "".
func checkRedirect(raw string, extra []string) string {
	for i := range len(raw) {
		// Browsers treat a backslash as a slash; control characters and spaces split
		// headers; non-ASCII characters can imitate another host.
		if c := raw[i]; c <= ' ' || c >= 0x7f || c == '\\' || c == '"' || c == '<' || c == '>' {
			return "only printable ASCII without spaces, quotes or backslashes"
		}
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Scheme == "":
		return "must be an absolute address"
	case strings.Contains(raw, "#"):
		return "must have no fragment"
	case u.User != nil:
		return "must not contain a user name"
	case carriesAnswer(u):
		return "must not contain the response parameters code, state, iss or error"
	case !validPort(u.Port()):
		return "must have a port up to 65535 without leading zeros"
	}
	switch {
	case u.Scheme == "https":
		if u.Host == "" || u.Hostname() == "" {
			return "must have a host"
		}
		return ""
	case u.Scheme == "http":
		if !loopback(u.Hostname()) {
			return "http is only for localhost, 127.0.0.0/8 and [::1]; use https"
		}
		return ""
	case strings.Contains(u.Scheme, "."), slices.Contains(appSchemes(), u.Scheme), slices.Contains(extra, u.Scheme):
		return ""
	}
	return "scheme " + u.Scheme + " is not allowed: use https, http on loopback, a scheme with a dot or that of a known client"
}

// carriesAnswer reports whether an address already has parameters of the response: a
// client could confuse the two.
func carriesAnswer(u *url.URL) bool {
	for pair := range strings.SplitSeq(u.RawQuery, "&") {
		name, _, _ := strings.Cut(pair, "=")
		plain, err := url.QueryUnescape(name)
		if err != nil || slices.Contains([]string{"code", "state", "iss", "error"}, plain) {
			return true
		}
	}
	return false
}

// validPort reports whether a port is valid; "" is the scheme's default.
func validPort(text string) bool {
	n, err := strconv.ParseUint(text, 10, 16)
	return text == "" || err == nil && text == strconv.FormatUint(n, 10)
}

// loopback reports whether a host name or address without port is a loopback one.
func loopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Zone() == "" && ip.IsLoopback() && (ip.Is4() || ip == netip.IPv6Loopback())
}

// matchRedirect reports whether the requested address was registered. The strings must be
// equal, except for the port of a loopback address. RFC 8252 7.3.
func matchRedirect(registered []string, asked string) bool {
	if slices.Contains(registered, asked) {
		return true
	}
	rest, ok := withoutLoopbackPort(asked)
	return ok && slices.ContainsFunc(registered, func(r string) bool {
		other, ok := withoutLoopbackPort(r)
		return ok && other == rest
	})
}

// withoutLoopbackPort removes the port from an http loopback address, false for any other.
func withoutLoopbackPort(raw string) (string, bool) {
	if checkRedirect(raw, nil) != "" || !strings.HasPrefix(raw, "http://") {
		return "", false
	}
	rest := raw[len("http://"):]
	end := strings.IndexAny(rest, "/?")
	if end < 0 {
		end = len(rest)
	}
	host := rest[:end]
	if name, port, err := net.SplitHostPort(host); err == nil {
		if strings.Trim(port, "0123456789") != "" || len(port) > 5 {
			return "", false
		}
		if host = name; strings.Contains(name, ":") {
			host = "[" + name + "]"
		}
	}
	return "http://" + host + rest[end:], true
}

// shownRedirect returns the host of a redirect URI, or the scheme of an app's address.
func shownRedirect(raw string) string {
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return "?"
	case u.Scheme == "http" || u.Scheme == "https":
		return u.Host
	}
	return u.Scheme + ":"
}

// target returns the scheme and host of a redirect URI, or the scheme alone.
func target(raw string) string {
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return ""
	case u.Host == "":
		return u.Scheme + ":"
	}
	return u.Scheme + "://" + u.Host
}
