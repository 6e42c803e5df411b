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
	timeout     = 10 * time.Second // of all of it
	dialTimeout = 5 * time.Second  // of the connection, and of the handshake
	maxAnswer   = 4 << 10          // bytes of an answer that are read: a status is all that counts
	maxHeader   = 64 << 10
	maxReason   = 200 // characters of a failure that are told
	longestWait = time.Hour
)

// Receiver is where notifications are sent. It is safe for concurrent use.
type Receiver struct {
	name      string
	url       *url.URL
	transport http.RoundTripper
	compose   func(e *notify.Entry, at time.Time) message
	sample    func(at time.Time) message
	hidden    string // appears in no text, whatever a receiver answers
}

// message is what one notification looks like to a receiver.
type message struct {
	header http.Header
	body   []byte
}

// newReceiver returns a receiver that composes nothing yet.
func newReceiver(name, address string, allowPrivate bool) (*Receiver, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, badURL(name, refusal("it cannot be read")) // the error of url.Parse quotes the URL
	}
	g, err := newGuard(u, allowPrivate)
	if err != nil {
		return nil, badURL(name, err)
	}
	return &Receiver{name: name, url: u, transport: newTransport(g.dialer(nil))}, nil
}

// newTransport uses no proxy, also none that the environment names: it would
// connect on our behalf, and nobody would check where to.
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

// Name is what the receiver is called in the log and in the store.
func (r *Receiver) Name() string { return r.name }

// Host is the part of the URL that may be shown. The rest may be a key.
func (r *Receiver) Host() string { return r.url.Host }

// Close lets go of connections that are not in use.
func (r *Receiver) Close() {
	if t, ok := r.transport.(*http.Transport); ok {
		t.CloseIdleConnections()
	}
}

// Test sends a message that says that it is a test, once, and returns the answer's
// status, such as "200 OK". An error says why the message did not arrive.
func (r *Receiver) Test(ctx context.Context, now time.Time) (string, error) {
	a := r.post(ctx, r.sample(now))
	if a.delivered() {
		return statusText(a.status), nil
	}
	return "", errors.New(a.reason())
}

// answer is what became of one attempt.
type answer struct {
	status int // 0 when none came
	err    string
	wait   time.Duration // that the receiver asks for
}

func (a answer) delivered() bool { return a.status/100 == 2 }

// final reports whether the same message would get the same answer. Nothing is
// known when none came; 429 and 5xx are about the moment.
func (a answer) final() bool {
	return a.status != 0 && a.status < 500 && a.status != http.StatusTooManyRequests
}

// reason says in words why the message did not arrive.
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

// post sends a message and reads the status. It uses the transport itself: a client
// would follow redirects and put the URL into its errors.
func (r *Receiver) post(ctx context.Context, m message) answer {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url.String(), bytes.NewReader(m.body))
	if err != nil {
		return answer{err: "no request can be made of the URL"}
	}
	req.Header = m.header
	req.Header.Set("User-Agent", "candela")
	resp, err := r.transport.RoundTrip(req)
	if err != nil {
		return answer{err: r.clip(err)}
	}
	// What is read of a short answer lets the connection serve again.
	_, _ = io.CopyN(io.Discard, resp.Body, maxAnswer)
	_ = resp.Body.Close()
	return answer{status: resp.StatusCode, wait: retryAfter(resp.Header)}
}

// clip returns an error as a short line. An error of the transport may quote what
// the other side sent.
func (r *Receiver) clip(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Sprintf("no answer within %v", timeout)
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
