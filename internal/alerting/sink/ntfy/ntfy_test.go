package ntfy

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"go.uber.org/goleak"

	"candela/internal/alerting/notify"
	"candela/internal/alerting/sink"
	"candela/internal/alerting/sink/sinktest"
	"candela/internal/kit/secret"
	"candela/lib/market"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const tokenText = "tk_0123456789abcdef"

func newReceiver(t *testing.T, address string) *Receiver {
	t.Helper()
	r, err := New(address, secret.New(tokenText), false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

func TestNtfy_SendsALineOfText(t *testing.T) {
	t.Parallel()
	address, arrived := sinktest.Listen(t, nil)
	r := newReceiver(t, address+"/topic")
	at := time.Date(2026, 1, 31, 14, 3, 23, 0, time.UTC)
	if a := r.Send(t.Context(), sink.Message{Now: at, Alert: sinktest.Entry(7, at)}); a.Outcome != sink.Delivered {
		t.Fatalf("%+v", a)
	}
	in := <-arrived
	if in.Method != http.MethodPost || in.URI != "/topic" || in.Body != "BTCUSDT above 65,000: 65,012.4 at 14:03:22 UTC\nsell half" {
		t.Errorf("%s %s: %s", in.Method, in.URI, in.Body)
	}
	for name, want := range map[string]string{
		"Title": "BTCUSDT alert", "Tags": "chart_with_upwards_trend", "Priority": "high", "Authorization": "Bearer " + tokenText,
		"Candela-Seq": "7", "X-Sequence-ID": "0197-7", "Content-Type": "text/plain; charset=utf-8",
	} {
		if in.Header.Get(name) != want {
			t.Errorf("%s is %q, want %q", name, in.Header.Get(name), want)
		}
	}
	if a := r.Send(t.Context(), sink.Message{Now: at}); a.Outcome != sink.Delivered {
		t.Error(a)
	}
	if in := <-arrived; !strings.Contains(in.Body, "test") || !strings.Contains(in.Header.Get("Title"), "test") {
		t.Errorf("%+v", in)
	}
	open, err := New(address, secret.Text{}, false)
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	if a := open.Send(t.Context(), sink.Message{Now: at}); a.Outcome != sink.Delivered {
		t.Error(a)
	}
	if in := <-arrived; in.Header.Get("Authorization") != "" {
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
		answer  http.HandlerFunc
		outcome sink.Outcome
		wait    time.Duration
		reason  string
	}{
		"ok":          {answer: status(200), outcome: sink.Delivered},
		"no content":  {answer: status(204), outcome: sink.Delivered},
		"bad request": {answer: status(400), outcome: sink.Refused, reason: "400 Bad Request"},
		"gone":        {answer: status(410), outcome: sink.Refused, reason: "410 Gone"},
		"a redirect":  {answer: status(307, "Location", "http://169.254.169.254/"), outcome: sink.Refused, reason: "redirects are not followed"},
		"throttled":   {answer: status(429, "Retry-After", "17"), wait: 17 * time.Second, reason: "429 Too Many Requests"},
		"throttled until a time": {
			answer: status(429, "Date", "Sat, 31 Jan 2026 14:00:00 GMT", "Retry-After", "Sat, 31 Jan 2026 14:00:40 GMT"), wait: 40 * time.Second, reason: "429",
		},
		"throttled for ever":       {answer: status(503, "Retry-After", "99999999999"), outcome: sink.Failed, wait: time.Hour, reason: "503"},
		"throttled by nonsense":    {answer: status(503, "Retry-After", "soon"), outcome: sink.Failed, reason: "503 Service Unavailable"},
		"throttled into the past":  {answer: status(503, "Retry-After", "-5"), outcome: sink.Failed, reason: "503"},
		"its own fault":            {answer: status(500), outcome: sink.Failed, reason: "500 Internal Server Error"},
		"a status without a name":  {answer: status(599), outcome: sink.Failed, reason: "599"},
		"a body without end":       {answer: func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 8<<20)) }, outcome: sink.Delivered},
		"an end without an answer": {answer: func(w http.ResponseWriter, _ *http.Request) { hijack(w, "") }, reason: "EOF"},
		"half a body": {answer: func(w http.ResponseWriter, _ *http.Request) {
			hijack(w, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhal")
		}, outcome: sink.Delivered},
		"no HTTP, but an echo": {answer: func(w http.ResponseWriter, r *http.Request) { hijack(w, r.Header.Get("Authorization")+"\r\n\r\n") }, reason: "(hidden)"},
		"a header without end": {
			answer: func(w http.ResponseWriter, _ *http.Request) {
				hijack(w, "HTTP/1.1 200 OK\r\nX: "+strings.Repeat("x", 1<<20)+"\r\n\r\n")
			}, reason: "exceeded",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address, _ := sinktest.Listen(t, tc.answer)
			r := newReceiver(t, address)
			a := r.Send(t.Context(), sink.Message{Now: time.Now()})
			if a.Outcome != tc.outcome || a.Wait != tc.wait {
				t.Errorf("%+v", a)
			}
			if tc.outcome != sink.Delivered && !strings.Contains(a.Text, tc.reason) || strings.Contains(a.Text, tokenText) || len(a.Text) > 300 {
				t.Errorf("reason %q, want %q", a.Text, tc.reason)
			}
		})
	}
}

