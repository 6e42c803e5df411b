package telegram

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"candela/internal/alerting/alert"
	"candela/internal/alerting/notify"
	"candela/internal/alerting/sink"
	"candela/internal/alerting/sink/sinktest"
	"candela/internal/kit/secret"
	fake "candela/internal/testkit/fake/telegram"
	"candela/lib/market"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	tokenText = "123456:AAh0-hunter2_hunter2hunter2"
	owner     = int64(4242)
	group     = int64(-1001234567890)
)

// open returns a fake service and a receiver of one of its chats.
func open(t *testing.T, chat int64) (*fake.Server, *Receiver) {
	t.Helper()
	service := fake.New(tokenText, owner, group)
	return service, connect(t, service, chat)
}

func connect(t *testing.T, service http.Handler, chat int64) *Receiver {
	t.Helper()
	server := httptest.NewUnstartedServer(service)
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.Start()
	t.Cleanup(server.Close)
	r, err := New(server.URL, chat, secret.New(tokenText), false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

var at = time.Date(2026, 1, 31, 14, 3, 23, 0, time.UTC)

func question() *sink.Notice {
	return &sink.Notice{
		ID: "o-1", Title: "An order waits", Text: "buy 0.06 BTCUSDT <at most> 3,127.50 & no more", Link: "https://candela.example.com/console/approvals/1",
		Buttons: []sink.Button{{Label: "Allow", Token: "tok-1", Allow: true}, {Label: "Refuse", Token: "tok-1"}}, Until: at.Add(time.Hour),
	}
}

func TestSend_AnAlert(t *testing.T) {
	t.Parallel()
	service, r := open(t, owner)
	if a := r.Send(t.Context(), sink.Message{Now: at, Alert: sinktest.Entry(7, at)}); a.Outcome != sink.Delivered {
		t.Fatalf("%+v", a)
	}
	if a := r.Send(t.Context(), sink.Message{Now: at}); a.Outcome != sink.Delivered || a.Text != "200 OK" {
		t.Fatalf("%+v", a)
	}
	got := service.Messages()
	if got[0].Text != "BTCUSDT alert\nBTCUSDT above 65,000: 65,012.4 at 14:03:22 UTC\nsell half" || got[0].Chat != owner || got[0].Preview || len(got[0].Buttons) > 0 {
		t.Errorf("%+v", got[0])
	}
	if !strings.HasPrefix(got[1].Text, "candela test\n") {
		t.Errorf("%+v", got[1])
	}
}

// Every note arrives as it is, cut at the limit.
func TestSend_TextIsEscapedAndCut(t *testing.T) {
	t.Parallel()
	service, r := open(t, owner)
	for _, note := range []string{"<b>bold</b> & <a href='x'>", "</b>", "&lt;&amp;", strings.Repeat("<", 5000), strings.Repeat("\U0001F4C8", 3000), "\xff\xfe"} {
		f := alert.Firing{Alert: alert.Alert{ID: "0197", Symbol: market.Symbol{Name: "BTCUSDT"}, Condition: alert.Condition{Type: alert.PriceAbove}, Note: note}, At: at}
		e := &notify.Entry{Seq: 1, Symbol: f.Symbol, Data: f.AppendJSON(nil)}
		if a := r.Send(t.Context(), sink.Message{Now: at, Alert: e}); a.Outcome != sink.Delivered {
			t.Fatalf("%.20q: %+v", note, a)
		}
		got := service.Messages()
		text := got[len(got)-1].Text
		if len(note) < 100 && !strings.HasSuffix(text, "\n"+strings.ToValidUTF8(note, "\uFFFD")) && !strings.HasSuffix(text, "\n"+strings.ToValidUTF8(note, "\uFFFD\uFFFD")) || len(note) > 4000 && !strings.HasSuffix(text, "...") {
			t.Errorf("%.20q became %.200q", note, text)
		}
	}
}

func TestSend_ANotice(t *testing.T) {
	t.Parallel()
	link := fake.Button{Text: "Open candela", URL: "https://candela.example.com/console/approvals/1"}
	for name, tc := range map[string]struct {
		chat    int64
		link    string
		buttons []fake.Button
		inText  string
	}{
		"to a person":            {owner, link.URL, []fake.Button{{Text: "Allow", Data: "y:tok-1"}, {Text: "Refuse", Data: "n:tok-1"}, link}, "3,127.50 & no more"},
		"to a group":             {group, link.URL, []fake.Button{link}, "3,127.50 & no more"},
		"with a link to here":    {group, "http://localhost:9315/console", nil, "no more\nhttp://localhost:9315/console"},
		"with a link by address": {group, "http://127.0.0.1:9315/console", nil, "no more\nhttp://127.0.0.1:9315/console"},
		"without a link":         {group, "", nil, "no more"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service, r := open(t, tc.chat)
			n := question()
			n.Link = tc.link
			if a := r.Send(t.Context(), sink.Message{Now: at, Notice: n}); a.Outcome != sink.Delivered {
				t.Fatalf("%+v", a)
			}
			got := service.Messages()[0]
			if !slices.Equal(got.Buttons, tc.buttons) || !strings.HasSuffix(got.Text, tc.inText) || got.Preview {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestSend_Answers(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		failure fake.Failure
		outcome sink.Outcome
		wait    time.Duration
		text    string
	}{
		"throttled":          {fake.Failure{Status: 429, Description: "Too Many Requests: retry after 17", Parameters: map[string]int64{"retry_after": 17}}, sink.Unreachable, 17 * time.Second, "429"},
		"throttled for ever": {fake.Failure{Status: 429, Parameters: map[string]int64{"retry_after": 1 << 60}}, sink.Unreachable, time.Hour, "429"},
		"throttled oddly":    {fake.Failure{Status: 429, Parameters: map[string]int64{"retry_after": -1}}, sink.Unreachable, 0, "429"},
		"its own fault":      {fake.Failure{Status: 502, Raw: "<html>bad gateway"}, sink.Failed, 0, "502 Bad Gateway"},
		"not Telegram":       {fake.Failure{Status: 200, Raw: "<html>welcome"}, sink.Failed, 0, "not Telegram's"},
		"no such token":      {fake.Failure{Status: 401, Description: "Unauthorized"}, sink.Refused, 0, "does not know the token"},
		"no token":           {fake.Failure{Status: 404, Description: "Not Found"}, sink.Refused, 0, "does not know the token"},
		"blocked":            {fake.Failure{Status: 403, Description: "Forbidden: bot was blocked by the user"}, sink.Refused, 0, "unblock it"},
		"kicked":             {fake.Failure{Status: 403, Description: "Forbidden: bot was kicked from the supergroup chat"}, sink.Refused, 0, "not in the group"},
		"deleted":            {fake.Failure{Status: 403, Description: "Forbidden: user is deactivated"}, sink.Refused, 0, "was deleted"},
		"unknown chat":       {fake.Failure{Status: 400, Description: "Bad Request: chat not found"}, sink.Refused, 0, "press Start, and check --telegram-chat"},
		"no right":           {fake.Failure{Status: 400, Description: "Bad Request: not enough rights to send text messages to the chat"}, sink.Refused, 0, "may not write"},
		"moved": {
			fake.Failure{Status: 400, Description: "Bad Request: group chat was upgraded to a supergroup chat", Parameters: map[string]int64{"migrate_to_chat_id": -100777}},
			sink.Refused, 0, "set --telegram-chat -100777",
		},
		"another reason":      {fake.Failure{Status: 400, Description: "Bad Request: /bot" + tokenText + " is odd"}, sink.Refused, 0, "/bot(hidden) is odd"},
		"a long reason":       {fake.Failure{Status: 400, Description: strings.Repeat("x", 100_000)}, sink.Refused, 0, "xxx..."},
		"a redirect":          {fake.Failure{Status: 302, Raw: "moved"}, sink.Refused, 0, "redirects are not followed"},
		"a refusal by nobody": {fake.Failure{Status: 418, Raw: "tea"}, sink.Refused, 0, "418"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service, r := open(t, owner)
			service.Fail(func(string) *fake.Failure { return &tc.failure })
			a := r.Send(t.Context(), sink.Message{Now: at})
			if a.Outcome != tc.outcome || a.Wait != tc.wait || !strings.Contains(a.Text, tc.text) || strings.Contains(a.Text, "hunter2") || len(a.Text) > 400 {
				t.Errorf("%+v", a)
			}
		})
	}
}

// The token is a part of every URL, so a failure at any level may quote it.
func TestSend_NoTokenInAnyReason(t *testing.T) {
	t.Parallel()
	for name, serve := range map[string]http.HandlerFunc{
		"an echo": func(w http.ResponseWriter, r *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = conn.Write([]byte(r.RequestURI + "\r\n\r\n"))
			_ = conn.Close()
		},
		"an echo of the secret half": func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			_, half, _ := strings.Cut(r.RequestURI, ":")
			_, _ = w.Write([]byte(`{"ok":false,"description":"` + half + `"}`))
		},
		"an escaped echo": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte(`{"ok":false,"description":"` + strings.Replace(tokenText, ":", "%3A", 1) + `"}`))
		},
		"an end": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"a redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1"+r.RequestURI, http.StatusTemporaryRedirect)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := connect(t, serve, owner)
			for _, a := range []sink.Answer{r.Send(t.Context(), sink.Message{Now: at}), r.Check(t.Context())} {
				if a.Outcome == sink.Delivered || strings.Contains(a.Text, "hunter2") || a.Text == "" {
					t.Errorf("%+v", a)
				}
			}
		})
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	_, r := open(t, owner)
	if a := r.Send(over, sink.Message{Now: at}); a.Outcome != sink.Unreachable || strings.Contains(a.Text, "hunter2") {
		t.Errorf("%+v", a)
	}
}

