package doctor

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"time"
)

// Server is a candela that runs, as clients reach it.
type Server struct {
	BaseURL string // as the server was started with; no trailing slash
	Direct  string // its own listener, past every proxy, such as http://127.0.0.1:9315
	// FirstByte is how long the first bytes of a stream may take, Heartbeat how long
	// the next.
	FirstByte, Heartbeat time.Duration

	client *http.Client
}

// askServer is how long an ordinary answer may take.
const askServer = 10 * time.Second

// newServer returns a Server. Close must be called.
func newServer(baseURL, direct string, firstByte, heartbeat time.Duration) *Server {
	jar, _ := cookiejar.New(nil) // without options it does not fail
	return &Server{
		BaseURL: baseURL, Direct: direct, FirstByte: firstByte, Heartbeat: heartbeat,
		client: &http.Client{
			Jar: jar,
			// A redirect is an answer to look at.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
			Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, TLSHandshakeTimeout: askServer},
		},
	}
}

// Close lets go of connections.
func (s *Server) Close() { s.client.CloseIdleConnections() }

// answer is an answer of HTTP with its body.
type answer struct {
	status int
	header http.Header
	body   []byte
	tls    *tls.ConnectionState
}

func (s *Server) ask(ctx context.Context, method, address string, header http.Header, body string) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, askServer)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	if header != nil {
		req.Header = header
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return answer{}, err
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	return answer{resp.StatusCode, resp.Header, data, resp.TLS}, errors.Join(err, resp.Body.Close())
}

// Address asks the public address who it is. It reports whether the rest can be
// asked there.
func (s *Server) Address(ctx context.Context, now time.Time) (Finding, bool) {
	const check = "base URL"
	got, err := s.ask(ctx, http.MethodGet, s.BaseURL+"/", nil, "")
	if err != nil {
		fix, what := noConnection(err)
		return newProblem(check, fix, "%s does not answer: %s", s.BaseURL, what), false
	}
	if location := got.header.Get("Location"); got.status >= 300 && got.status < 400 && location != "" {
		return newProblem(check, "use the address that it leads to as --base-url, or stop the proxy from redirecting: a client's POST does not survive it",
			"%s redirects to %s", s.BaseURL, clean(location)), false
	}
	var who struct {
		Name     string `json:"name"`
		Endpoint string `json:"mcp_endpoint"`
	}
	_ = json.Unmarshal(got.body, &who) // another program's answer may be anything
	switch {
	case got.status == http.StatusBadGateway || got.status == http.StatusServiceUnavailable || got.status == http.StatusGatewayTimeout:
		return newProblem(check, "point the proxy at the address that candela listens on, "+s.Direct, "the proxy at %s reaches nothing behind it (HTTP %d)", s.BaseURL, got.status), false
	case got.status == http.StatusForbidden && who.Name == "":
		return newProblem(check, "start the server with --base-url "+s.BaseURL, "%s refuses (HTTP 403): a server on loopback answers to no other name", s.BaseURL), false
	case who.Name != "candela":
		return newProblem(check, "set --base-url to the address under which the proxy shows candela, or point that address at "+s.Direct,
			"what answers at %s is not candela (HTTP %d)", s.BaseURL, got.status), false
	case who.Endpoint != s.BaseURL+"/mcp":
		return newProblem(check, "start the server with --base-url "+s.BaseURL+", or correct the one given here",
			"the candela at %s calls itself %s, so clients are sent there", s.BaseURL, clean(strings.TrimSuffix(who.Endpoint, "/mcp"))), false
	}
	if got.tls != nil && len(got.tls.PeerCertificates) > 0 {
		ends := got.tls.PeerCertificates[0].NotAfter
		if left := ends.Sub(now); left < 14*24*time.Hour {
			return newWarning(check, "renew the certificate; look at why that did not happen by itself", "%s is candela, and its certificate ends on %s", s.BaseURL, ends.Format(time.DateOnly)), true
		}
		return NewOK(check, "%s is candela, certificate good until %s", s.BaseURL, ends.Format(time.DateOnly)), true
	}
	return NewOK(check, "%s is candela", s.BaseURL), true
}

// noConnection explains why nothing answered.
func noConnection(err error) (fix, what string) {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err // the address is named already
	}
	what = err.Error()
	if e, ok := errors.AsType[*net.DNSError](err); ok {
		return "give that name a DNS record that leads to the proxy, or correct --base-url", "the name " + e.Name + " is not known"
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return "use a certificate that clients accept, with its whole chain; Caddy and certbot get one", "its certificate is signed by nobody that this machine trusts"
	}
	if e, ok := errors.AsType[x509.HostnameError](err); ok {
		return "get a certificate for that name, or correct --base-url", "its certificate is not for the name " + e.Host
	}
	if e, ok := errors.AsType[x509.CertificateInvalidError](err); ok && e.Reason == x509.Expired {
		return "renew the certificate", "its certificate has expired or is not valid yet"
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return "the proxy speaks http on that port: correct the port of --base-url, or give the proxy a certificate", "what answers does not speak TLS"
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "open the port in the firewall, and check that the name leads to this machine", "nothing came in " + askServer.String()
	}
	return "start the proxy, open its port, or correct --base-url", what
}

// clean cuts what a stranger wrote, for one line.
func clean(text string) string {
	if len(text) > 100 {
		text = text[:100] + "..."
	}
	return fmt.Sprintf("%q", text)
}
