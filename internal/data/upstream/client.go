// Package upstream provides the HTTP and WebSocket clients for venues. Per host it limits
// request weight, honours pauses, retries safe requests and opens a circuit breaker. Its
// errors keep the venue's code and message. It knows nothing about markets.
//
// All limits hold per host for the whole process, because venues count by address: callers
// that share a Hosts share the limits.
//
// The circuit breaker is not github.com/sony/gobreaker, which does not report when it will
// let the next request through, and counts a request that its caller cancelled as a
// failure of the host.
package upstream

import (
	"cmp"
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"candela/internal/kit/retry"
	"candela/internal/kit/sendby"
	"candela/lib/fault"
)

// Config describes one host of a venue.
type Config struct {
	Venue string // its name in errors, such as "binance"
	Base  string // scheme and host, with a path where the API has one
	Limit Limit
	// UsedHeader is the response header with the weight used in the present period, ""
	// if the venue sends none.
	UsedHeader string
	Header     http.Header // sent with every request
	// ParseError reads the venue's code and message from an error response. Both may be
	// empty.
	ParseError func(body []byte) (code, message string)
	// IsEndpointLimit reports whether a 429 with a code limits one endpoint only, so that
	// the host is not paused. Nil means never.
	IsEndpointLimit func(code string) bool
	MaxBytes        int64         // of one response; 16 MiB when 0
	Timeout         time.Duration // of one attempt; 15 s when 0
	Attempts        int           // of a GET; 3 when 0
}

// Client sends requests to one host. It is safe for concurrent use.
type Client struct {
	config Config
	base   *url.URL
	host   *host
	skewed func(venue string, skew time.Duration)
}

// ResolveURL returns address if it is set. Otherwise it returns base with the scheme of
// public, or public if base is not set either: a gateway in front of a venue is configured
// once.
func ResolveURL(address, base, public string) string {
	switch {
	case address != "":
		return address
	case base == "":
		return public
	case strings.HasPrefix(public, "ws"):
		return "ws" + strings.TrimPrefix(base, "http")
	default:
		return base
	}
}

// Request is one request. Subject names it in errors, usually a symbol.
type Request struct {
	Method string // GET when empty; only GET is retried
	Path   string
	Query  url.Values
	// QueryFunc returns the query, in place of Query, just before an attempt is sent: a
	// signed time would be outdated after waiting for a permit.
	QueryFunc func() string
	Header    http.Header
	Body      string
	Weight    int // 1 when 0
	Subject   string
}

// Response is a response with a status of 200 to 299 and a JSON or empty body.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
	At     time.Time // by the clock of the host if it sends a date
}

// Client returns a client of the host in c.Base. It panics if the base is not an absolute
// http or https URL: the configuration has checked it.
func (h *Hosts) Client(c Config) *Client {
	base, err := url.Parse(c.Base)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		panic("upstream: " + c.Venue + ": base " + strconv.Quote(c.Base) + " is not an absolute URL")
	}
	c.MaxBytes = cmp.Or(c.MaxBytes, 16<<20)
	c.Timeout = cmp.Or(c.Timeout, 15*time.Second)
	c.Attempts = cmp.Or(c.Attempts, 3)
	return &Client{config: c, base: base, host: h.hostFor(base), skewed: h.OnClockSkew}
}

// Do sends a request. A GET without a response, or with status 429 or 5xx, is retried;
// other methods are not, because the host may have executed them. The error is a fault
// that wraps an *Error, or wraps the error of ctx; either wraps ErrNotSent if the last
// attempt sent nothing.
func (c *Client) Do(ctx context.Context, r Request) (*Response, error) {
	r.Method = cmp.Or(r.Method, http.MethodGet)
	r.Weight = max(r.Weight, 1)
	for attempt := 1; ; attempt++ {
		resp, failure, err := c.attempt(ctx, r)
		if err != nil {
			return nil, wrapContext(c.config.Venue, r.Subject, err)
		}
		if failure == nil {
			return resp, nil
		}
		if attempt >= c.config.Attempts || r.Method != http.MethodGet || !failure.transient() {
			return nil, failure.fault()
		}
		// The limiter delays the next attempt as long as the venue asked for.
		if failure.Reason != Throttled {
			wait := retry.Backoff{First: 500 * time.Millisecond, Max: 8 * time.Second}.Delay(attempt, nil)
			if err := retry.Sleep(ctx, wait); err != nil {
				return nil, wrapContext(c.config.Venue, r.Subject, err)
			}
		}
	}
}

