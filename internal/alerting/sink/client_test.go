package sink

import (
	"context"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"candela/internal/kit/secret"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const secretText = "a-secret-of-the-webhook"

// poster is a receiver as small as one can be.
type poster struct{ *Client }

func newPoster(t *testing.T, address string) *poster {
	t.Helper()
	c, err := NewClient("webhook-url", address, false, secret.New(secretText))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return &poster{c}
}

func (p *poster) Send(ctx context.Context, m Message) Answer {
	r := Request{Header: http.Header{}}
	if m.Alert != nil {
		r.Header.Set(HeaderSeq, strconv.FormatUint(m.Alert.Seq, 10))
		r.Body = m.Alert.Data
	}
	return p.Do(ctx, r).Answer()
}

func (p *poster) Check(ctx context.Context) Answer { return p.Connect(ctx) }

func TestReceiver_NobodyThere(t *testing.T) {
	t.Parallel()
	var config net.ListenConfig
	ln, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ln.Close() }()
	// The near end of a connection has a port that is taken, and where nobody listens.
	var dialer net.Dialer
	conn, err := dialer.DialContext(t.Context(), "tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	r := newPoster(t, "http://"+conn.LocalAddr().String()+"/hunter2?key=hunter3")
	a := r.Send(t.Context(), Message{})
	if a.Outcome != Unreachable || !strings.Contains(a.Text, "refused") || strings.Contains(a.Text, "hunter") {
		t.Error(a)
	}
}

// The transport must not look for a proxy where nobody would expect one.
func TestReceiver_UsesNoProxy(t *testing.T) {
	t.Parallel()
	if transport, ok := newPoster(t, "https://a.example").transport.(*http.Transport); !ok || transport.Proxy != nil {
		t.Error("requests may go through a proxy, whose connections nobody checks")
	}
}
