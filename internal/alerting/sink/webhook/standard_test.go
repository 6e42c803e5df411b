package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"candela/internal/alerting/notify"
	"candela/internal/alerting/sink"
	"candela/internal/alerting/sink/sinktest"
	"candela/internal/kit/secret"
)

// key returns the secret of a key whose bytes are all the same.
func key(letter string, bytes int) string {
	return secretPrefix + base64.StdEncoding.EncodeToString([]byte(strings.Repeat(letter, bytes)))
}

func newStandard(t *testing.T, address string, secrets ...string) *Receiver {
	t.Helper()
	r, err := New(address, formatStandard, secret.New(strings.Join(secrets, "\n")), false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

func TestStandard_SendsWhatTheStandardSays(t *testing.T) {
	t.Parallel()
	address, arrived := sinktest.Listen(t, nil)
	r := newStandard(t, address, key("a", 24), key("b", 64))
	at := time.Date(2026, 1, 31, 14, 3, 22, 125_000_000, time.UTC)
	fired := sinktest.Entry(7, at)
	order := func(event string) *notify.Entry {
		return &notify.Entry{Seq: 8, Kind: notify.Order, At: at, Data: []byte(`{"event":"` + event + `","seq":8}`)}
	}
	for _, c := range []struct {
		message  sink.Message
		id, kind string
		data     string
	}{
		{sink.Message{Alert: fired}, "candela-7", "alert.triggered", string(fired.Data)},
		{sink.Message{Alert: order("order_part_filled")}, "candela-8", "order.part_filled", `{"event":"order_part_filled","seq":8}`},
		{sink.Message{Alert: order("liquidated")}, "candela-8", "liquidated", `{"event":"liquidated","seq":8}`},
		{sink.Message{Notice: &sink.Notice{ID: "ask-1", Title: "t", Text: "x", Until: at}}, "candela-notice-ask-1", "notice", `{"notice_id":"ask-1","title":"t","text":"x","until":"2026-01-31T14:03:22Z"}`},
		{sink.Message{}, "candela-test-", "test", testData},
	} {
		c.message.Now = at.Add(time.Second)
		if a := r.Send(t.Context(), c.message); a.Outcome != sink.Delivered {
			t.Fatalf("%+v", a)
		}
		in := <-arrived
		var body struct {
			Type      string
			Timestamp time.Time
			Data      json.RawMessage
		}
		if err := json.Unmarshal([]byte(in.Body), &body); err != nil || body.Type != c.kind || string(body.Data) != c.data || c.message.Alert != nil && !body.Timestamp.Equal(at) {
			t.Errorf("%v: %s", err, in.Body)
		}
		id, stamp := in.Header.Get("webhook-id"), in.Header.Get("webhook-timestamp")
		if !strings.HasPrefix(id, c.id) || strings.Contains(id, ".") || stamp != "1769868203" {
			t.Errorf("id %q at %q, want %q", id, stamp, c.id)
		}
		var want []string
		for _, k := range []string{strings.Repeat("a", 24), strings.Repeat("b", 64)} {
			mac := hmac.New(sha256.New, []byte(k))
			mac.Write([]byte(id + "." + stamp + "." + in.Body))
			want = append(want, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
		}
		if got := in.Header.Get("webhook-signature"); got != strings.Join(want, " ") {
			t.Errorf("signed with %q, want %q", got, want)
		}
	}
}

func TestStandard_RefusesOtherSecrets(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"plain": "a-secret-of-the-webhook", "short": key("a", 23), "long": key("a", 65), "three": strings.Repeat(key("a", 24)+" ", 3),
		"no base64": secretPrefix + "!!!", "none": "", "one of two": key("a", 24) + "\nplain",
	} {
		if _, err := New("https://hooks.example", formatStandard, secret.New(text), false); err == nil || !strings.Contains(err.Error(), "base64 of 24 to 64 bytes") || text != "" && strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestStandard_StopsAtGone(t *testing.T) {
	t.Parallel()
	address, arrived := sinktest.Listen(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusGone) })
	r := newStandard(t, address, key("a", 24))
	for range 3 {
		if a := r.Send(t.Context(), sink.Message{Now: time.Now(), Alert: sinktest.Entry(1, time.Now())}); !a.Stop || a.Outcome != sink.Refused || !strings.HasPrefix(a.Text, "410 Gone") {
			t.Errorf("%+v", a)
		}
	}
	if len(arrived) != 1 {
		t.Errorf("%d requests, want 1", len(arrived))
	}
}