// Get sends a request and parses the body of its response. It returns what parse returns
// and the time of the response. A body that parse rejects is a malformed response.
func Get[T any](ctx context.Context, c *Client, r Request, parse func(body []byte) (T, error)) (T, time.Time, error) {
	var none T
	resp, err := c.Do(ctx, r)
	if err != nil {
		return none, time.Time{}, err
	}
	var value T
	if b := waiting(ctx); b != nil {
		value, err = parseApart(c.host, b, resp.Body, parse)
	} else {
		value, err = parse(resp.Body)
	}
	if err != nil {
		return none, resp.At, MalformedResponse(c.config.Venue, r.Subject, err)
	}
	return value, resp.At, nil
}

// Pause pauses the host, for venues that ask for it in a response body. 0 means that the
// venue named no time. It returns the time left, which may be longer.
func (c *Client) Pause(d time.Duration) time.Duration {
	return c.host.limiter.pause(min(d, longestPause))
}

// attempt makes one attempt. The error is the error of ctx only.
func (c *Client) attempt(ctx context.Context, r Request) (*Response, *Error, error) {
	p, b, err := c.host.limiter.acquire(ctx, r.Weight, c.config.Limit)
	if err != nil {
		return nil, nil, notSentError{err}
	}
	if b != nil {
		e := c.failure(r, LocalLimit, "not asked, because "+b.why)
		e.RetryAfter, e.notSent, e.down = b.wait, true, b.down
		return nil, e, nil
	}
	resp, failure := c.send(ctx, r)
	v, o := answered, responseInfo{used: -1}
	if resp != nil {
		o.used, o.at = c.usedWeight(resp.Header), resp.At
	}
	switch {
	case ctx.Err() != nil && failure != nil:
		p.release(abandoned, o)
		if failure.notSent {
			return nil, nil, notSentError{ctx.Err()}
		}
		return nil, nil, ctx.Err()
	case failure == nil:
	case failure.Reason == Late:
		v = abandoned
	case failure.Reason == Throttled:
		v, o.pause = throttled, failure.RetryAfter
	case failure.Reason == NoResponse || failure.Reason == Malformed || failure.Status >= 500:
		v = failed
	}
	pause := p.release(v, o)
	if v == throttled {
		failure.RetryAfter = pause
	}
	return resp, failure, nil
}

// send sends the request and checks the response. A failure comes with the response too,
// for its header.
func (c *Client) send(ctx context.Context, r Request) (*Response, *Error) {
	ctx, cancel := context.WithTimeout(ctx, c.config.Timeout)
	defer cancel()
	// Without a connection nothing was sent. When net/http gets another one, it has
	// written nothing to the first, which was closed while idle.
	var connected atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { connected.Store(false) },
		GotConn: func(httptrace.GotConnInfo) { connected.Store(true) },
	})
	u := *c.base
	u.Path = strings.TrimSuffix(u.Path, "/") + r.Path
	u.RawQuery = r.Query.Encode()
	if r.QueryFunc != nil {
		u.RawQuery = r.QueryFunc()
	}
	var body io.Reader
	if r.Body != "" {
		body = strings.NewReader(r.Body)
	}
	req, err := http.NewRequestWithContext(ctx, r.Method, u.String(), body)
	if err != nil {
		e := c.failure(r, NoResponse, "no request can be made of this")
		e.notSent = true
		return nil, e
	}
	req.Header.Set("User-Agent", "candela")
	maps.Copy(req.Header, c.config.Header)
	maps.Copy(req.Header, r.Header)
	client := c.host.rest
	if r.Method != http.MethodGet {
		client = c.host.writes
	}
	// Directly before it leaves: the process may have stood still.
	if left, limited := sendby.Left(ctx); limited && left <= 0 && r.Method != http.MethodGet {
		e := c.failure(r, Late, "not sent, because "+sendby.ErrLate.Error())
		e.notSent = true
		return nil, e
	}
	asked := time.Now()
	got, err := client.Do(req)
	if err != nil {
		e := c.noAnswer(r, err)
		e.notSent = !connected.Load()
		return nil, e
	}
	defer got.Body.Close() //nolint:errcheck // it was only read
	if skew, changed := c.host.clock.compare(got.Header, asked, time.Now()); changed && c.skewed != nil {
		c.skewed(c.config.Venue, skew)
	}
	resp := &Response{Status: got.StatusCode, Header: got.Header, At: dateOf(got.Header)}
	resp.Body, err = io.ReadAll(io.LimitReader(got.Body, c.config.MaxBytes+1))
	if err != nil {
		e := c.noAnswer(r, err)
		e.Status = got.StatusCode
		return resp, e
	}
	return resp, c.checkResponse(r, resp)
}

