package venue

import (
	"strings"

	"candela/internal/data/upstream"
)

// Harmless reports whether nothing can be lost at a host: it is this machine, a name under test, which is
// nobody's (RFC 6761 6.2), or one of the venue's test networks, of which "*.name" stands for all below a name.
// Behind any other name the exchange itself may stand.
func Harmless(host string, tests ...string) bool {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	for _, t := range tests {
		if parent, ok := strings.CutPrefix(t, "*"); ok && strings.HasSuffix(host, parent) || host == t {
			return true
		}
	}
	return upstream.Loopback(host) || strings.HasSuffix(host, ".test")
}
