package cimd

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"candela/internal/testkit/dnstest"
	"candela/lib/fault"
)

// site is an HTTPS server whose name is client.example.
type site struct {
	fetcher *Fetcher
	zone    *dnstest.Zone
	port    string
	fetched atomic.Int32
	mu      sync.Mutex
	serve   http.HandlerFunc
	now     time.Time
}

func newSite(t *testing.T, private bool) *site {
	t.Helper()
	s := &site{now: time.Unix(1_800_000_000, 0)}
	web := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.fetched.Add(1)
		s.mu.Lock()
		serve := s.serve
		s.mu.Unlock()
		serve(w, r)
	}))
	t.Cleanup(web.Close)
	roots := x509.NewCertPool()
	roots.AddCert(web.Certificate()) // it is valid for example.com
	_, s.port, _ = net.SplitHostPort(web.Listener.Addr().String())
	resolver, zone := dnstest.Resolver(t)
	s.zone = zone
	zone.Set("127.0.0.1")
	s.fetcher = New(Config{AllowPrivate: private, Roots: roots, Resolver: resolver, Now: func() time.Time {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.now
	}})
	return s
}

func (s *site) id(path string) string { return "https://example.com:" + s.port + path }

func (s *site) answers(serve http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.serve = serve
}

// hour lets an hour pass, in which documents expire and rate limits refill.
func (s *site) hour() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = s.now.Add(time.Hour)
}

// good is the document of an id, changed by some members. A nil member is removed.
func good(id string, changes map[string]any) []byte {
	members := map[string]any{"client_id": id, "client_name": "Client", "redirect_uris": []string{"http://127.0.0.1/callback"}, "logo_uri": "https://example.com/logo.png"}
	maps.Copy(members, changes)
	maps.DeleteFunc(members, func(_ string, v any) bool { return v == nil })
	data, err := json.Marshal(members)
	if err != nil {
		panic(err)
	}
	return data
}

func document(data []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(data)
	}
}

var browser = netip.MustParseAddr("198.51.100.7")

func TestDocument_IsFetchedOnceAndKept(t *testing.T) {
	t.Parallel()
	s := newSite(t, true)
	id := s.id("/client.json")
	s.answers(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept") != "application/json" || r.Method != http.MethodGet {
			t.Errorf("the request is %s with %v", r.Method, r.Header)
		}
		w.Header().Set("Cache-Control", "public, max-age=3600")
		document(good(id, nil))(w, r)
	})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			d, err := s.fetcher.Document(t.Context(), id, browser)
			if err != nil || d.Name != "Client" || d.ID != id || len(d.Redirects) != 1 || len(d.Digest) != 64 || d.Host() != "example.com:"+s.port {
				t.Errorf("%+v, %v", d, err)
			}
		})
	}
	all.Wait()
	if n := s.fetched.Load(); n != 1 {
		t.Errorf("fetched %d times, want 1", n)
	}
	first, _ := s.fetcher.Document(t.Context(), id, browser)
	s.hour()
	s.answers(document(good(id, map[string]any{"client_name": "Other"})))
	second, err := s.fetcher.Document(t.Context(), id, browser)
	if err != nil || second.Name != "Other" || second.Digest == first.Digest {
		t.Errorf("after an hour: %+v, %v", second, err)
	}
}

