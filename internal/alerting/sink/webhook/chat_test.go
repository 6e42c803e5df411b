package webhook

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/alerting/notify"
	"candela/internal/alerting/sink"
	"candela/internal/alerting/sink/sinktest"
	"candela/internal/kit/secret"
	"candela/internal/testkit/fake/chathook"
	"candela/lib/market"
)

var at = time.Date(2026, 1, 31, 14, 3, 23, 0, time.UTC)

func chat(t *testing.T, hook http.Handler, format string) *Receiver {
	t.Helper()
	server := httptest.NewServer(hook)
	t.Cleanup(server.Close)
	r, err := New(server.URL+"/hunter2", format, secret.Text{}, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

// text returns a field of the last message that a hook accepted.
func text(t *testing.T, hook *chathook.Hook, field string) (text string) {
	t.Helper()
	all := hook.Accepted()
	if err := json.Unmarshal(all[len(all)-1][field], &text); err != nil {
		t.Fatal(err)
	}
	return text
}

func messages() map[string]sink.Message {
	all := map[string]sink.Message{
		"an alert": {Alert: sinktest.Entry(7, at)},
		"a test":   {},
		"a notice": {Notice: &sink.Notice{
			ID: "n", Title: "An <order> waits & more", Text: "@everyone <!channel> *b*", Link: "https://candela.example.com/a_b?x=1&y=2",
			Buttons: []sink.Button{{Label: "Allow", Token: "opaque-token", Allow: true}},
		}},
	}
	for name, note := range map[string]string{"stars": strings.Repeat("*", 3900), "signs": strings.Repeat("&", 3900), "pictures": strings.Repeat("\U0001F4C8", 990), "bytes": "\xff"} {
		f := alert.Firing{Alert: alert.Alert{ID: "0197", Symbol: market.Symbol{Name: "BTCUSDT"}, Condition: alert.Condition{Type: alert.PriceAbove}, Note: note}, At: at}
		all[name] = sink.Message{Alert: &notify.Entry{Seq: 1, Symbol: f.Symbol, Data: f.AppendJSON(nil)}}
	}
	return all
}

func TestDiscord_AcceptsEveryMessage(t *testing.T) {
	t.Parallel()
	hook := chathook.Discord()
	r := chat(t, hook, "discord")
	for name, m := range messages() {
		m.Now = at
		if a := r.Send(t.Context(), m); a.Outcome != sink.Delivered || a.Text != "204 No Content" {
			t.Errorf("%s: %+v", name, a)
			continue
		}
		content := text(t, hook, "content")
		if strings.Contains(content, "opaque-token") {
			t.Errorf("%s has the token of a button", name)
		}
		switch name {
		case "an alert":
			if content != "**BTCUSDT alert**\nBTCUSDT above 65,000: 65,012.4 at 14:03:22 UTC\nsell half" {
				t.Errorf("%q", content)
			}
		case "a notice":
			if content != "**An \\<order\\> waits & more**\n@everyone \\<!channel\\> \\*b\\*\nhttps://candela.example.com/a_b?x=1&y=2" {
				t.Errorf("%q", content)
			}
		case "stars":
			if !strings.HasSuffix(content, "\\*...") {
				t.Errorf("%q", content[len(content)-10:])
			}
		}
	}
}

func TestDiscord_Answers(t *testing.T) {
	t.Parallel()
	hook := chathook.Discord()
	r := chat(t, hook, "discord")
	for name, tc := range map[string]struct {
		answer  http.HandlerFunc
		outcome sink.Outcome
		wait    time.Duration
		text    string
	}{
		"throttled":          {chathook.Throttled(64.57), sink.Unreachable, 64570 * time.Millisecond, "429"},
		"throttled for ever": {chathook.Throttled(1e12), sink.Unreachable, time.Hour, "429"},
		"deleted": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte(`{"message": "Unknown Webhook", "code": 10015}`))
		}, sink.Refused, 0, "404 Not Found: Discord does not know this webhook"},
		"its own fault": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }, sink.Failed, 0, "502"},
	} {
		hook.Fail(tc.answer)
		if a := r.Send(t.Context(), sink.Message{Now: at}); a.Outcome != tc.outcome || a.Wait != tc.wait || !strings.HasPrefix(a.Text, tc.text) || strings.Contains(a.Text, "hunter2") {
			t.Errorf("%s: %+v", name, a)
		}
	}
}

func TestSlack_AcceptsEveryMessage(t *testing.T) {
	t.Parallel()
	hook := chathook.Slack()
	r := chat(t, hook, "slack")
	for name, m := range messages() {
		m.Now = at
		if a := r.Send(t.Context(), m); a.Outcome != sink.Delivered || a.Text != "200 OK" {
			t.Errorf("%s: %+v", name, a)
			continue
		}
		got := text(t, hook, "text")
		if strings.Contains(got, "opaque-token") {
			t.Errorf("%s has the token of a button", name)
		}
		if name == "a notice" && got != "*An &lt;order&gt; waits &amp; more*\n@everyone &lt;!channel&gt; *b*\n<https://candela.example.com/a_b?x=1&amp;y=2|Open candela>" {
			t.Errorf("%q", got)
		}
	}
	hook.Fail(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusGone)
		_, _ = w.Write([]byte("channel_is_archived"))
	})
	if a := r.Send(t.Context(), sink.Message{Now: at}); a.Outcome != sink.Refused || a.Text != "410 Gone: channel_is_archived" {
		t.Errorf("%+v", a)
	}
	hook.Fail(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "30")
		w.WriteHeader(http.StatusTooManyRequests)
	})
	if a := r.Send(t.Context(), sink.Message{Now: at}); a.Outcome != sink.Unreachable || a.Wait != 30*time.Second {
		t.Errorf("%+v", a)
	}
}

// A program gets a notice signed, and never the token of a button.
func TestWebhook_ANotice(t *testing.T) {
	t.Parallel()
	address, arrived := sinktest.Listen(t, nil)
	r := newReceiver(t, address, "json")
	m := messages()["a notice"]
	m.Now, m.Notice.Until = at, at.Add(10*time.Minute)
	if a := r.Send(t.Context(), m); a.Outcome != sink.Delivered {
		t.Fatalf("%+v", a)
	}
	in := <-arrived
	want := `{"notice_id":"n","title":"An \u003corder\u003e waits \u0026 more","text":"@everyone \u003c!channel\u003e *b*","link":"https://candela.example.com/a_b?x=1\u0026y=2","until":"2026-01-31T14:13:23Z"}`
	if in.Body != want || in.Header.Get("Candela-Event") != "notice" || in.Header.Get("Candela-Signature") == "" || in.Header.Get("Candela-Seq") != "" {
		t.Errorf("%+v", in)
	}
	if a := r.Check(t.Context()); a.Outcome != sink.Delivered || len(arrived) > 0 {
		t.Errorf("%+v", a)
	}
}

func FuzzEscaped(f *testing.F) {
	f.Add("a*b&<", 10)
	f.Add("\U0001F4C8\xff", 3)
	f.Fuzz(func(t *testing.T, text string, most int) {
		most = 3 + max(0, most)%5000
		for _, escape := range []func(rune) string{markdown, mrkdwn} {
			if got := escaped(text, most, escape); units(got) > most {
				t.Errorf("%d units, at most %d are allowed", units(got), most)
			}
		}
	})
}