// checkResponse returns an error unless the response is a success.
func (c *Client) checkResponse(r Request, resp *Response) *Error {
	tooLarge, success := int64(len(resp.Body)) > c.config.MaxBytes, resp.Status >= 200 && resp.Status < 300
	if success && !tooLarge && looksLikeJSON(resp.Body) {
		return nil
	}
	e := c.failure(r, Refused, "")
	e.Status = resp.Status
	switch {
	case tooLarge:
		e.Reason, e.Message = TooLarge, "the answer has more than "+strconv.FormatInt(c.config.MaxBytes, 10)+" bytes"
		return e
	case success:
		e.Reason, e.Message = Malformed, "the answer is not JSON: "+clip(resp.Body)
		return e
	}
	if looksLikeJSON(resp.Body) && c.config.ParseError != nil {
		code, message := c.config.ParseError(resp.Body)
		e.Code, e.Message = fault.Clean(code, fault.MaxForeign), fault.Clean(message, fault.MaxForeign)
		e.FromVenue = e.Code != "" || e.Message != ""
	}
	if e.Message == "" {
		e.Message = clip(resp.Body)
	}
	e.RetryAfter = retryAfter(resp)
	if resp.Status == http.StatusTooManyRequests && c.config.IsEndpointLimit != nil && c.config.IsEndpointLimit(e.Code) {
		return e
	}
	if resp.Status == http.StatusTooManyRequests || resp.Status == http.StatusTeapot {
		e.Reason = Throttled // Binance answers 418 to requests that continue after a 429
	}
	return e
}

// noAnswer drops the address from the error: its query may contain a key.
func (c *Client) noAnswer(r Request, err error) *Error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	e := c.failure(r, NoResponse, "no answer")
	e.cause = err.Error() // as text: our deadline must not look like the caller's
	return e
}

func (c *Client) failure(r Request, reason Reason, message string) *Error {
	return &Error{Venue: c.config.Venue, Subject: r.Subject, Reason: reason, Message: message}
}

// usedWeight returns the weight that the venue reports, -1 without a report.
func (c *Client) usedWeight(h http.Header) int {
	used, err := strconv.Atoi(h.Get(c.config.UsedHeader))
	if err != nil {
		return -1
	}
	return used
}

// dateOf returns the time of the Date header, or our time.
func dateOf(h http.Header) time.Time {
	if at, err := http.ParseTime(h.Get("Date")); err == nil {
		return at
	}
	return time.Now()
}

// retryAfter reads both forms of the header (RFC 9110 10.2.3).
func retryAfter(resp *Response) time.Duration {
	text := resp.Header.Get("Retry-After")
	if n, err := strconv.Atoi(text); err == nil && n > 0 {
		return min(time.Duration(n)*time.Second, longestPause)
	}
	if at, err := http.ParseTime(text); err == nil {
		return min(max(0, at.Sub(resp.At)), longestPause)
	}
	return 0
}

// longestPause is the longest ban that a venue documents. It bounds a broken header.
const longestPause = 72 * time.Hour
