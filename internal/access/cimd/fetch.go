// Package cimd fetches client ID metadata documents. Such a client has the https URL of a
// JSON document as its id. The document names the client and its redirect URIs, so the id
// stays valid when this server restarts
// (draft-ietf-oauth-client-id-metadata-document).
package cimd

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"candela/internal/kit/bucket"
	"candela/internal/kit/ipkind"
	"candela/internal/kit/lru"
	"candela/lib/fault"
	"candela/lib/pattern"
)

// Limits of fetches.
const (
	timeout     = 5 * time.Second
	maxDocument = 5 << 10 // bytes
	maxHeader   = 16 << 10
	maxAtOnce   = 4
	maxCached   = 256
	minAge      = 5 * time.Minute
	maxAge      = 24 * time.Hour
	addresses   = 1024 // remembered for the rate limit
)

// Config configures a Fetcher.
type Config struct {
	// AllowPrivate allows servers on this machine and in private networks. It is for
	// laboratories: anyone who can reach the consent page chooses the URL.
	AllowPrivate bool

	Roots    *x509.CertPool // nil for those of the system
	Resolver *net.Resolver  // nil for that of the system
	Now      func() time.Time
}

// Fetcher fetches documents and keeps them for a while. It is safe for concurrent use.
type Fetcher struct {
	cfg    Config
	client *http.Client
	rate   *bucket.Set[netip.Addr]
	slots  chan struct{}

	cached lru.Cache[string, cachedDocument]

	mu    sync.Mutex
	hosts map[string]chan struct{} // closed when the fetch from the host ends
}

type cachedDocument struct {
	Document
	until time.Time
}

// New returns a Fetcher without documents.
func New(cfg Config) *Fetcher {
	f := &Fetcher{
		cfg: cfg, rate: bucket.NewSet[netip.Addr](bucket.Rate{Burst: 30, Every: 2 * time.Minute}, addresses),
		slots: make(chan struct{}, maxAtOnce), cached: lru.Cache[string, cachedDocument]{Limit: maxCached}, hosts: map[string]chan struct{}{},
	}
	dialer := &net.Dialer{Resolver: cfg.Resolver, ControlContext: f.control}
	f.client = &http.Client{
		Timeout: timeout,
		// The document is at its URL or nowhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialContext: dialer.DialContext, TLSClientConfig: &tls.Config{RootCAs: cfg.Roots, MinVersion: tls.VersionTLS12},
			DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: maxHeader,
		},
	}
	return f
}

// control refuses an address just before the connection, so that a name cannot change
// between check and use.
func (f *Fetcher) control(_ context.Context, _, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return errAddress
	}
	switch kind := ipkind.Of(to.Addr()); {
	case kind == ipkind.Public:
		return nil
	case f.cfg.AllowPrivate && (kind == ipkind.Loopback || kind == ipkind.Private):
		return nil
	}
	return errAddress
}

var errAddress = errors.New("the host is not at a public address")

// ErrUnreached is in the chain of an error if no host answered with a document, good or bad.
var ErrUnreached = errors.New("no answer")

// unreachedError is such an error.
type unreachedError string

func (e unreachedError) Error() string        { return string(e) }
func (e unreachedError) Is(target error) bool { return target == ErrUnreached }

// Document returns the document of a client id, fetched for a browser at an address.
func (f *Fetcher) Document(ctx context.Context, id string, from netip.Addr) (Document, error) {
	if err := Check(id); err != nil {
		return Document{}, refuse(id, err)
	}
	if d, ok := f.lookUp(id); ok {
		return d, nil
	}
	leave, err := f.enter(ctx, HostOf(id))
	if err != nil {
		return Document{}, err
	}
	defer leave()
	if d, ok := f.lookUp(id); ok { // fetched by another request meanwhile
		return d, nil
	}
	if wait := f.rate.Take(bucket.Network(from), f.cfg.Now()); wait > 0 {
		return Document{}, fault.New(fault.Unavailable, "too_many_documents", "too many client documents were requested from your network").Retry(wait)
	}
	d, age, err := f.fetch(ctx, id)
	if err != nil {
		return Document{}, refuse(id, err)
	}
	f.keep(d, age)
	return d, nil
}

