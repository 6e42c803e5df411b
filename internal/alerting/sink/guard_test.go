package sink

import (
	"context"
	"errors"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"testing"

	"candela/internal/alerting/sink/sinktest"
	"candela/internal/kit/secret"
	"candela/internal/testkit/dnstest"
)

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

func TestNewClient_RefusalsDoNotQuoteTheURL(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"https://a.example/hunter2 \x7f", "http://a.example/hunter2", "https://hunter2@a.example/", "hunter2", "https://10.0.0.1/hunter2"} {
		_, err := NewClient("ntfy-url", address, false)
		if err == nil || strings.Contains(err.Error(), "hunter2") || !strings.HasPrefix(err.Error(), "--ntfy-url: ") {
			t.Errorf("%q: %v", address, err)
		}
	}
}

// receiver returns a webhook whose host name is what a zone says, at the port of a
// server on this machine. Nothing leaves it: a connection that is allowed to another
// address fails.
func receiver(t *testing.T, private bool) (_ *poster, records *dnstest.Zone, reached <-chan sinktest.Got) {
	t.Helper()
	address, arrived := sinktest.Listen(t, nil)
	names, records := dnstest.Resolver(t)
	r, err := NewClient("webhook-url", "https://hooks.example"+address[strings.LastIndex(address, ":"):]+"/x", private, secret.New("secret"))
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
	return &poster{r}, records, arrived
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
				records.Set(tc.answers[i])
				a := r.Send(t.Context(), Message{})
				if sent := a.Outcome == Delivered; sent != (want == "") || !sent && !strings.Contains(a.Text, want) {
					t.Errorf("request %d: %v, want %q", i, a, want)
				}
				if want == "" {
					delivered++
				}
				if records.Questions() == 0 {
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
		records.Set("1.1.1.1", "127.0.0.1")
		if a := r.Send(t.Context(), Message{}); a.Outcome == Delivered {
			t.Error("a request succeeds")
		}
		if records.Questions() == 0 {
			t.Error("a request does not ask for the name")
		}
	}
	if len(reached) != 0 {
		t.Errorf("%d requests arrived", len(reached))
	}
}
