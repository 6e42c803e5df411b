// Package ipkind says how far an IP address reaches, so that a URL from outside cannot
// lead into the operator's network.
package ipkind

import "net/netip"

// Kind is the reach of an address.
type Kind uint8

// The kinds.
const (
	Public   Kind = iota // reachable from anywhere
	Loopback             // this machine
	Private              // a network of the operator
	Special              // no address of a server
)

// Of classifies an address by the registries of special addresses (RFC 6890 and its
// updates). An IPv4 address embedded in an IPv6 address counts as IPv4.
func Of(addr netip.Addr) Kind {
	addr = inner(addr)
	for _, row := range addresses() {
		if netip.MustParsePrefix(row.prefix).Contains(addr) {
			return row.kind
		}
	}
	if globalUnicast := netip.MustParsePrefix("2000::/3"); addr.Is4() || globalUnicast.Contains(addr) {
		return Public
	}
	return Special
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
	kind   Kind
}

// addresses lists the exceptions; the first matching row decides.
func addresses() []addressRow {
	return []addressRow{
		// Metadata services of clouds, which hold credentials.
		{"169.254.169.254/32", Special},
		{"169.254.170.2/32", Special},
		{"100.100.100.200/32", Special},
		{"168.63.129.16/32", Special},
		{"fd00:ec2::/32", Special},
		{"fd20:ce::254/128", Special},

		{"127.0.0.0/8", Loopback},
		{"::1/128", Loopback},

		{"10.0.0.0/8", Private},
		{"172.16.0.0/12", Private},
		{"192.168.0.0/16", Private}, // RFC 1918
		{"100.64.0.0/10", Private},  // RFC 6598: carrier-grade NAT and private overlays
		{"fc00::/7", Private},       // RFC 4193

		{"0.0.0.0/8", Special},
		{"169.254.0.0/16", Special},
		{"192.0.0.0/24", Special},
		{"192.0.2.0/24", Special},
		{"198.51.100.0/24", Special},
		{"203.0.113.0/24", Special}, // documentation
		{"192.88.99.0/24", Special},
		{"198.18.0.0/15", Special},
		{"224.0.0.0/4", Special},
		{"240.0.0.0/4", Special},

		// Inside 2000::/3: protocols, tunnels that carry an IPv4 address, documentation.
		{"2001::/23", Special},
		{"2002::/16", Special},
		{"2001:db8::/32", Special},
		{"3fff::/20", Special},
	}
}