// refuse is the error of a client whose document cannot be used.
func refuse(id string, err error) error {
	return fault.New(fault.Invalid, "client_document", "the document of the client cannot be used: %v", err).About("client_id", id, "the https URL of a client metadata document").Because(err)
}

func (f *Fetcher) lookUp(id string) (Document, bool) {
	c, ok := f.cached.Get(id)
	return c.Document, ok && f.cfg.Now().Before(c.until)
}

func (f *Fetcher) keep(d Document, age time.Duration) {
	f.cached.Put(d.ID, cachedDocument{d, f.cfg.Now().Add(age)}, 1)
}

// enter waits for the fetch of another document from the same host, and for a slot.
func (f *Fetcher) enter(ctx context.Context, host string) (leave func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*timeout)
	defer cancel()
	done := make(chan struct{})
	for {
		f.mu.Lock()
		other := f.hosts[host]
		if other == nil {
			f.hosts[host] = done
		}
		f.mu.Unlock()
		if other == nil {
			break
		}
		select {
		case <-other:
		case <-ctx.Done():
			return nil, errBusy()
		}
	}
	free := func() {
		f.mu.Lock()
		delete(f.hosts, host)
		f.mu.Unlock()
		close(done)
	}
	select {
	case f.slots <- struct{}{}:
		return func() { <-f.slots; free() }, nil
	case <-ctx.Done():
		free()
		return nil, errBusy()
	}
}

func errBusy() error {
	return fault.New(fault.Unavailable, "too_many_documents", "too many client documents are being fetched").Retry(timeout)
}

// fetch gets the document and how long it may be kept.
func (f *Fetcher) fetch(ctx context.Context, id string) (Document, time.Duration, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, id, http.NoBody)
	if err != nil {
		return Document{}, 0, err
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", "candela")
	response, err := f.client.Do(request)
	if err != nil {
		return Document{}, 0, notFetched(err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return Document{}, 0, fmt.Errorf("the host answered with status %d instead of 200", response.StatusCode)
	}
	if !jsonType().MatchString(response.Header.Get("Content-Type")) {
		return Document{}, 0, errors.New("the host answered with a type other than JSON")
	}
	data, err := io.ReadAll(io.LimitReader(response.Body, maxDocument+1))
	switch {
	case err != nil:
		return Document{}, 0, notFetched(err)
	case len(data) > maxDocument:
		return Document{}, 0, fmt.Errorf("the document is longer than %d bytes", maxDocument)
	}
	d, err := parse(id, data)
	return d, ageOf(response.Header.Get("Cache-Control")), err
}

// jsonType matches application/json and types that are based on it.
var jsonType = pattern.Of(`(?i)^\s*application/([a-z0-9.+-]+\+)?json\s*(;|$)`)

// notFetched describes a failed exchange without addresses: the page that shows it is not
// only for the operator.
func notFetched(err error) error {
	if errors.Is(err, errAddress) {
		return unreachedError(errAddress.Error())
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return unreachedError("the host has no valid certificate")
	}
	if e, ok := errors.AsType[net.Error](err); ok && e.Timeout() {
		return unreachedError(fmt.Sprintf("the host did not answer within %v", timeout))
	}
	return unreachedError("the host cannot be reached")
}

// ageOf returns how long a document may be kept, from five minutes to a day.
func ageOf(cacheControl string) time.Duration {
	for directive := range strings.SplitSeq(cacheControl, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(directive), "=")
		if !strings.EqualFold(name, "max-age") {
			continue
		}
		seconds, err := strconv.ParseUint(strings.Trim(value, `"`), 10, 31)
		if err != nil {
			return minAge
		}
		return min(max(time.Duration(seconds)*time.Second, minAge), maxAge)
	}
	return minAge
}
