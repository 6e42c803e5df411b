package sink

import (
	"encoding/binary"
	"net/http"
	"net/netip"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"candela/internal/alerting/notify"
	"candela/internal/market"
)

// FuzzKindOf holds that an address which the standard library knows to be no public
// one is none here, and that an IPv4 address is the same in every disguise.
func FuzzKindOf(f *testing.F) {
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
		if kindOf(addr) == public && (!plain.IsGlobalUnicast() || plain.IsPrivate() || plain.IsLoopback()) {
			t.Errorf("%s counts as public", addr)
		}
		if kindOf(addr) == loopback && !inner(addr).IsLoopback() || kindOf(addr) == private && inner(addr).IsLinkLocalUnicast() {
			t.Errorf("%s is of kind %d", addr, kindOf(addr))
		}
		v4 := netip.AddrFrom4([4]byte(raw[12:]))
		translated := netip.MustParseAddr("64:ff9b::").As16()
		copy(translated[12:], raw[12:])
		for _, disguised := range []netip.Addr{netip.AddrFrom16(v4.As16()), netip.AddrFrom16(translated)} {
			if kindOf(disguised) != kindOf(v4) {
				t.Errorf("%s is of kind %d, %s of kind %d", disguised, kindOf(disguised), v4, kindOf(v4))
			}
		}
	})
}

// FuzzNtfy holds that whatever a record says becomes a message that can be sent.
func FuzzNtfy(f *testing.F) {
	f.Add([]byte(record), int64(1769868202))
	f.Add([]byte(`{"alert_id":"a\r\nB: c","condition":{"type":"x"},"triggered_at":"2026-01-31T14:03:22Z","value":1e-400}`), int64(0))
	f.Add([]byte(`{"condition":{"type":"price_above","threshold":-1e9},"value":null,"triggered_at":"0001-01-01T00:00:01Z"}`), int64(-1))
	to, err := NewNtfy("https://a.example/t", newSecret(), false)
	if err != nil {
		f.Fatal(err)
	}
	good := regexp.MustCompile(`^[ -~]*$`)
	f.Fuzz(func(t *testing.T, data []byte, now int64) {
		m := to.compose(&notify.Entry{Seq: 1, Symbol: market.Symbol{Name: "BTCUSDT"}, Data: data}, time.Unix(now, 0))
		if len(m.body) > maxText+3 || utf8.Valid(data) && !utf8.Valid(m.body) {
			t.Errorf("%d bytes of text", len(m.body))
		}
		for name, values := range m.header {
			if len(values) != 1 || !good.MatchString(values[0]) {
				t.Errorf("%s is %q", name, values)
			}
		}
	})
}

func FuzzRetryAfter(f *testing.F) {
	for _, seed := range []string{"", "5", "-1", "1e9", "99999999999999999999", "Sat, 31 Jan 2026 14:00:40 GMT", "Sat, 31 Jan 0000 14:00:40 GMT"} {
		f.Add(seed, "Sat, 31 Jan 2026 14:00:00 GMT")
	}
	f.Fuzz(func(t *testing.T, text, date string) {
		wait := retryAfter(http.Header{"Retry-After": {text}, "Date": {date}})
		if wait < 0 || wait > longestWait {
			t.Errorf("%q asks for %v", strings.ToValidUTF8(text, "?"), wait)
		}
	})
}