func TestCheck_SendsNothing(t *testing.T) {
	t.Parallel()
	service, r := open(t, owner)
	if a := r.Check(t.Context()); a.Outcome != sink.Delivered || !strings.Contains(a.Text, "can write") {
		t.Errorf("%+v", a)
	}
	service.Refuse(owner, "Forbidden: bot was blocked by the user")
	if a := r.Check(t.Context()); a.Outcome != sink.Refused || !strings.Contains(a.Text, "unblock") {
		t.Errorf("%+v", a)
	}
	if len(service.Messages()) > 0 {
		t.Error("a message was sent")
	}
}

func TestNew_Refusals(t *testing.T) {
	t.Parallel()
	for _, token := range []string{"", "hunter2", "123456:hunter2/../../x", "123456:hunter2hunter2 ", "123456:hunter2hunter2\n", "bot123456:hunter2hunter2"} {
		if _, err := New("https://api.telegram.org", owner, secret.New(token), false); err == nil || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "BotFather") {
			t.Errorf("%q: %v", token, err)
		}
	}
	if _, err := New("http://api.telegram.org", owner, secret.New(tokenText), false); err == nil || !strings.Contains(err.Error(), "--telegram-url: ") {
		t.Errorf("plain http: %v", err)
	}
	if _, err := New("https://10.0.0.1", owner, secret.New(tokenText), false); err == nil || !strings.Contains(err.Error(), "--allow-private-sinks") {
		t.Errorf("a private address: %v", err)
	}
}
