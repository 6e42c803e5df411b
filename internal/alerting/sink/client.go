package sink

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"candela/internal/kit/secret"
	"candela/lib/fault"
)

// The bounds of one request.
const (
	timeout     = 10 * time.Second // of the whole request
	dialTimeout = 5 * time.Second  // of the connection and the handshake
	maxAnswer   = 4 << 10          // bytes of a response that are read
	maxHeader   = 64 << 10
	maxReason   = 200 // characters of a failure reason
	longestWait = time.Hour
)

// Client makes the HTTP requests of one receiver, to addresses that the guard allows. It is
// safe for concurrent use.
type Client struct {
	url       *url.URL
	transport http.RoundTripper
	secrets   Secrets
}

// NewClient returns a client for the address that a setting gives. The secrets are removed
// from every reason.
func NewClient(setting, address string, allowPrivate bool, secrets ...secret.Text) (*Client, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, BadSetting(setting, refusal("it is not a valid URL")) // the error of url.Parse quotes the URL
	}
	g, err := newGuard(u, allowPrivate)
	if err != nil {
		return nil, BadSetting(setting, err)
	}
	return &Client{url: u, transport: newTransport(g.dialer(nil)), secrets: secrets}, nil
}

// newTransport ignores proxy settings: a proxy would connect to addresses that the guard does
// not check.
func newTransport(d *net.Dialer) *http.Transport {
	return &http.Transport{
		DialContext: d.DialContext, TLSHandshakeTimeout: dialTimeout,
		IdleConnTimeout: 30 * time.Second, MaxResponseHeaderBytes: maxHeader, DisableCompression: true,
	}
}

// BadSetting names a setting and not its value, which may hold a key.
func BadSetting(setting string, reason error) error {
	return &fault.Error{Kind: fault.Invalid, Code: "refused", Field: setting, Message: "--" + setting + ": " + reason.Error()}
}

// Host is the part of the URL that may be shown; the rest may hold a key.
func (c *Client) Host() string { return c.url.Host }

// Close closes idle connections.
func (c *Client) Close() {
	if t, ok := c.transport.(*http.Transport); ok {
		t.CloseIdleConnections()
	}
}

// Request is one HTTP request.
type Request struct {
	Method  string // POST if empty
	Path    string // below that of the address
	Header  http.Header
	Body    []byte
	Timeout time.Duration // of the whole request; 0 means 10 seconds
	MaxBody int64         // bytes of the response that are read; 0 means 4 KiB
}

// Reply is a response, or the reason why there is none.
type Reply struct {
	Status int // 0 without a response
	Header http.Header
	Body   []byte // the beginning of the response
	Reason string
}

// Do makes one request. It uses the transport directly: an http.Client would follow
// redirects and put the URL into its errors.
func (c *Client) Do(ctx context.Context, r Request) Reply {
	limit := cmp.Or(r.Timeout, timeout)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	to := c.url
	if r.Path != "" {
		to = to.JoinPath(r.Path)
	}
	req, err := http.NewRequestWithContext(ctx, cmp.Or(r.Method, http.MethodPost), to.String(), bytes.NewReader(r.Body))
	if err != nil {
		return Reply{Reason: "invalid URL"}
	}
	if r.Header != nil {
		req.Header = r.Header
	}
	req.Header.Set("User-Agent", "candela")
	resp, err := c.transport.RoundTrip(req)
	if err != nil {
		return Reply{Reason: c.secrets.Clip(err, limit)}
	}
	// Reading a short body to its end lets the connection be reused. A body that breaks off
	// does not change the status.
	body, _ := io.ReadAll(io.LimitReader(resp.Body, cmp.Or(r.MaxBody, maxAnswer)))
	_ = resp.Body.Close()
	return Reply{Status: resp.StatusCode, Header: resp.Header, Body: body}
}

// Answer returns the outcome by the status alone. No response, 429 and 5xx are temporary.
func (r Reply) Answer() Answer {
	text := StatusText(r.Status)
	switch {
	case r.Status == 0:
		return Answer{Text: r.Reason}
	case r.Status/100 == 2:
		return Answer{Outcome: Delivered, Text: text}
	case r.Status == http.StatusTooManyRequests:
		return Answer{Text: text, Wait: retryAfter(r.Header)}
	case r.Status >= http.StatusInternalServerError:
		return Answer{Outcome: Failed, Text: text, Wait: retryAfter(r.Header)}
	case r.Status/100 == 3:
		text += ": redirects are not followed; configure the address they lead to"
	}
	return Answer{Outcome: Refused, Text: text, Wait: retryAfter(r.Header)}
}

// StatusText returns a status such as "200 OK".
func StatusText(status int) string {
	return strings.TrimSpace(strconv.Itoa(status) + " " + http.StatusText(status))
}

// Secrets are texts that no reason may contain.
type Secrets []secret.Text

// Hide returns text as a short line without the secrets.
func (s Secrets) Hide(text string) string {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "?")), " ")
	for _, one := range s {
		if one.IsZero() {
			continue
		}
		for _, form := range []string{one.Reveal(), url.PathEscape(one.Reveal()), url.QueryEscape(one.Reveal())} {
			text = strings.ReplaceAll(text, form, "(hidden)")
		}
	}
	if runes := []rune(text); len(runes) > maxReason {
		text = string(runes[:maxReason]) + "..."
	}
	return text
}

// Clip returns an error as a short line without the secrets. A transport error may quote
// data of the receiver.
func (s Secrets) Clip(err error, limit time.Duration) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Sprintf("no response within %v", limit)
	}
	if refused := fault.Of(err); refused != nil {
		return refused.Message
	}
	return s.Hide(err.Error())
}

// retryAfter reads both forms of the header (RFC 9110 10.2.3). A date counts from
// the receiver's own clock.
func retryAfter(h http.Header) time.Duration {
	text := h.Get("Retry-After")
	if n, err := strconv.Atoi(text); err == nil {
		return Bounded(time.Duration(min(n, 1<<20)) * time.Second)
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	now, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		return 0
	}
	return Bounded(at.Sub(now))
}

// Bounded limits a delay that a receiver requests to an hour.
func Bounded(wait time.Duration) time.Duration { return min(max(0, wait), longestWait) }

// Connect reports whether the server can be reached, without a request.
func (c *Client) Connect(ctx context.Context) Answer {
	t, ok := c.transport.(*http.Transport)
	if !ok {
		return Answer{Text: "no connection"}
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	port := cmp.Or(c.url.Port(), map[string]string{"http": "80", "https": "443"}[c.url.Scheme])
	conn, err := t.DialContext(ctx, "tcp", net.JoinHostPort(c.url.Hostname(), port))
	if err != nil {
		return Answer{Text: c.secrets.Clip(err, timeout)}
	}
	defer func() { _ = conn.Close() }() // nothing was written
	if c.url.Scheme == "https" {
		if err := tls.Client(conn, &tls.Config{ServerName: c.url.Hostname(), MinVersion: tls.VersionTLS12}).HandshakeContext(ctx); err != nil {
			return Answer{Text: c.secrets.Clip(err, timeout)}
		}
	}
	return Answer{Outcome: Delivered, Text: "reachable; candela notify test sends a message"}
}
