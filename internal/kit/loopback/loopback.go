// Package loopback recognizes host names that can only mean this machine.
package loopback

import "net/netip"

// Host reports whether host is a loopback address or "localhost", which browsers and
// resolvers keep on this machine.
func Host(host string) bool {
	if host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}