// TestDocument_RefusesHostileOnes serves documents and answers that must not be used.
func TestDocument_RefusesHostileOnes(t *testing.T) {
	t.Parallel()
	s := newSite(t, true)
	id := s.id("/client.json")
	other := func(key string, value any) http.HandlerFunc { return document(good(id, map[string]any{key: value})) }
	text := func(format string, args ...any) http.HandlerFunc { return document(fmt.Appendf(nil, format, args...)) }
	status := func(code int, location string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", location)
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(code)
			_, _ = w.Write(good(id, nil))
		}
	}
	for name, tc := range map[string]struct {
		serve http.HandlerFunc
		want  string
	}{
		"another id":               {other("client_id", s.id("/other.json")), "is not its URL"},
		"an id in other case":      {other("client_id", strings.ToUpper(id)), "is not its URL"},
		"no id":                    {other("client_id", nil), "is not its URL"},
		"an id that is a number":   {other("client_id", 1), "is not its URL"},
		"no name":                  {other("client_name", nil), "no client_name"},
		"an empty name":            {other("client_name", " "), "no client_name"},
		"a name that is a list":    {other("client_name", []string{"a"}), "no client_name"},
		"no redirects":             {other("redirect_uris", nil), "redirect_uris"},
		"an empty list":            {other("redirect_uris", []string{}), "redirect_uris"},
		"redirects as text":        {other("redirect_uris", "http://127.0.0.1/"), "redirect_uris"},
		"redirects as numbers":     {other("redirect_uris", []int{1}), "redirect_uris"},
		"a secret":                 {other("client_secret", "s"), "client_secret"},
		"a secret's expiry":        {other("client_secret_expires_at", 0), "client_secret_expires_at"},
		"authentication by secret": {other("token_endpoint_auth_method", "client_secret_post"), "must be none"},
		"authentication by key":    {other("token_endpoint_auth_method", "private_key_jwt"), "must be none"},
		"authentication as null":   {text(`{"client_id":%q,"client_name":"c","redirect_uris":["http://127.0.0.1/"],"token_endpoint_auth_method":null}`, id), "must be none"},
		"another grant":            {other("grant_types", []string{"client_credentials"}), "grant_types"},
		"another response":         {other("response_types", []string{"token"}), "response_types"},
		"two ids":                  {text(`{"client_id":%q,"client_id":"https://a.example/x","client_name":"c","redirect_uris":["http://127.0.0.1/"]}`, id), "strict JSON"},
		"two escaped ids":          {text(`{"client_id":%q,"client\u005fid":"https://a.example/x","client_name":"c","redirect_uris":["http://127.0.0.1/"]}`, id), "strict JSON"},
		"text after the object":    {text(`%s{}`, good(id, nil)), "strict JSON"},
		"a list":                   {text(`[%s]`, good(id, nil)), "not a JSON object"},
		"nothing":                  {text(``), "strict JSON"},
		"null":                     {text(`null`), "not a JSON object"},
		"broken UTF-8":             {text("{\"client_id\":\"\xff\"}"), "strict JSON"},
		"deep nesting":             {text(`{"a":%s}`, strings.Repeat("[", 2000)), "strict JSON"},
		"5,121 bytes":              {other("note", strings.Repeat("n", maxDocument)), "longer than 5120 bytes"},
		"an endless body": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 1024)); err != nil {
					return
				}
			}
		}, "longer than 5120 bytes"},
		"headers without end": {func(w http.ResponseWriter, _ *http.Request) {
			for i := range 100 {
				w.Header().Set(fmt.Sprintf("X-Fill-%d", i), strings.Repeat("f", 1024))
			}
		}, "cannot be reached"},
		"HTML": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = w.Write(good(id, nil))
		}, "type other than JSON"},
		"no type": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = nil
			_, _ = w.Write(good(id, nil))
		}, "type other than JSON"},
		"a redirect to itself":          {status(http.StatusMovedPermanently, id), "status 301"},
		"a redirect to a metadata host": {status(http.StatusFound, "http://169.254.169.254/latest"), "status 302"},
		"a redirect that keeps":         {status(http.StatusTemporaryRedirect, "https://127.0.0.1:1/"), "status 307"},
		"not found":                     {status(http.StatusNotFound, ""), "status 404"},
		"created":                       {status(http.StatusCreated, ""), "status 201"},
		"no content":                    {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }, "status 204"},
		"a connection that breaks":      {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "cannot be reached"},
	} {
		s.answers(tc.serve)
		s.hour()
		d, err := s.fetcher.Document(t.Context(), id, browser)
		if f := fault.Of(err); f == nil || f.Code != "client_document" || f.Field != "client_id" || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %+v, %v, want %q", name, d, err, tc.want)
		}
	}
	s.answers(document(good(id, nil)))
	s.hour()
	if _, err := s.fetcher.Document(t.Context(), id, browser); err != nil {
		t.Errorf("an error was kept: %v", err)
	}
}

func TestDocument_RefusesAddressesThatAreNotPublic(t *testing.T) {
	t.Parallel()
	s := newSite(t, false)
	id := s.id("/client.json")
	s.answers(document(good(id, nil)))
	for _, address := range []string{"127.0.0.1", "10.0.0.1", "192.168.1.1", "172.16.0.1", "100.64.0.1", "169.254.169.254", "0.0.0.0", "224.0.0.1", "100.100.100.200"} {
		s.zone.Set(address)
		s.hour()
		if _, err := s.fetcher.Document(t.Context(), id, browser); err == nil || !strings.Contains(err.Error(), "not at a public address") {
			t.Errorf("%s: %v", address, err)
		}
	}
	for _, host := range []string{"127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "localhost", "10.1.2.3", "[fe80::1]", "[fd00:ec2::254]", "2130706433", "0x7f.1"} {
		s.hour()
		if _, err := s.fetcher.Document(t.Context(), "https://"+host+":"+s.port+"/client.json", browser); err == nil {
			t.Errorf("%s is fetched from", host)
		}
	}
	if n := s.fetched.Load(); n != 0 {
		t.Errorf("the server was reached %d times", n)
	}
}

// TestDocument_ANameThatChangesIsRefused answers the first lookup with a public address
// and the next ones with one of this machine.
func TestDocument_ANameThatChangesIsRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t, false)
	id := s.id("/client.json")
	s.answers(document(good(id, nil)))
	s.zone.Set("203.0.113.1", "127.0.0.1") // documentation, then this machine
	for range 3 {
		s.hour()
		if _, err := s.fetcher.Document(t.Context(), id, browser); err == nil {
			t.Error("the document was fetched")
		}
	}
	if n := s.fetched.Load(); n != 0 {
		t.Errorf("the server was reached %d times", n)
	}
}

