package sink

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"syscall"

	"candela/internal/kit/ipkind"
	"candela/lib/fault"
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
		local: u.Hostname() == "localhost" || err == nil && ipkind.Of(literal) == ipkind.Loopback,
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
	kind := ipkind.Of(addr)
	switch {
	case kind == ipkind.Loopback && (g.local || g.private):
		return nil
	case g.local:
		return refusal("the URL names this machine, but %s is another", addr)
	case kind == ipkind.Private && g.private:
		return nil
	case kind == ipkind.Private || kind == ipkind.Loopback:
		return refusal("%s is a private address, which only --allow-private-sinks allows", addr)
	case kind == ipkind.Special:
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

// dialer connects to addresses that the guard allows. A nil resolver is the system's.
func (g guard) dialer(resolver *net.Resolver) *net.Dialer {
	return &net.Dialer{Timeout: dialTimeout, Resolver: resolver, ControlContext: g.control}
}

// NewDialer returns a dialer to a host that a setting names, and whether that is this
// machine. The connection must be encrypted unless it is.
func NewDialer(setting, host string, allowPrivate bool) (d *net.Dialer, local bool, err error) {
	g, err := newGuard(&url.URL{Scheme: "https", Host: net.JoinHostPort(host, "1")}, allowPrivate)
	if err != nil {
		return nil, false, BadSetting(setting, err)
	}
	return g.dialer(nil), g.local, nil
}
