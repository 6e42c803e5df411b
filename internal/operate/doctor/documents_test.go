package doctor

import (
	"context"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"candela/internal/access/cimd"
	"candela/internal/access/oauth"
	"candela/internal/config"
	"candela/internal/testkit/dnstest"
)

// elsewhere reads a document of the same path at another host.
type elsewhere struct {
	*cimd.Fetcher
	host string
}

func (e elsewhere) Document(ctx context.Context, id string, from netip.Addr) (cimd.Document, error) {
	return e.Fetcher.Document(ctx, strings.Replace(id, "claude.ai", e.host, 1), from)
}

// TestDocuments reads a document over TLS from this machine, with the server's own fetcher.
func TestDocuments(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		private bool
		serve   http.HandlerFunc
		status  Status
		what    string
		fix     string
	}{
		"a document": {true, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"client_id":"https://%s%s","client_name":"X","redirect_uris":["http://localhost/callback"]}`, r.Host, r.URL.Path)
		}, OK, "can be read", ""},
		"another answer":  {true, http.NotFound, Warning, "status 404", "set --cimd off"},
		"no way out":      {false, http.NotFound, Problem, "cannot connect", "let this machine resolve names"},
		"a closed socket": {true, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, Problem, "cannot be reached", "set --cimd off"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			web := httptest.NewTLSServer(tc.serve)
			t.Cleanup(web.Close)
			roots := x509.NewCertPool()
			roots.AddCert(web.Certificate()) // it is valid for example.com
			_, port, _ := net.SplitHostPort(web.Listener.Addr().String())
			resolver, zone := dnstest.Resolver(t)
			zone.Set("127.0.0.1")
			fetcher := cimd.New(cimd.Config{AllowPrivate: tc.private, Roots: roots, Resolver: resolver, Now: time.Now})
			x := &examination{cfg: &config.Config{}, Options: Options{
				Documents: func(*config.Config) oauth.Documents { return elsewhere{fetcher, "example.com:" + port} },
			}}
			expect(t, x.documents(t.Context()), tc.status, tc.what, tc.fix)
		})
	}
}
