package config

import (
	"net/netip"
	"net/url"
	"strings"

	"candela/internal/kit/loopback"
	"candela/internal/kit/secret"
	"candela/internal/kit/setting"
)

// addrValue is an IP address and never a name: whether a listener is public must
// not depend on what a resolver answers today.
type addrValue struct{ p *netip.Addr }

func (v addrValue) set(text string) bool {
	addr, err := netip.ParseAddr(text)
	if err != nil {
		return false
	}
	*v.p = addr.Unmap()
	return true
}

func (v addrValue) String() string { return v.p.String() }
func (addrValue) allowed() string {
	return "an IP address such as 127.0.0.1, ::1 or 0.0.0.0"
}
func (addrValue) shape() setting.Shape { return setting.ShapeString }

type addrPortValue struct{ p *netip.AddrPort }

func (v addrPortValue) set(text string) bool {
	if text == "" {
		*v.p = netip.AddrPort{}
		return true
	}
	parsed, err := netip.ParseAddrPort(text)
	if err != nil || parsed.Port() == 0 {
		return false
	}
	*v.p = netip.AddrPortFrom(parsed.Addr().Unmap(), parsed.Port())
	return true
}

func (v addrPortValue) String() string {
	if !v.p.IsValid() {
		return ""
	}
	return v.p.String()
}

func (addrPortValue) allowed() string {
	return "an IP address and a port such as 127.0.0.1:9316 or [::1]:9316"
}
func (addrPortValue) shape() setting.Shape { return setting.ShapeString }

type prefixesValue struct{ p *[]netip.Prefix }

func (v prefixesValue) set(text string) bool {
	items, ok := splitList(text)
	if !ok {
		return false
	}
	prefixes := make([]netip.Prefix, 0, len(items))
	for _, item := range items {
		prefix, ok := parsePrefix(item)
		if !ok {
			return false
		}
		prefixes = append(prefixes, prefix)
	}
	*v.p = prefixes
	return true
}

// parsePrefix reads an address or a prefix. One that covers every address is
// refused: it would let each client choose the address it is limited by.
func parsePrefix(text string) (netip.Prefix, bool) {
	if addr, err := netip.ParseAddr(text); err == nil {
		addr = addr.Unmap().WithZone("")
		return netip.PrefixFrom(addr, addr.BitLen()), true
	}
	prefix, err := netip.ParsePrefix(text)
	if err != nil || prefix.Bits() == 0 {
		return netip.Prefix{}, false
	}
	return prefix.Masked(), true
}

func (v prefixesValue) String() string {
	texts := make([]string, 0, len(*v.p))
	for _, prefix := range *v.p {
		texts = append(texts, prefix.String())
	}
	return strings.Join(texts, ",")
}

func (prefixesValue) allowed() string {
	return "IP addresses or prefixes separated by commas, such as 10.0.0.0/8, but none that covers every address"
}
func (prefixesValue) shape() setting.Shape { return setting.ShapeList }

// baseURLValue is the address clients use. It is published in documents that
// clients compare byte for byte, so it is taken only in the one spelling that
// parsing and printing give back, but for a slash at its end, which is dropped.
type baseURLValue struct{ p *string }

func (v baseURLValue) set(text string) bool {
	text = strings.TrimSuffix(text, "/")
	u, ok := parseOrigin(text)
	if !ok || u.Scheme == "http" && !loopback.Host(u.Hostname()) {
		return false
	}
	*v.p = text
	return true
}

func (v baseURLValue) String() string { return *v.p }
func (baseURLValue) allowed() string {
	return "an absolute https URL in lower case without path or query, such as https://candela.example.com; " +
		"http only for localhost and loopback addresses"
}
func (baseURLValue) shape() setting.Shape { return setting.ShapeString }

// endpointValue is where alerts are sent. Which hosts are allowed is a matter of
// several settings and of what names resolve to.
type endpointValue struct{ p *secret.URL }

func (v endpointValue) set(text string) bool {
	if text != "" {
		u, err := url.Parse(text)
		if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || !setting.GoodPort(u) || u.User != nil || u.Fragment != "" {
			return false
		}
	}
	*v.p = secret.NewURL(text)
	return true
}

func (v endpointValue) String() string { return v.p.String() }
func (endpointValue) allowed() string {
	return "an absolute https URL without user and fragment, such as https://hooks.example.com/candela; " +
		"http for localhost and loopback addresses, and with --allow-private-sinks for private networks"
}
func (endpointValue) shape() setting.Shape { return setting.ShapeString }

// originsValue is a list of browser origins (RFC 6454), compared byte for byte
// with the Origin header. "*" and "null" are no origins and are refused.
type originsValue struct{ p *[]string }

func (v originsValue) set(text string) bool {
	items, ok := splitList(text)
	if !ok {
		return false
	}
	for _, item := range items {
		if _, ok := parseOrigin(item); !ok {
			return false
		}
	}
	*v.p = items
	return true
}

func (v originsValue) String() string { return strings.Join(*v.p, ",") }
func (originsValue) allowed() string {
	return "origins separated by commas, each scheme://host or scheme://host:port in lower case, such as https://app.example.com"
}
func (originsValue) shape() setting.Shape { return setting.ShapeList }

// schemesValue is a list of URI schemes (RFC 3986 3.1) that belong to apps. Those
// that a browser handles itself are refused: the answer to an authorization
// request, with the code in it, would end up in the page or on the network.
type schemesValue struct{ p *[]string }

func (v schemesValue) set(text string) bool {
	items, ok := splitList(text)
	if !ok {
		return false
	}
	for _, item := range items {
		if !appScheme(item) {
			return false
		}
	}
	*v.p = items
	return true
}

func appScheme(text string) bool {
	switch text {
	case "http", "https", "ws", "wss", "ftp", "file", "data", "blob", "filesystem", "about", "javascript", "vbscript", "view-source", "mailto":
		return false
	}
	for i, r := range text {
		letter := r >= 'a' && r <= 'z'
		if !letter && (i == 0 || (r < '0' || r > '9') && !strings.ContainsRune("+-.", r)) {
			return false
		}
	}
	return text != ""
}

func (v schemesValue) String() string { return strings.Join(*v.p, ",") }
func (schemesValue) allowed() string {
	return "schemes of apps in lower case separated by commas, such as myapp; none that a browser handles itself"
}
func (schemesValue) shape() setting.Shape { return setting.ShapeList }

// parseOrigin reads scheme://host[:port] and nothing more.
func parseOrigin(text string) (*url.URL, bool) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return nil, false
	}
	if !setting.GoodPort(u) {
		return nil, false
	}
	plain := url.URL{Scheme: u.Scheme, Host: u.Host}
	return u, plain.String() == text && strings.ToLower(text) == text
}
