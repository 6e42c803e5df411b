// Package telegram is the sink that sends messages to a chat of a Telegram bot, and reports
// the buttons that the owner presses there. It talks to the Bot API over HTTPS without a
// library. It is called by package app through its Descriptor.
package telegram

import (
	"context"
	"encoding/json"
	"html"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"candela/internal/alerting/sink"
	"candela/internal/kit/retry"
	"candela/internal/kit/secret"
	"candela/internal/kit/setting"
	"candela/lib/fault"
	"candela/lib/pattern"
)

// The settings.
const (
	chatSetting  = "telegram-chat"
	tokenSetting = "telegram-token"
	fileSetting  = "telegram-token-file"
	urlSetting   = "telegram-url"
)

// maxText is the limit of a message in characters, after entities were parsed. It is kept
// in bytes, which are at least as many.
const maxText = 4096

// Descriptor declares the sink.
func Descriptor() sink.Descriptor {
	always := func(setting.Values) bool { return true }
	chat := setting.Kind{Allowed: "the number of a chat, such as 123456789, or -1001234567890 for a group", Read: func(text string) (string, bool) {
		id, err := strconv.ParseInt(text, 10, 64)
		return text, text == "" || err == nil && id != 0
	}}
	return sink.Descriptor{
		Part: setting.Part{
			Name: "telegram", Title: "Telegram", EnabledBy: chatSetting,
			Secrets: []setting.FileSecret{{Name: tokenSetting, File: fileSetting, Purpose: "the token of a bot", Needed: always}},
			Settings: []setting.Spec{
				{Name: chatSetting, Arg: "ID", Kind: chat, Doc: "number of the Telegram chat that gets a message for every fired alert"},
				{Name: fileSetting, Arg: "FILE", Kind: setting.Path(), Doc: "file of mode 0600 with the token of the bot that sends them"},
				{Name: tokenSetting, Arg: "TEXT", Kind: setting.Secret(), Doc: "the token itself"},
				{Name: urlSetting, Arg: "URL", Kind: setting.URL(), Default: "https://api.telegram.org", Doc: "address of the Bot API"},
			},
		},
		Open: func(env sink.Env) (sink.Receiver, error) {
			id, err := strconv.ParseInt(env.Values.Text(chatSetting), 10, 64)
			if err != nil {
				return nil, sink.BadSetting(chatSetting, err)
			}
			return New(env.Values.Text(urlSetting), id, env.Values.Secret(tokenSetting), env.AllowPrivate)
		},
	}
}

// Receiver is a chat. It is safe for concurrent use.
type Receiver struct {
	*sink.Client

	chat    int64
	token   secret.Text
	secrets sink.Secrets
	pause   func(ctx context.Context, d time.Duration) error
}

// tokenForm is the form of a bot token. The token becomes part of a path.
var tokenForm = pattern.Of(`^[0-9]{1,20}:([-_0-9A-Za-z]{10,100})$`)

// New returns a receiver.
func New(address string, chat int64, token secret.Text, allowPrivate bool) (*Receiver, error) {
	form := tokenForm().FindStringSubmatch(token.Reveal())
	if form == nil {
		return nil, &fault.Error{
			Kind: fault.Invalid, Code: "refused", Field: tokenSetting,
			Message: "the Telegram token has not the form of a bot token, digits, a colon and letters: copy it again from @BotFather",
		}
	}
	secrets := sink.Secrets{token, secret.New(form[1])}
	client, err := sink.NewClient(urlSetting, address, allowPrivate, secrets...)
	if err != nil {
		return nil, err
	}
	return &Receiver{Client: client, chat: chat, token: token, secrets: secrets, pause: retry.Sleep}, nil
}

// Send sends a message.
func (r *Receiver) Send(ctx context.Context, m sink.Message) sink.Answer {
	_, a := r.call(ctx, "sendMessage", r.message(m), 0)
	return a
}

// Check shows for some seconds that the bot is typing, which needs the token and the right
// to write. It sends no message.
func (r *Receiver) Check(ctx context.Context) sink.Answer {
	_, a := r.call(ctx, "sendChatAction", struct {
		Chat   int64  `json:"chat_id"`
		Action string `json:"action"`
	}{r.chat, "typing"}, 0)
	if a.Outcome == sink.Delivered {
		a.Text = "the bot can write to the chat"
	}
	return a
}

// outgoing is the argument of sendMessage and editMessageText.
type outgoing struct {
	Chat      int64     `json:"chat_id"`
	MessageID int64     `json:"message_id,omitempty"`
	Text      string    `json:"text"`
	ParseMode string    `json:"parse_mode,omitempty"`
	Preview   preview   `json:"link_preview_options"`
	Markup    *keyboard `json:"reply_markup,omitempty"`
}

// preview turns the preview of links off: Telegram would fetch them.
type preview struct {
	Disabled bool `json:"is_disabled"`
}

type keyboard struct {
	Rows [][]button `json:"inline_keyboard"`
}

