package app

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"candela/internal/kit/principal"
	"candela/internal/serve/httpd/httpdtest"
	fakebinance "candela/internal/testkit/fake/binance"
	faketelegram "candela/internal/testkit/fake/telegram"
)

// asks is a program whose orders above 10 wait, and everything that it may ask.
type asks struct {
	*receiving
	t     *testing.T
	topic chan string // bodies of ntfy
	url   string
	log   bytes.Buffer // read it after stop
	stop  func()
}

func newAsks(t *testing.T) *asks {
	t.Helper()
	a := &asks{receiving: newReceiving(t), t: t, topic: make(chan string, 10)}
	venue := httptest.NewServer(fakebinance.New(fakebinance.Config{Seed: 1}))
	t.Cleanup(venue.Close)
	topic := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		a.topic <- string(body)
	}))
	t.Cleanup(topic.Close)
	home := filepath.Join(t.TempDir(), "home")
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	lines := "approval_above = 10\nmax_order_notional = \"none\"\nmax_exposure = \"none\"\nmax_symbol_exposure = \"none\"\napproval_drift_pct = \"none\"\n"
	if err := os.WriteFile(filepath.Join(home, "policy.toml"), []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	caller := principal.Caller{Subject: "owner", Key: "k", Scope: principal.Trade, Expires: time.Now().Add(time.Hour)}
	a.url, a.stop = startTradingLog(t, &a.log, home, venue.URL, httpdtest.Tokens{"t": caller}, append(a.args, "--ntfy-url", topic.URL+"/topic", "--log-level=debug")...)
	return a
}

// order places an order that waits, and returns its ID.
func (a *asks) order() string {
	a.t.Helper()
	text := unquoted(use(a.t, a.url, "t", "place_order", `{"symbol":"BTCUSDT","side":"buy","type":"market","quantity":0.01}`))
	_, rest, _ := strings.Cut(text, `"order_id":"`)
	id, _, _ := strings.Cut(rest, `"`)
	if !strings.Contains(text, `"status":"pending_approval"`) || !strings.Contains(text, `","expires_at":"20`) || id == "" {
		a.t.Fatal(text)
	}
	return id
}

// message waits for the first message in Telegram.
func (a *asks) message() faketelegram.Message {
	for changed := a.bot.Changed(); len(a.bot.Messages()) == 0; changed = a.bot.Changed() {
		<-changed
	}
	return a.bot.Messages()[0]
}

// press presses a button and returns the answer.
func (a *asks) press(query string, m faketelegram.Message, button int) string {
	a.bot.Press(query, 4242, m, m.Buttons[button].Data)
	for {
		changed := a.bot.Changed()
		if text, ok := a.bot.Answered(query); ok {
			return text
		}
		<-changed
	}
}

// TestAsk_EveryReceiverHearsOnce runs the whole program: one message about an order reaches
// every receiver, with the command and the link, and the button in Telegram sends the order,
// once. A stranger's press does nothing.
func TestAsk_EveryReceiverHearsOnce(t *testing.T) {
	t.Parallel()
	a := newAsks(t)
	id := a.order()
	m := a.message()
	mail := strings.ReplaceAll((<-a.mail.Mail()).Data, "=\r\n", "") // lines that were folded
	waitFor(t, func() bool { return len(a.discord.Accepted()) > 0 })
	hook, err := json.Marshal(a.discord.Accepted()[0])
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"Telegram": m.Text, "ntfy": <-a.topic, "the webhook": strings.ReplaceAll(string(hook), `\\-`, "-"), "the mail": mail} {
		if !strings.Contains(text, "candela approve "+id) {
			t.Errorf("%s has %s", name, text)
		}
	}
	// Telegram takes no link to this machine.
	if link := "/console/approvals/" + id; !strings.Contains(mail, link) || !strings.Contains(string(hook), link) || len(m.Buttons) != 2 {
		t.Errorf("the link is missing: %+v, %s, %s", m.Buttons, hook, mail)
	}
	a.bot.Press("stranger", 666, m, m.Buttons[0].Data)
	waitFor(t, func() bool { return a.bot.Waiting() == 0 })
	if _, answered := a.bot.Answered("stranger"); answered || !strings.Contains(use(t, a.url, "t", "get_orders", `{}`), "pending_approval") {
		t.Error("a stranger's press did something")
	}
	for press, button := range []int{0, 0, 1} {
		if text := a.press(strconv.Itoa(press), m, button); text != "Approved: the order is filled." {
			t.Errorf("the answer to press %d is %q", press, text)
		}
	}
	all := unquoted(use(t, a.url, "t", "get_orders", `{}`))
	if strings.Count(all, `"order_id"`) != 1 || !strings.Contains(all, `"status":"filled"`) {
		t.Errorf("orders are %s", all)
	}
	if now := a.bot.Messages(); len(now) != 1 || !strings.Contains(now[0].Text, "Approved") || len(a.discord.Accepted()) != 1 || len(a.topic) != 0 || len(a.mail.Mail()) != 0 {
		t.Errorf("messages are %+v, %d more", now, len(a.discord.Accepted())+len(a.topic)+len(a.mail.Mail())-1)
	}
	a.stop()
	a.silent(m)
}

// silent holds that no token is in the log.
func (a *asks) silent(m faketelegram.Message) {
	a.t.Helper()
	log := a.log.String()
	for _, b := range m.Buttons[:2] {
		if _, token, _ := strings.Cut(b.Data, ":"); token == "" || strings.Contains(log, token) {
			a.t.Errorf("the token %q is in the log", token)
		}
	}
	if strings.Contains(log, "hunter2") || !strings.Contains(log, "order needs approval") {
		a.t.Errorf("the log is\n%s", log)
	}
}

// TestAsk_AButtonOfAnOrderThatEnded presses after the client withdrew the order, and a
// button that the program does not know.
func TestAsk_AButtonOfAnOrderThatEnded(t *testing.T) {
	t.Parallel()
	a := newAsks(t)
	id := a.order()
	m := a.message()
	foreign := m
	foreign.Buttons = []faketelegram.Button{{Data: m.Buttons[0].Data + "x"}}
	if text := a.press("foreign", foreign, 0); !strings.Contains(text, "nothing was done. Use candela approve with the ID in the message") {
		t.Errorf("the answer is %q", text)
	}
	use(t, a.url, "t", "cancel_order", `{"order_id":"`+id+`"}`)
	if text := a.press("late", m, 0); text != "The order no longer waits; nothing was changed." {
		t.Errorf("the answer is %q", text)
	}
	if all := unquoted(use(t, a.url, "t", "get_orders", `{}`)); !strings.Contains(all, `"status":"canceled"`) {
		t.Errorf("orders are %s", all)
	}
	a.stop()
	a.silent(m)
}
