package app

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"net/url"
	"strings"

	"candela/internal/fault"
)

const urlAllowed = "the https address of a candela server, such as https://charts.example.com; http for this machine alone"

// remoteAddress returns the address at which a remote server answers MCP. The address
// of the server alone gets the path of the endpoint.
func remoteAddress(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Opaque != "" {
		return "", fault.Field("--url", text, urlAllowed)
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		// Not shown: it may hold a password or a key.
		return "", fault.Field("--url", "(hidden)", urlAllowed+"; without a password, a query or a fragment")
	}
	if u.Scheme != "https" && (u.Scheme != "http" || !onThisMachine(u.Hostname())) {
		return "", fault.Field("--url", text, urlAllowed)
	}
	if strings.Trim(u.Path, "/") == "" {
		u.Path = "/mcp"
	}
	return u.String(), nil
}

// notListening says why an address cannot be listened on, and which flag chooses
// another.
func notListening(a netip.AddrPort, flag string, err error) error {
	switch {
	case addressInUse(err):
		return fmt.Errorf("%s is taken by another program, perhaps another candela: stop that one, or choose another %s: %w", a, flag, err)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("this user may not listen on %s: choose a port of 1024 or more with %s: %w", a, flag, err)
	}
	return fmt.Errorf("%s cannot be listened on: choose an address of this machine: %w", a, err)
}

func onThisMachine(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}
