package sink

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"candela/internal/alerting/notify"
	"candela/internal/kit/fault"
)

// The bounds of one request.
const (
	timeout     = 10 * time.Second // of the whole request
	dialTimeout = 5 * time.Second  // of the connection and the handshake
	maxAnswer   = 4 << 10          // bytes of a response that are read; only the status counts
	maxHeader   = 64 << 10
	maxReason   = 200 // characters of a failure reason
	longestWait = time.Hour
)

// A Receiver is the destination of notifications. It is safe for concurrent use.
type Receiver struct {
	name      string
	url       *url.URL
	transport http.RoundTripper
	compose   func(e *notify.Entry, at time.Time) message
	sample    func(at time.Time) message
	hidden    string // a secret, removed from every reason
}

// message is the request for one notification.
type message struct {
	header http.Header
	body   []byte
}

// newReceiver returns a receiver without compose.
func newReceiver(name, address string, allowPrivate bool) (*Receiver, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, badURL(name, refusal("it is not a valid URL")) // the error of url.Parse quotes the URL
	}
	g, err := newGuard(u, allowPrivate)
	if err != nil {
		return nil, badURL(name, err)
	}
	return &Receiver{name: name, url: u, transport: newTransport(g.dialer(nil))}, nil
}

// newTransport ignores proxy settings: a proxy would connect to addresses that the guard does
// not check.
func newTransport(d *net.Dialer) *http.Transport {
	return &http.Transport{
		DialContext: d.DialContext, TLSHandshakeTimeout: dialTimeout,
		IdleConnTimeout: 30 * time.Second, MaxResponseHeaderBytes: maxHeader, DisableCompression: true,
	}
}

// badURL names the setting and not its value, which may hold a key.
func badURL(name string, reason error) error {
	return &fault.Error{
		Kind: fault.Invalid, Code: "refused", Field: name + "-url",
		Message: "--" + name + "-url: " + reason.Error(),
	}
}

// Name identifies the receiver in logs and in the store.
func (r *Receiver) Name() string { return r.name }

// Host is the part of the URL that may be shown; the rest may hold a key.
func (r *Receiver) Host() string { return r.url.Host }

// Close closes idle connections.
func (r *Receiver) Close() {
	if t, ok := r.transport.(*http.Transport); ok {
		t.CloseIdleConnections()
	}
}

// Test sends one message marked as a test and returns the response status, such as "200 OK",
// or the reason why it did not arrive.
func (r *Receiver) Test(ctx context.Context, now time.Time) (string, error) {
	a := r.post(ctx, r.sample(now))
	if a.delivered() {
		return statusText(a.status), nil
	}
	return "", errors.New(a.reason())
}

// answer is the outcome of one attempt.
type answer struct {
	status int // 0 without a response
	err    string
	wait   time.Duration // requested by the receiver
}

func (a answer) delivered() bool { return a.status/100 == 2 }

// final reports whether a retry would get the same response. No response, 429 and 5xx are
// temporary.
func (a answer) final() bool {
	return a.status != 0 && a.status < 500 && a.status != http.StatusTooManyRequests
}

// reason describes why the message did not arrive.
func (a answer) reason() string {
	switch {
	case a.status == 0:
		return a.err
	case a.status/100 == 3:
		return statusText(a.status) + ": redirects are not followed; configure the address they lead to"
	}
	return statusText(a.status)
}

func statusText(status int) string {
	return strings.TrimSpace(strconv.Itoa(status) + " " + http.StatusText(status))
}

// post sends a message and reads the status. It uses the transport directly: an http.Client
// would follow redirects and put the URL into its errors.
func (r *Receiver) post(ctx context.Context, m message) answer {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url.String(), bytes.NewReader(m.body))
	if err != nil {
		return answer{err: "invalid URL"}
	}
	req.Header = m.header
	req.Header.Set("User-Agent", "candela")
	resp, err := r.transport.RoundTrip(req)
	if err != nil {
		return answer{err: r.clip(err)}
	}
	// Reading a short body to its end lets the connection be reused.
	_, _ = io.CopyN(io.Discard, resp.Body, maxAnswer)
	_ = resp.Body.Close()
	return answer{status: resp.StatusCode, wait: retryAfter(resp.Header)}
}

// clip returns an error as a short line. A transport error may quote data of the receiver.
func (r *Receiver) clip(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Sprintf("no response within %v", timeout)
	}
	if refused := fault.Of(err); refused != nil {
		return refused.Message
	}
	text := strings.Join(strings.Fields(strings.ToValidUTF8(err.Error(), "?")), " ")
	if r.hidden != "" {
		text = strings.ReplaceAll(text, r.hidden, "(hidden)")
	}
	if runes := []rune(text); len(runes) > maxReason {
		text = string(runes[:maxReason]) + "..."
	}
	return text
}

// retryAfter reads both forms of the header (RFC 9110 10.2.3). A date counts from
// the receiver's own clock.
func retryAfter(h http.Header) time.Duration {
	text := h.Get("Retry-After")
	if n, err := strconv.Atoi(text); err == nil {
		return min(max(0, time.Duration(min(n, 1<<20))*time.Second), longestWait)
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	now, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		return 0
	}
	return min(max(0, at.Sub(now)), longestWait)
}