// button has a URL or data.
type button struct {
	Text string `json:"text"`
	URL  string `json:"url,omitempty"`
	Data string `json:"callback_data,omitempty"`
}

// The marks before the token in the data of a button.
const (
	markAllow  = "y:"
	markRefuse = "n:"
)

// message returns a message as HTML. Buttons with data are for a private chat: in a group
// every member could press them.
func (r *Receiver) message(m sink.Message) outgoing {
	title, link := fault.Truncate(m.Title(), 200), ""
	var rows [][]button
	if n := m.Notice; n != nil {
		answers := make([]button, 0, len(n.Buttons))
		for _, b := range n.Buttons {
			mark := markRefuse
			if b.Allow {
				mark = markAllow
			}
			answers = append(answers, button{Text: b.Label, Data: mark + b.Token})
		}
		if r.private() && len(answers) > 0 {
			rows = append(rows, answers)
		}
		switch {
		case n.Link == "":
		case acceptsLink(n.Link):
			rows = append(rows, []button{{Text: "Open candela", URL: n.Link}})
		default:
			link = "\n" + n.Link
		}
	}
	text := fault.Truncate(strings.ToValidUTF8(m.Text(), "?"), maxText-len(title)-len(link)-len("\n..."))
	out := outgoing{Chat: r.chat, Text: "<b>" + html.EscapeString(title) + "</b>\n" + html.EscapeString(text+link), ParseMode: "HTML", Preview: preview{true}}
	if len(rows) > 0 {
		out.Markup = &keyboard{rows}
	}
	return out
}

// private reports whether the chat is with one person. Its number is that of the person.
func (r *Receiver) private() bool { return r.chat > 0 }

// acceptsLink reports whether Telegram accepts a link as the URL of a button. It refuses the
// whole message for a host without a domain, such as localhost.
func acceptsLink(link string) bool {
	u, err := url.Parse(link)
	return err == nil && strings.Contains(u.Hostname(), ".") && net.ParseIP(u.Hostname()) == nil
}

// reply is the envelope of every response.
type reply struct {
	OK          bool            `json:"ok"`
	Result      json.RawMessage `json:"result"`
	Description string          `json:"description"`
	Parameters  struct {
		RetryAfter int64 `json:"retry_after"`
		MigrateTo  int64 `json:"migrate_to_chat_id"`
	} `json:"parameters"`
}

// call makes one request. The token is in its path, so no error may quote the URL.
func (r *Receiver) call(ctx context.Context, method string, argument any, wait time.Duration) (json.RawMessage, sink.Answer) {
	body, err := json.Marshal(argument)
	if err != nil {
		return nil, sink.Answer{Outcome: sink.Refused, Text: "the message is no JSON"}
	}
	request := sink.Request{Path: "/bot" + r.token.Reveal() + "/" + method, Header: http.Header{"Content-Type": {"application/json"}}, Body: body, MaxBody: maxUpdates}
	if wait > 0 {
		request.Timeout = wait + callMargin
	}
	got := r.Do(ctx, request)
	var said reply
	if err := json.Unmarshal(got.Body, &said); err != nil && got.Status/100 == 2 {
		return nil, sink.Answer{Outcome: sink.Failed, Text: sink.StatusText(got.Status) + ": the response is not Telegram's"}
	}
	a := got.Answer()
	if got.Status == http.StatusTooManyRequests {
		a.Wait = max(a.Wait, sink.Bounded(time.Duration(min(max(0, said.Parameters.RetryAfter), 1<<20))*time.Second))
	}
	if a.Outcome == sink.Refused {
		a.Text += ": " + r.explain(got.Status, said)
	}
	return said.Result, a
}

// explain returns why Telegram refused a request and what to do about it.
func (r *Receiver) explain(status int, said reply) string {
	text := strings.ToLower(said.Description)
	switch {
	case status == http.StatusUnauthorized || status == http.StatusNotFound:
		return "Telegram does not know the token; copy it again from @BotFather"
	case said.Parameters.MigrateTo != 0:
		return "the group has a new number; set --" + chatSetting + " " + strconv.FormatInt(said.Parameters.MigrateTo, 10)
	case strings.Contains(text, "chat not found"):
		return "Telegram does not know the chat, or the bot has never met it; open the bot in Telegram, press Start, and check --" + chatSetting
	case strings.Contains(text, "blocked by the user"):
		return "the bot is blocked in the chat; unblock it in Telegram"
	case strings.Contains(text, "kicked") || strings.Contains(text, "not a member"):
		return "the bot is not in the group; add it again"
	case strings.Contains(text, "user is deactivated"):
		return "the account of the chat was deleted; set another --" + chatSetting
	case strings.Contains(text, "not enough rights"):
		return "the bot may not write in the chat; let it in the settings of the group"
	case status == http.StatusConflict:
		return "another program reads the updates of this bot; give candela a bot of its own"
	}
	return r.secrets.Hide(said.Description)
}
