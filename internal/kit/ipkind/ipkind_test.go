package ipkind

import (
	"encoding/binary"
	"net/netip"
	"testing"
)

func TestOf(t *testing.T) {
	t.Parallel()
	for want, addresses := range map[Kind][]string{
		Public: {
			"1.1.1.1", "8.8.8.8", "11.0.0.1", "172.15.255.255", "172.32.0.1", "100.63.255.255", "100.128.0.1", "169.253.0.1", "192.167.0.1", "223.255.255.255",
			"2606:4700::1", "2a00:1450::1", "::ffff:1.1.1.1", "64:ff9b::1.1.1.1",
		},
		Loopback: {"127.0.0.1", "127.255.255.254", "::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1"},
		Private: {
			"10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.255", "192.168.0.1", "100.64.0.1", "100.127.255.255",
			"fc00::1", "fd12:3456::1", "::ffff:10.0.0.1", "::ffff:192.168.1.1", "64:ff9b::10.1.2.3",
		},
		Special: {
			"0.0.0.0", "0.1.2.3", "::", "169.254.0.1", "169.254.169.254", "169.254.170.2", "100.100.100.200", "168.63.129.16", "192.0.0.192", "192.0.2.1",
			"198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.1", "192.88.99.1", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
			"fe80::1", "fe80::1%eth0", "fec0::1", "ff02::1", "fd00:ec2::254", "fd20:ce::254", "::127.0.0.1", "::ffff:169.254.169.254", "64:ff9b::169.254.169.254",
			"64:ff9b:1::1", "100::1", "2001::1", "2001:db8::1", "2002:7f00:1::", "3fff::1", "5f00::1", "4000::1",
		},
	} {
		for _, text := range addresses {
			if got := Of(netip.MustParseAddr(text)); got != want {
				t.Errorf("%s is of kind %d, want %d", text, got, want)
			}
		}
	}
}

// FuzzOf holds that an address which the standard library knows to be no public
// one is none here, and that an IPv4 address is the same in every disguise.
func FuzzOf(f *testing.F) {
	for _, seed := range []string{"127.0.0.1", "10.0.0.1", "169.254.169.254", "8.8.8.8", "224.0.0.1", "0.0.0.0", "2606:4700::1", "fe80::1", "fd00:ec2::254", "::ffff:10.0.0.1"} {
		addr := netip.MustParseAddr(seed).As16()
		f.Add(binary.BigEndian.Uint64(addr[:8]), binary.BigEndian.Uint64(addr[8:]))
	}
	f.Fuzz(func(t *testing.T, high, low uint64) {
		var raw [16]byte
		binary.BigEndian.PutUint64(raw[:8], high)
		binary.BigEndian.PutUint64(raw[8:], low)
		addr := netip.AddrFrom16(raw)
		plain := addr.Unmap()
		if Of(addr) == Public && (!plain.IsGlobalUnicast() || plain.IsPrivate() || plain.IsLoopback()) {
			t.Errorf("%s counts as public", addr)
		}
		if Of(addr) == Loopback && !inner(addr).IsLoopback() || Of(addr) == Private && inner(addr).IsLinkLocalUnicast() {
			t.Errorf("%s is of kind %d", addr, Of(addr))
		}
		v4 := netip.AddrFrom4([4]byte(raw[12:]))
		translated := netip.MustParseAddr("64:ff9b::").As16()
		copy(translated[12:], raw[12:])
		for _, disguised := range []netip.Addr{netip.AddrFrom16(v4.As16()), netip.AddrFrom16(translated)} {
			if Of(disguised) != Of(v4) {
				t.Errorf("%s is of kind %d, %s of kind %d", disguised, Of(disguised), v4, Of(v4))
			}
		}
	})
}
