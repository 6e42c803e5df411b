package sink

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"syscall"

	"candela/internal/kit/fault"
)

// guard decides which addresses a receiver may have, so that a mistyped URL or a hostile DNS
// name does not open a way into the operator's network. It checks the resolved address just
// before the connection, so that a name cannot change between check and use.
type guard struct {
	local   bool // the URL names this machine
	plain   bool // the URL is http
	private bool // the operator allows private networks
}

// newGuard returns the guard of a URL, or an error if the URL is not allowed.
func newGuard(u *url.URL, private bool) (guard, error) {
	literal, err := netip.ParseAddr(u.Hostname())
	g := guard{
		local: u.Hostname() == "localhost" || err == nil && kindOf(literal) == loopback,
		plain: u.Scheme == "http", private: private,
	}
	switch {
	case u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.User != nil:
		return g, refusal("it must be an absolute https URL without a user")
	case g.plain && !g.local && !private:
		return g, refusal("http is for this machine alone, or with --allow-private-sinks for a network of yours; use https")
	case err == nil:
		return g, g.check(literal)
	}
	return g, nil
}

// control is called by the dialer with each address before it connects.
func (g guard) control(_ context.Context, _, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return refusal("%s is no address", address)
	}
	return g.check(to.Addr())
}

func (g guard) check(addr netip.Addr) error {
	kind := kindOf(addr)
	switch {
	case kind == loopback && (g.local || g.private):
		return nil
	case g.local:
		return refusal("the URL names this machine, but %s is another", addr)
	case kind == private && g.private:
		return nil
	case kind == private || kind == loopback:
		return refusal("%s is a private address, which only --allow-private-sinks allows", addr)
	case kind == special:
		return refusal("%s is no address of a receiver", addr)
	case g.plain:
		return refusal("%s is a public address and needs https", addr)
	}
	return nil
}

// refusal is the reason why nothing was sent.
func refusal(format string, args ...any) error {
	return &fault.Error{Kind: fault.Invalid, Code: "address_refused", Message: fmt.Sprintf(format, args...)}
}

// kind classifies an address.
type kind uint8

const (
	public   kind = iota // reachable from anywhere
	loopback             // this machine
	private              // a network of the operator
	special              // never a receiver
)

// kindOf classifies an address by the registries of special addresses (RFC 6890 and its
// updates). An IPv4 address embedded in an IPv6 address counts as IPv4.
func kindOf(addr netip.Addr) kind {
	addr = inner(addr)
	for _, row := range addresses() {
		if netip.MustParsePrefix(row.prefix).Contains(addr) {
			return row.kind
		}
	}
	if globalUnicast := netip.MustParsePrefix("2000::/3"); addr.Is4() || globalUnicast.Contains(addr) {
		return public
	}
	return special
}

// inner returns the IPv4 address that an IPv6 address embeds, mapped or translated (RFC 6052).
// A zone, which only link-local addresses have, is dropped.
func inner(addr netip.Addr) netip.Addr {
	addr = addr.Unmap().WithZone("")
	if netip.MustParsePrefix("64:ff9b::/96").Contains(addr) {
		b := addr.As16()
		return netip.AddrFrom4([4]byte(b[12:]))
	}
	return addr
}

type addressRow struct {
	prefix string
	kind   kind
}

// addresses lists the exceptions; the first matching row decides.
func addresses() []addressRow {
	return []addressRow{
		// Metadata services of clouds, which hold credentials.
		{"169.254.169.254/32", special},
		{"169.254.170.2/32", special},
		{"100.100.100.200/32", special},
		{"168.63.129.16/32", special},
		{"fd00:ec2::/32", special},
		{"fd20:ce::254/128", special},

		{"127.0.0.0/8", loopback},
		{"::1/128", loopback},

		{"10.0.0.0/8", private},
		{"172.16.0.0/12", private},
		{"192.168.0.0/16", private}, // RFC 1918
		{"100.64.0.0/10", private},  // RFC 6598: carrier-grade NAT and private overlays
		{"fc00::/7", private},       // RFC 4193

		{"0.0.0.0/8", special},
		{"169.254.0.0/16", special},
		{"192.0.0.0/24", special},
		{"192.0.2.0/24", special},
		{"198.51.100.0/24", special},
		{"203.0.113.0/24", special}, // documentation
		{"192.88.99.0/24", special},
		{"198.18.0.0/15", special},
		{"224.0.0.0/4", special},
		{"240.0.0.0/4", special},

		// Inside 2000::/3: protocols, tunnels that carry an IPv4 address, documentation.
		{"2001::/23", special},
		{"2002::/16", special},
		{"2001:db8::/32", special},
		{"3fff::/20", special},
	}
}

// dialer connects to addresses that the guard allows. A nil resolver is the system's.
func (g guard) dialer(resolver *net.Resolver) *net.Dialer {
	return &net.Dialer{Timeout: dialTimeout, Resolver: resolver, ControlContext: g.control}
}
