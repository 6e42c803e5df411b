package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"candela/internal/alerting/notify"
	"candela/internal/alerting/sink"
	"candela/internal/alerting/sink/sinktest"
	"candela/internal/kit/secret"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const secretText = "a-secret-of-the-webhook"

func newReceiver(t *testing.T, address, format string) *Receiver {
	t.Helper()
	r, err := New(address, format, secret.New(secretText), false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

func TestWebhook_SendsTheRecordSigned(t *testing.T) {
	t.Parallel()
	address, arrived := sinktest.Listen(t, nil)
	r := newReceiver(t, address+"/hook/x?key=1", "json")
	at := time.Date(2026, 1, 31, 14, 3, 23, 0, time.UTC)
	e := sinktest.Entry(7, at)
	if a := r.Send(t.Context(), sink.Message{Now: at, Alert: e}); a.Outcome != sink.Delivered {
		t.Fatalf("%+v", a)
	}
	in := <-arrived
	if in.Method != http.MethodPost || in.URI != "/hook/x?key=1" || in.Body != string(e.Data) {
		t.Errorf("%s %s: %s", in.Method, in.URI, in.Body)
	}
	mac := hmac.New(sha256.New, []byte(secretText))
	mac.Write([]byte("1769868203." + in.Body))
	for name, want := range map[string]string{
		"Content-Type": "application/json", "User-Agent": "candela", "Candela-Event": "alert_triggered", "Candela-Seq": "7",
		"Candela-Timestamp": "1769868203", "Candela-Signature": "v1=" + hex.EncodeToString(mac.Sum(nil)),
	} {
		if in.Header.Get(name) != want {
			t.Errorf("%s is %q, want %q", name, in.Header.Get(name), want)
		}
	}
	if a := r.Send(t.Context(), sink.Message{Now: at}); a.Outcome != sink.Delivered || a.Text != "200 OK" {
		t.Errorf("%+v", a)
	}
	if in := <-arrived; in.Header.Get("Candela-Event") != "test" || !strings.Contains(in.Body, `"test":true`) || in.Header.Get("Candela-Signature") == "" || in.Header.Get("Candela-Seq") != "" {
		t.Errorf("%+v", in)
	}
}

// TestDocs_SignatureExample holds the worked example of docs/alerts.md to the code.
func TestDocs_SignatureExample(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../../docs/alerts.md")
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
	m := (&Receiver{key: []byte(find("secret"))}).sign("alert_triggered", []byte(find("body")), time.Unix(unix, 0))
	if got := m.Header.Get(headerSignature); got != find("Candela-Signature") {
		t.Errorf("the example signs with %s, the code with %s", find("Candela-Signature"), got)
	}
}

// TestWebhook_SendsOrderEvents sends the record of an order event as it is, under a name of its own.
func TestWebhook_SendsOrderEvents(t *testing.T) {
	t.Parallel()
	address, arrived := sinktest.Listen(t, nil)
	r := newReceiver(t, address, "json")
	at := time.Date(2026, 1, 31, 14, 3, 23, 0, time.UTC)
	const record = `{"event":"order_filled","seq":8,"order_id":"o","mode":"paper"}`
	e := &notify.Entry{Seq: 8, Owner: "owner", Kind: notify.Order, Type: "order_filled", At: at, Data: []byte(record)}
	if a := r.Send(t.Context(), sink.Message{Now: at, Alert: e}); a.Outcome != sink.Delivered {
		t.Fatalf("%+v", a)
	}
	if in := <-arrived; in.Body != record || in.Header.Get("Candela-Event") != "order_event" || in.Header.Get("Candela-Seq") != "8" || in.Header.Get("Candela-Signature") == "" {
		t.Errorf("%+v", in)
	}
}
