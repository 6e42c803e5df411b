package sink

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"candela/internal/kit/secret"

	"golang.org/x/net/dns/dnsmessage"
)

func TestKindOf(t *testing.T) {
	t.Parallel()
	for want, addresses := range map[kind][]string{
		public: {
			"1.1.1.1", "8.8.8.8", "11.0.0.1", "172.15.255.255", "172.32.0.1", "100.63.255.255", "100.128.0.1", "169.253.0.1", "192.167.0.1", "223.255.255.255",
			"2606:4700::1", "2a00:1450::1", "::ffff:1.1.1.1", "64:ff9b::1.1.1.1",
		},
		loopback: {"127.0.0.1", "127.255.255.254", "::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1"},
		private: {
			"10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.255", "192.168.0.1", "100.64.0.1", "100.127.255.255",
			"fc00::1", "fd12:3456::1", "::ffff:10.0.0.1", "::ffff:192.168.1.1", "64:ff9b::10.1.2.3",
		},
		special: {
			"0.0.0.0", "0.1.2.3", "::", "169.254.0.1", "169.254.169.254", "169.254.170.2", "100.100.100.200", "168.63.129.16", "192.0.0.192", "192.0.2.1",
			"198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.1", "192.88.99.1", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
			"fe80::1", "fe80::1%eth0", "fec0::1", "ff02::1", "fd00:ec2::254", "fd20:ce::254", "::127.0.0.1", "::ffff:169.254.169.254", "64:ff9b::169.254.169.254",
			"64:ff9b:1::1", "100::1", "2001::1", "2001:db8::1", "2002:7f00:1::", "3fff::1", "5f00::1", "4000::1",
		},
	} {
		for _, text := range addresses {
			if got := kindOf(netip.MustParseAddr(text)); got != want {
				t.Errorf("%s is of kind %d, want %d", text, got, want)
			}
		}
	}
}

func TestGuard_ByURLAndAddress(t *testing.T) {
	t.Parallel()
	const nothing = ""
	for name, tc := range map[string]struct {
		url     string
		private bool   // allowed
		addr    string // that the name resolves to
		want    string // in the refusal, or nothing
	}{
		"https to the public":                 {"https://a.example/x", false, "1.1.1.1", nothing},
		"https to a private network":          {"https://a.example/x", false, "192.168.1.5", "--allow-private-sinks"},
		"https to a carrier's network":        {"https://a.example/x", false, "100.64.0.9", "--allow-private-sinks"},
		"https to this machine by name":       {"https://a.example/x", false, "127.0.0.1", "--allow-private-sinks"},
		"https to mapped this machine":        {"https://a.example/x", false, "::ffff:127.0.0.1", "--allow-private-sinks"},
		"https to metadata":                   {"https://a.example/x", false, "169.254.169.254", "no address of a receiver"},
		"https to everyone":                   {"https://a.example/x", false, "224.0.0.1", "no address of a receiver"},
		"https to no address":                 {"https://a.example/x", false, "0.0.0.0", "no address of a receiver"},
		"allowed private network":             {"https://a.example/x", true, "192.168.1.5", nothing},
		"allowed private network over http":   {"http://nas.example/x", true, "192.168.1.5", nothing},
		"allowed this machine by name":        {"http://nas.example/x", true, "127.0.0.1", nothing},
		"http to the public is never allowed": {"http://nas.example/x", true, "1.1.1.1", "needs https"},
		"metadata is never allowed":           {"http://nas.example/x", true, "169.254.169.254", "no address of a receiver"},
		"metadata by IPv6 is never allowed":   {"http://nas.example/x", true, "fd00:ec2::254", "no address of a receiver"},
		"link-local is never allowed":         {"http://nas.example/x", true, "fe80::1", "no address of a receiver"},
		"localhost":                           {"http://localhost:8080/x", false, "::1", nothing},
		"localhost that is elsewhere":         {"http://localhost:8080/x", false, "1.1.1.1", "names this machine"},
		"localhost that is elsewhere, near":   {"https://localhost:8080/x", true, "10.0.0.1", "names this machine"},
		"loopback by number":                  {"http://127.0.0.1:8080/x", false, "127.0.0.1", nothing},
		"http by name":                        {"http://a.example/x", false, "1.1.1.1", "use https"},
		"a private network by number":         {"https://10.0.0.1/x", false, "10.0.0.1", "--allow-private-sinks"},
		"metadata by number":                  {"http://169.254.169.254/latest", true, "169.254.169.254", "no address of a receiver"},
		"mapped loopback by number":           {"http://[::ffff:127.0.0.1]/x", false, "127.0.0.1", nothing},
		"the public by number":                {"https://1.1.1.1/x", false, "1.1.1.1", nothing},
		"another scheme":                      {"ftp://a.example/x", true, "1.1.1.1", "absolute https URL"},
		"a user":                              {"https://me:pw@a.example/x", true, "1.1.1.1", "absolute https URL"},
		"no host":                             {"https:///x", true, "1.1.1.1", "absolute https URL"},
	} {
		u, err := url.Parse(tc.url)
		if err != nil {
			t.Fatal(err)
		}
		g, err := newGuard(u, tc.private)
		if err == nil {
			err = g.control(t.Context(), "tcp", netip.AddrPortFrom(netip.MustParseAddr(tc.addr), 443).String(), nil)
		}
		if tc.want == nothing && err != nil || tc.want != nothing && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
	if err := (guard{}).control(t.Context(), "unix", "/tmp/socket", nil); err == nil {
		t.Error("what is no address is connected to")
	}
}

func TestNewReceiver_RefusalsDoNotQuoteTheURL(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"https://a.example/hunter2 \x7f", "http://a.example/hunter2", "https://hunter2@a.example/", "hunter2", "https://10.0.0.1/hunter2"} {
		_, err := NewNtfy(address, secret.Text{}, false)
		if err == nil || strings.Contains(err.Error(), "hunter2") || !strings.HasPrefix(err.Error(), "--ntfy-url: ") {
			t.Errorf("%q: %v", address, err)
		}
	}
}

