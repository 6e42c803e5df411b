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

// appSchemes are the schemes of desktop clients that carry no dot.
func appSchemes() []string {
	return []string{"cursor", "vscode", "vscode-insiders", "windsurf", "claude", "zed", "jetbrains"}
}

// checkRedirects returns why a registration's redirect URIs cannot be taken, or
// nil. extra are schemes the operator added.
func checkRedirects(uris, extra []string) *Error {
	wrong := func(why string) *Error { return refuse(http.StatusBadRequest, "invalid_redirect_uri", why) }
	if len(uris) == 0 || len(uris) > maxRedirects {
		return wrong("redirect_uris must hold 1 to 10 addresses")
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

// checkRedirect returns why one URI cannot be taken, or "".
func checkRedirect(raw string, extra []string) string {
	for i := range len(raw) {
		// A backslash is a slash to browsers and none to us; control characters and
		// spaces split headers; anything beyond ASCII can look like another host.
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
		return "must have no user in it"
	case carriesAnswer(u):
		return "must not carry code, state, iss or error: these are the answer's"
	case !validPort(u.Port()):
		return "must have no port above 65535, nor zeros before it"
	}
	switch {
	case u.Scheme == "https":
		if u.Host == "" || u.Hostname() == "" {
			return "must name a host"
		}
		return ""
	case u.Scheme == "http":
		if !loopback(u.Hostname()) {
			return "http is for localhost, 127.0.0.0/8 and [::1] only; use https"
		}
		return ""
	case strings.Contains(u.Scheme, "."), slices.Contains(appSchemes(), u.Scheme), slices.Contains(extra, u.Scheme):
		return ""
	}
	return "scheme " + u.Scheme + " is not allowed: https, http on loopback, a scheme with a dot or one of a known client"
}

// carriesAnswer reports whether an address has parameters of its own that the answer
// sets: a client could take one for the other.
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

// validPort reports whether a browser could go to a port; "" is the scheme's own.
func validPort(text string) bool {
	n, err := strconv.ParseUint(text, 10, 16)
	return text == "" || err == nil && text == strconv.FormatUint(n, 10)
}

// loopback reports whether a host without port is this machine by its spelling.
func loopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Zone() == "" && ip.IsLoopback() && (ip.Is4() || ip == netip.IPv6Loopback())
}

// matchRedirect reports whether the address asked for is one that was
// registered: the same string, except that the port of a loopback address does
// not count, because a client listens where there is room. RFC 8252 7.3.
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

// withoutLoopbackPort cuts the port out of an http loopback address, and returns
// false for any other.
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

// shownRedirect returns what of a redirect URI a person or a log needs: the host,
// or the scheme of an app's address.
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
