package httpd

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// ClientAddress returns a function that returns the address whose rate limit a request
// counts against: the peer or, if the peer is a trusted proxy, the nearest address in
// X-Forwarded-For that is not one. Entries further left are unverified and ignored. The
// address is used for limits only.
func ClientAddress(trusted []netip.Prefix) func(*http.Request) netip.Addr {
	return func(r *http.Request) netip.Addr {
		address := peerAddress(r.RemoteAddr)
		hops := strings.Split(strings.Join(r.Header["X-Forwarded-For"], ","), ",")
		for _, hop := range slices.Backward(hops) {
			if !within(trusted, address) {
				break
			}
			next, ok := parseHop(hop)
			if !ok {
				break
			}
			address = next
		}
		return address
	}
}

// peerAddress returns the address of a peer without its port, or the zero value.
func peerAddress(peer string) netip.Addr {
	parsed, err := netip.ParseAddrPort(peer)
	if err != nil {
		return netip.Addr{}
	}
	return parsed.Addr().Unmap().WithZone("")
}

// within reports whether one of the prefixes contains an address.
func within(prefixes []netip.Prefix, address netip.Addr) bool {
	return slices.ContainsFunc(prefixes, func(p netip.Prefix) bool { return p.Contains(address) })
}

// parseHop parses an address in X-Forwarded-For; some proxies add the port.
func parseHop(hop string) (netip.Addr, bool) {
	hop = strings.TrimSpace(hop)
	if withPort, err := netip.ParseAddrPort(hop); err == nil {
		return withPort.Addr().Unmap().WithZone(""), true
	}
	address, err := netip.ParseAddr(strings.Trim(hop, "[]"))
	return address.Unmap().WithZone(""), err == nil
}