// zone holds the addresses of a DNS name. It is safe for concurrent use.
type zone struct {
	mu    sync.Mutex
	addrs []netip.Addr
	asked int // since they were set
}

// set makes the first question from now on be answered with the first address and so
// on, and all further ones with the last.
func (z *zone) set(addrs ...string) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.addrs, z.asked = nil, 0
	for _, text := range addrs {
		z.addrs = append(z.addrs, netip.MustParseAddr(text))
	}
}

func (z *zone) answer() netip.Addr {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.asked++
	return z.addrs[min(z.asked, len(z.addrs))-1]
}

// questions returns how many there were. One whose answer is late is asked again.
func (z *zone) questions() int {
	z.mu.Lock()
	defer z.mu.Unlock()
	return z.asked
}

// resolver returns scripted answers to IPv4 lookups, as a hostile name server would.
func resolver(t *testing.T) (*net.Resolver, *zone) {
	t.Helper()
	records := new(zone)
	serve := func(conn net.PacketConn) {
		buf := make([]byte, 512)
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buf[:n]) != nil {
				return
			}
			m.Response = true
			m.Additionals = nil
			if q := m.Questions[0]; q.Type == dnsmessage.TypeA {
				m.Answers = []dnsmessage.Resource{{
					Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class},
					Body:   &dnsmessage.AResource{A: records.answer().As4()},
				}}
			}
			packed, err := m.Pack()
			if err != nil {
				return
			}
			_, _ = conn.WriteTo(packed, from)
		}
	}
	var listen net.ListenConfig
	conn, err := listen.ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		serve(conn)
	}()
	t.Cleanup(func() {
		_ = conn.Close()
		<-done
	})
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp", conn.LocalAddr().String())
	}}, records
}

// receiver returns a webhook whose host name is what a zone says, at the port of a
// server on this machine. Nothing leaves it: a connection that is allowed to another
// address fails.
func receiver(t *testing.T, private bool) (_ *Receiver, records *zone, reached <-chan got) {
	t.Helper()
	address, arrived := listen(t, nil)
	names, records := resolver(t)
	r, err := NewWebhook("https://hooks.example"+address[strings.LastIndex(address, ":"):]+"/x", secret.New("secret"), private)
	if err != nil {
		t.Fatal(err)
	}
	r.url.Scheme = "http" // the server has no certificate; the guard keeps the rule of https
	g, err := newGuard(&url.URL{Scheme: "https", Host: r.url.Host}, private)
	if err != nil {
		t.Fatal(err)
	}
	dialer := g.dialer(names)
	checked := dialer.ControlContext
	dialer.ControlContext = func(ctx context.Context, network, address string, c syscall.RawConn) error {
		if err := checked(ctx, network, address, c); err != nil || strings.HasPrefix(address, "127.") {
			return err
		}
		return errors.New("the network is not there")
	}
	transport := newTransport(dialer)
	transport.DisableKeepAlives = true // every request asks for the name
	r.transport = transport
	return r, records, arrived
}

// TestReceiver_ChecksTheAddressItConnectsTo lets a name turn from one address into
// another between two requests. The second is this machine, where a server waits.
func TestReceiver_ChecksTheAddressItConnectsTo(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		private bool
		answers []string
		want    []string // reasons, "" for a delivery
	}{
		"a name that turns private": {answers: []string{"169.254.169.254", "127.0.0.1", "10.0.0.1"}, want: []string{"no address of a receiver", "private address", "private address"}},
		"a private name, allowed":   {private: true, answers: []string{"127.0.0.1", "169.254.169.254"}, want: []string{"", "no address of a receiver"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, records, reached := receiver(t, tc.private)
			delivered := 0
			for i, want := range tc.want {
				records.set(tc.answers[i])
				_, err := r.Test(t.Context(), time.Now())
				if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
					t.Errorf("request %d: %v, want %q", i, err, want)
				}
				if want == "" {
					delivered++
				}
				if records.questions() == 0 {
					t.Errorf("request %d does not ask for the name", i)
				}
			}
			if len(reached) != delivered {
				t.Errorf("%d requests arrived", len(reached))
			}
		})
	}
}

// TestReceiver_ConnectsToTheAddressItChecked lets a name turn into this machine between
// two questions of one request.
func TestReceiver_ConnectsToTheAddressItChecked(t *testing.T) {
	t.Parallel()
	r, records, reached := receiver(t, false)
	for range 3 {
		records.set("1.1.1.1", "127.0.0.1")
		if _, err := r.Test(t.Context(), time.Now()); err == nil {
			t.Error("a request succeeds")
		}
		if records.questions() == 0 {
			t.Error("a request does not ask for the name")
		}
	}
	if len(reached) != 0 {
		t.Errorf("%d requests arrived", len(reached))
	}
}