// TestDocument_SlowHosts waits for a header and for a body that never come.
func TestDocument_SlowHosts(t *testing.T) {
	t.Parallel()
	s := newSite(t, true)
	s.fetcher.client.Timeout = 50 * time.Millisecond
	for name, begin := range map[string]func(http.ResponseWriter){
		"no header": func(http.ResponseWriter) {},
		"no body": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte("{"))
			_ = http.NewResponseController(w).Flush()
		},
	} {
		s.answers(func(w http.ResponseWriter, r *http.Request) {
			begin(w)
			<-r.Context().Done()
		})
		if _, err := s.fetcher.Document(t.Context(), s.id("/c"), browser); err == nil || !strings.Contains(err.Error(), "did not answer within") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDocument_NeedsACertificate(t *testing.T) {
	t.Parallel()
	s := newSite(t, true)
	s.answers(document(good(s.id("/c"), nil)))
	strict := New(Config{AllowPrivate: true, Roots: x509.NewCertPool(), Resolver: s.fetcher.cfg.Resolver, Now: time.Now})
	if _, err := strict.Document(t.Context(), s.id("/c"), browser); err == nil || !strings.Contains(err.Error(), "no valid certificate") {
		t.Error(err)
	}
}

func TestCheck_ShapesOfIDs(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"https://a.example/x", "https://a.example:8443/oauth/client.json", "https://a.example/a%20b", "https://a.example/.well-known/c"} {
		if err := Check(id); err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
	for _, id := range []string{
		"http://a.example/x", "https://a.example", "https://a.example/", "https://a.example/x?y=1", "https://a.example/x?", "https://a.example/x#y", "https://a.example/x#",
		"https://u@a.example/x", "https://u:p@a.example/x", "https://a.example/../x", "https://a.example/x/.", "https://a.example/%2e%2e/x", "https://a.example/x%2f..%2fy",
		"https:///x", "https:x", "ftp://a.example/x", "https://a.example/x y", "https://a.example/\"x", "https://a.example/x\n", "https://é.example/x", `https://a.example\@b.example/x`,
		"https://a.example/" + strings.Repeat("x", maxID),
	} {
		if Check(id) == nil {
			t.Errorf("%q is a client id", id)
		}
	}
}

func TestDocument_Limits(t *testing.T) {
	t.Parallel()
	s := newSite(t, true)
	s.answers(http.NotFound)
	for range 30 {
		if _, err := s.fetcher.Document(t.Context(), s.id("/c"), browser); fault.Of(err).Code != "client_document" {
			t.Fatal(err)
		}
	}
	f := fault.Of(func() error { _, err := s.fetcher.Document(t.Context(), s.id("/c"), browser); return err }())
	if f.Code != "too_many_documents" || f.RetryAfter == 0 {
		t.Errorf("the 31st fetch: %v", f)
	}
	if _, err := s.fetcher.Document(t.Context(), s.id("/c"), netip.MustParseAddr("192.0.2.9")); fault.Of(err).Code != "client_document" {
		t.Errorf("another address: %v", err)
	}
	for i := range 2 * maxCached {
		s.fetcher.keep(Document{ID: strconv.Itoa(i)}, time.Duration(i)*time.Second)
	}
	if _, count := s.fetcher.cached.Size(); count != maxCached {
		t.Errorf("%d documents are kept", count)
	}
}

// TestDocument_OneFetchPerHost holds a fetch and ends the request that waits behind it.
func TestDocument_OneFetchPerHost(t *testing.T) {
	t.Parallel()
	s := newSite(t, true)
	reached, hold := make(chan struct{}), make(chan struct{})
	s.answers(func(w http.ResponseWriter, r *http.Request) {
		close(reached)
		<-hold
		document(good(s.id("/first"), nil))(w, r)
	})
	first := make(chan error, 1)
	go func() {
		_, err := s.fetcher.Document(context.WithoutCancel(t.Context()), s.id("/first"), browser)
		first <- err
	}()
	<-reached
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.fetcher.Document(ctx, s.id("/second"), browser); fault.Of(err) == nil || fault.Of(err).Code != "too_many_documents" {
		t.Errorf("the second fetch: %v", err)
	}
	close(hold)
	if err := <-first; err != nil {
		t.Error(err)
	}
	if n := s.fetched.Load(); n != 1 {
		t.Errorf("%d requests", n)
	}
}

func TestAgeOf(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]time.Duration{
		"": minAge, "no-store": minAge, "max-age=0": minAge, "max-age=600": 10 * time.Minute, "public, Max-Age=3600, immutable": time.Hour,
		"max-age=99999999": maxAge, "max-age=99999999999999999999": minAge, "max-age=-1": minAge, `max-age="600"`: 10 * time.Minute,
	} {
		if got := ageOf(header); got != want {
			t.Errorf("%q: %v, want %v", header, got, want)
		}
	}
}

// FuzzParse holds that a document that is accepted names its URL and has redirects.
func FuzzParse(f *testing.F) {
	const id = "https://a.example/c"
	f.Add(good(id, nil))
	f.Add([]byte(`{"client_id":"https://a.example/c"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := parse(id, data)
		if err == nil && (d.ID != id || d.Name == "" || len(d.Redirects) == 0) {
			t.Errorf("%q is read as %+v", data, d)
		}
	})
}