// FuzzNtfy holds that whatever a record says becomes a message that can be sent.
func FuzzNtfy(f *testing.F) {
	f.Add([]byte(sinktest.Record), int64(1769868202))
	f.Add([]byte(`{"alert_id":"a\r\nB: c","condition":{"type":"x"},"triggered_at":"2026-01-31T14:03:22Z","value":1e-400}`), int64(0))
	f.Add([]byte(`{"condition":{"type":"price_above","threshold":-1e9},"value":null,"triggered_at":"0001-01-01T00:00:01Z"}`), int64(-1))
	to, err := New("https://a.example/t", secret.New(tokenText), false)
	if err != nil {
		f.Fatal(err)
	}
	good := regexp.MustCompile(`^[ -~]*$`)
	f.Fuzz(func(t *testing.T, data []byte, now int64) {
		m := to.request(sink.Message{Now: time.Unix(now, 0), Alert: &notify.Entry{Seq: 1, Symbol: market.Symbol{Name: "BTCUSDT"}, Data: data}})
		if len(m.Body) > sink.MaxText+3 || utf8.Valid(data) && !utf8.Valid(m.Body) {
			t.Errorf("%d bytes of text", len(m.Body))
		}
		for name, values := range m.Header {
			if len(values) != 1 || !good.MatchString(values[0]) {
				t.Errorf("%s is %q", name, values)
			}
		}
	})
}

// A notice opens its link by a touch and by a button, and carries no token.
func TestNtfy_ANotice(t *testing.T) {
	t.Parallel()
	address, arrived := sinktest.Listen(t, nil)
	r := newReceiver(t, address+"/topic")
	n := sink.Notice{
		ID: "n-1", Title: "Gr\u00fc\u00dfe", Text: "An order waits until 15:13 UTC", Link: "https://candela.example.com/console/approvals/1?a=b,c",
		Buttons: []sink.Button{{Label: "Allow", Token: "opaque-token", Allow: true}},
	}
	if a := r.Send(t.Context(), sink.Message{Now: time.Now(), Notice: &n}); a.Outcome != sink.Delivered {
		t.Fatalf("%+v", a)
	}
	in := <-arrived
	for name, want := range map[string]string{
		"Title": "=?utf-8?b?R3LDvMOfZQ==?=", "Priority": "high", "Click": n.Link, "Actions": `view, "Open candela", "` + n.Link + `"`, "X-Sequence-ID": "n-1",
	} {
		if in.Header.Get(name) != want {
			t.Errorf("%s is %q, want %q", name, in.Header.Get(name), want)
		}
	}
	if in.Body != n.Text {
		t.Errorf("%q", in.Body)
	}
	for name, values := range in.Header {
		if strings.Contains(strings.Join(values, " "), "opaque-token") {
			t.Errorf("%s has the token of a button", name)
		}
	}
	if a := r.Check(t.Context()); a.Outcome != sink.Delivered || len(arrived) > 0 {
		t.Errorf("%+v", a)
	}
}
