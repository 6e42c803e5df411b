package sink

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"candela/internal/alerting/notify"
	"candela/internal/kit/secret"
	"candela/internal/market"
)

func newSecret() secret.Text { return secret.New(secretText) }

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	secretText = "a-secret-of-the-webhook"
	tokenText  = "tk_0123456789abcdef"
)

// got is a request as it arrived.
type got struct {
	method, uri string
	header      http.Header
	body        string
}

// listen returns a server on loopback that hands out what arrives. answer may be nil.
func listen(t *testing.T, answer http.HandlerFunc) (address string, arrived chan got) {
	t.Helper()
	arrived = make(chan got, 100)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		arrived <- got{r.Method, r.RequestURI, r.Header.Clone(), string(body)}
		if answer != nil {
			answer(w, r)
		}
	}))
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.Start()
	t.Cleanup(server.Close)
	return server.URL, arrived
}

func webhook(t *testing.T, address string) *Receiver {
	t.Helper()
	r, err := NewWebhook(address, newSecret(), false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

func ntfy(t *testing.T, address string) *Receiver {
	t.Helper()
	r, err := NewNtfy(address, secret.New(tokenText), false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

const record = `{"alert_id":"0197-a","symbol":"BTCUSDT","interval":"","condition":{"type":"price_above","threshold":65000},"value":65012.4,"triggered_at":"2026-01-31T14:03:22.125Z","note":"sell half"}`

func entry(seq uint64, at time.Time) *notify.Entry {
	return &notify.Entry{
		Seq: seq, Owner: "owner", Symbol: market.Symbol{Venue: "binance", Name: "BTCUSDT"}, Type: "price_above", At: at,
		Data: []byte(strings.Replace(record, "0197-a", "0197-"+strconv.FormatUint(seq, 10), 1)),
	}
}

func TestWebhook_SendsTheRecordSigned(t *testing.T) {
	t.Parallel()
	address, arrived := listen(t, nil)
	r := webhook(t, address+"/hook/x?key=1")
	at := time.Date(2026, 1, 31, 14, 3, 23, 0, time.UTC)
	e := entry(7, at)
	if a := r.post(t.Context(), r.compose(e, at)); !a.delivered() {
		t.Fatalf("%+v", a)
	}
	in := <-arrived
	if in.method != http.MethodPost || in.uri != "/hook/x?key=1" || in.body != string(e.Data) {
		t.Errorf("%s %s: %s", in.method, in.uri, in.body)
	}
	mac := hmac.New(sha256.New, []byte(secretText))
	mac.Write([]byte("1769868203." + in.body))
	for name, want := range map[string]string{
		"Content-Type": "application/json", "User-Agent": "candela", "Candela-Event": "alert_triggered", "Candela-Seq": "7",
		"Candela-Timestamp": "1769868203", "Candela-Signature": "v1=" + hex.EncodeToString(mac.Sum(nil)),
	} {
		if in.header.Get(name) != want {
			t.Errorf("%s is %q, want %q", name, in.header.Get(name), want)
		}
	}
	if text, err := r.Test(t.Context(), at); err != nil || text != "200 OK" {
		t.Errorf("%q, %v", text, err)
	}
	if in := <-arrived; in.header.Get("Candela-Event") != "test" || !strings.Contains(in.body, `"test":true`) || in.header.Get("Candela-Signature") == "" || in.header.Get("Candela-Seq") != "" {
		t.Errorf("%+v", in)
	}
}

func TestNtfy_SendsALineOfText(t *testing.T) {
	t.Parallel()
	address, arrived := listen(t, nil)
	r := ntfy(t, address+"/topic")
	at := time.Date(2026, 1, 31, 14, 3, 23, 0, time.UTC)
	if a := r.post(t.Context(), r.compose(entry(7, at), at)); !a.delivered() {
		t.Fatalf("%+v", a)
	}
	in := <-arrived
	if in.method != http.MethodPost || in.uri != "/topic" || in.body != "BTCUSDT above 65,000: 65,012.4 at 14:03:22 UTC\nsell half" {
		t.Errorf("%s %s: %s", in.method, in.uri, in.body)
	}
	for name, want := range map[string]string{
		"Title": "BTCUSDT alert", "Tags": "chart_with_upwards_trend", "Priority": "high", "Authorization": "Bearer " + tokenText,
		"Candela-Seq": "7", "X-Sequence-ID": "0197-7", "Content-Type": "text/plain; charset=utf-8",
	} {
		if in.header.Get(name) != want {
			t.Errorf("%s is %q, want %q", name, in.header.Get(name), want)
		}
	}
	if _, err := r.Test(t.Context(), at); err != nil {
		t.Error(err)
	}
	if in := <-arrived; !strings.Contains(in.body, "test") || !strings.Contains(in.header.Get("Title"), "test") {
		t.Errorf("%+v", in)
	}
	open, err := NewNtfy(address, secret.Text{}, false)
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	if _, err := open.Test(t.Context(), at); err != nil {
		t.Error(err)
	}
	if in := <-arrived; in.header.Get("Authorization") != "" {
		t.Errorf("a token from nowhere: %+v", in)
	}
}

func TestReceiver_Answers(t *testing.T) {
	t.Parallel()
	hijack := func(w http.ResponseWriter, raw string) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = conn.Write([]byte(raw))
		_ = conn.Close()
	}
	status := func(code int, header ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			for i := 0; i < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			w.WriteHeader(code)
		}
	}
	for name, tc := range map[string]struct {
		answer           http.HandlerFunc
		delivered, final bool
		wait             time.Duration
		reason           string
	}{
		"ok":          {answer: status(200), delivered: true, final: true},
		"no content":  {answer: status(204), delivered: true, final: true},
		"bad request": {answer: status(400), final: true, reason: "400 Bad Request"},
		"gone":        {answer: status(410), final: true, reason: "410 Gone"},
		"a redirect":  {answer: status(307, "Location", "http://169.254.169.254/"), final: true, reason: "redirects are not followed"},
		"throttled":   {answer: status(429, "Retry-After", "17"), wait: 17 * time.Second, reason: "429 Too Many Requests"},
		"throttled until a time": {
			answer: status(429, "Date", "Sat, 31 Jan 2026 14:00:00 GMT", "Retry-After", "Sat, 31 Jan 2026 14:00:40 GMT"), wait: 40 * time.Second, reason: "429",
		},
		"throttled for ever":       {answer: status(503, "Retry-After", "99999999999"), wait: time.Hour, reason: "503"},
		"throttled by nonsense":    {answer: status(503, "Retry-After", "soon"), reason: "503 Service Unavailable"},
		"throttled into the past":  {answer: status(503, "Retry-After", "-5"), reason: "503"},
		"its own fault":            {answer: status(500), reason: "500 Internal Server Error"},
		"a status without a name":  {answer: status(599), reason: "599"},
		"a body without end":       {answer: func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 8<<20)) }, delivered: true, final: true},
		"an end without an answer": {answer: func(w http.ResponseWriter, _ *http.Request) { hijack(w, "") }, reason: "EOF"},
		"half a body": {answer: func(w http.ResponseWriter, _ *http.Request) {
			hijack(w, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhal")
		}, delivered: true, final: true},
		"no HTTP, but an echo": {answer: func(w http.ResponseWriter, r *http.Request) { hijack(w, r.Header.Get("Authorization")+"\r\n\r\n") }, reason: "(hidden)"},
		"a header without end": {
			answer: func(w http.ResponseWriter, _ *http.Request) {
				hijack(w, "HTTP/1.1 200 OK\r\nX: "+strings.Repeat("x", 1<<20)+"\r\n\r\n")
			}, reason: "exceeded",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address, _ := listen(t, tc.answer)
			r := ntfy(t, address)
			a := r.post(t.Context(), r.sample(time.Now()))
			if a.delivered() != tc.delivered || a.final() != tc.final || a.wait != tc.wait {
				t.Errorf("%+v", a)
			}
			reason := a.reason()
			if !tc.delivered && !strings.Contains(reason, tc.reason) || strings.Contains(reason, tokenText) || len(reason) > 300 {
				t.Errorf("reason %q, want %q", reason, tc.reason)
			}
		})
	}
}

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
	r := webhook(t, "http://"+conn.LocalAddr().String()+"/hunter2?key=hunter3")
	_, err = r.Test(t.Context(), time.Now())
	if err == nil || !strings.Contains(err.Error(), "refused") || strings.Contains(err.Error(), "hunter") {
		t.Error(err)
	}
}

// The transport must not look for a proxy where nobody would expect one.
func TestReceiver_UsesNoProxy(t *testing.T) {
	t.Parallel()
	if transport, ok := webhook(t, "https://a.example").transport.(*http.Transport); !ok || transport.Proxy != nil {
		t.Error("requests may go through a proxy, whose connections nobody checks")
	}
}

// TestDocs_SignatureExample holds the worked example of docs/alerts.md to the code.
func TestDocs_SignatureExample(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/alerts.md")
	if err != nil {
		t.Fatal(err)
	}
	find := func(label string) string {
		m := regexp.MustCompile(`(?m)^` + label + `: +(.+)$`).FindSubmatch(page)
		if m == nil {
			t.Fatalf("docs/alerts.md has no line %q", label)
		}
		return string(m[1])
	}
	unix, err := strconv.ParseInt(find("Candela-Timestamp"), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	m := signed([]byte(find("secret")), []byte(find("body")), time.Unix(unix, 0))
	if got := m.header.Get(headerSignature); got != find("Candela-Signature") {
		t.Errorf("the example signs with %s, the code with %s", find("Candela-Signature"), got)
	}
}
