package config

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"candela/internal/kit/loopback"
	"candela/internal/kit/secret"
	"candela/internal/kit/setting"
)

// addrField is the value of an IP address and never of a name: whether a listener is
// public must not depend on what a resolver answers today.
func addrField(p *netip.Addr) value {
	kind := setting.Kind{Allowed: "an IP address such as 127.0.0.1, ::1 or 0.0.0.0"}
	return field(p, kind, func(text string) (netip.Addr, bool) {
		addr, err := netip.ParseAddr(text)
		return addr.Unmap(), err == nil
	}, netip.Addr.String)
}

func addrPortField(p *netip.AddrPort) value {
	kind := setting.Kind{Allowed: "an IP address and a port such as 127.0.0.1:9316 or [::1]:9316"}
	return field(p, kind, optional(func(text string) (netip.AddrPort, bool) {
		read, err := netip.ParseAddrPort(text)
		return netip.AddrPortFrom(read.Addr().Unmap(), read.Port()), err == nil && read.Port() != 0
	}), func(at netip.AddrPort) string {
		if !at.IsValid() {
			return ""
		}
		return at.String()
	})
}

func prefixesField(p *[]netip.Prefix) value {
	const allowed = "IP addresses or prefixes separated by commas, such as 10.0.0.0/8, but none that covers every address"
	return listField(p, allowed, parsePrefix, netip.Prefix.String)
}

// parsePrefix reads an address or a prefix. One that covers every address is
// refused: it would let each client choose the address it is limited by.
func parsePrefix(text string) (netip.Prefix, bool) {
	if addr, err := netip.ParseAddr(text); err == nil {
		addr = addr.Unmap().WithZone("")
		return netip.PrefixFrom(addr, addr.BitLen()), true
	}
	prefix, err := netip.ParsePrefix(text)
	return prefix.Masked(), err == nil && prefix.Bits() > 0
}

// baseURLField is the value of the address clients use. It is published in documents
// that clients compare byte for byte, so it is taken only in the one spelling that
// parsing and printing give back, but for a slash at its end, which is dropped.
func baseURLField(p *string) value { return ownURLField(p, readOwnURL) }

// deskURLField is the value of the address of the host's desk, which follows from its listener if it is empty.
func deskURLField(p *string) value { return ownURLField(p, optional(readOwnURL)) }

func ownURLField(p *string, read func(string) (string, bool)) value {
	kind := setting.Kind{
		Allowed: "an absolute https URL in lower case without path or query, such as https://candela.example.com; " +
			"http only for localhost and loopback addresses",
	}
	return field(p, kind, read, same)
}

func readOwnURL(text string) (string, bool) {
	text = strings.TrimSuffix(text, "/")
	u, ok := parseOrigin(text)
	return text, ok && (u.Scheme == "https" || loopback.Host(u.Hostname()))
}

// endpointField is the value of where alerts are sent. Which hosts are allowed is a
// matter of several settings and of what names resolve to.
func endpointField(p *secret.URL) value {
	kind := setting.Kind{
		Allowed: "an absolute https URL without user and fragment, such as https://hooks.example.com/candela; " +
			"http for localhost and loopback addresses, and with --allow-private-sinks for private networks",
	}
	v := field(p, kind, optional(func(text string) (secret.URL, bool) {
		_, ok := setting.ParseURL(text, "https", "http")
		return secret.NewURL(text), ok
	}), secret.URL.String)
	v.hidden = true
	return v
}

// originsField is the value of a list of browser origins (RFC 6454), compared byte for
// byte with the Origin header. "*" and "null" are no origins and are refused.
func originsField(p *[]string) value {
	const allowed = "origins separated by commas, each scheme://host or scheme://host:port in lower case, such as https://app.example.com"
	return listField(p, allowed, checked(func(text string) bool {
		_, ok := parseOrigin(text)
		return ok
	}), same)
}

// parseOrigin reads scheme://host[:port] and nothing more.
func parseOrigin(text string) (*url.URL, bool) {
	u, ok := setting.ParseURL(text, "https", "http")
	if !ok {
		return nil, false
	}
	plain := url.URL{Scheme: u.Scheme, Host: u.Host}
	return u, plain.String() == text && strings.ToLower(text) == text
}

// schemesField is the value of a list of URI schemes (RFC 3986 3.1) that belong to apps.
// Those that a browser handles itself are refused: the answer to an authorization
// request, with the code in it, would end up in the page or on the network.
func schemesField(p *[]string) value {
	const allowed = "schemes of apps in lower case separated by commas, such as myapp; none that a browser handles itself"
	return listField(p, allowed, checked(appScheme), same)
}

func appScheme(text string) bool {
	browser := []string{
		"http", "https", "ws", "wss", "ftp", "file", "data", "blob", "filesystem", "about", "javascript", "vbscript", "view-source", "mailto",
	}
	for i, r := range text {
		letter := r >= 'a' && r <= 'z'
		if !letter && (i == 0 || (r < '0' || r > '9') && !strings.ContainsRune("+-.", r)) {
			return false
		}
	}
	return text != "" && !slices.Contains(browser, text)
}

// natsURLField is the value of addresses of NATS servers.
func natsURLField(p *string) value {
	kind := setting.Kind{
		Shape:   setting.ShapeList,
		Allowed: "addresses separated by commas, each nats://host:port or tls://host:port; a name and a password belong in a credentials file",
	}
	v := field(p, kind, func(text string) (string, bool) {
		items, ok := parseList(text, checked(func(item string) bool {
			u, ok := setting.ParseURL(item, "nats", "tls")
			return ok && u.Path == "" && u.RawQuery == ""
		}))
		return strings.Join(items, ","), ok
	}, same)
	v.hidden = true
	return v
}

// natsNameField is the value of a word that may stand in a subject of NATS.
func natsNameField(p *string) value {
	kind := setting.Kind{Allowed: "1 to 64 letters, digits, - and _"}
	return field(p, kind, checked(func(text string) bool {
		return text != "" && len(text) <= 64 && !strings.ContainsFunc(text, func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
		})
	}), same)
}
