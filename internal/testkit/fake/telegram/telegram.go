// Package telegram is a fake Telegram Bot API: sendMessage, editMessageText, getUpdates,
// answerCallbackQuery and sendChatAction, with the limits and the descriptions of errors
// that the service documents.
package telegram

import (
	"encoding/json"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"unicode/utf16"
)

// Message is a message of a chat.
type Message struct {
	Chat    int64
	ID      int64
	Text    string // after entities were parsed
	HTML    string // as it was sent
	Buttons []Button
	Preview bool // links are fetched
}

// Button is a button under a message.
type Button struct {
	Text string `json:"text"`
	URL  string `json:"url,omitempty"`
	Data string `json:"callback_data,omitempty"`
}

// Failure is a response that a test asks for.
type Failure struct {
	Status      int
	Description string
	Parameters  map[string]int64
	Raw         string // replaces the body
}

// Server is the service, with one bot. It is safe for concurrent use.
type Server struct {
	token string

	mu       sync.Mutex
	chats    map[int64]string // why a message to the chat is refused; "" if it is not
	messages []Message
	answers  map[string]string // by callback query; absent before it was answered
	updates  []update
	next     int64
	calls    []string // methods, in order
	fail     func(method string) *Failure
	changed  chan struct{} // closed and replaced after every change
	polling  chan struct{} // closed when a later getUpdates ends this one
}

type update struct {
	id   int64
	data json.RawMessage
}

// New returns the service of a bot that may write to the chats.
func New(token string, chats ...int64) *Server {
	s := &Server{token: token, chats: map[int64]string{}, answers: map[string]string{}, next: 700_001, changed: make(chan struct{})}
	for _, c := range chats {
		s.chats[c] = ""
	}
	return s
}

// Refuse makes the service refuse messages to a chat with a description, such as
// "Forbidden: bot was blocked by the user". "" allows them.
func (s *Server) Refuse(chat int64, description string) {
	s.change(func() { s.chats[chat] = description })
}

// Fail sets what decides about failures; nil for none.
func (s *Server) Fail(f func(method string) *Failure) { s.change(func() { s.fail = f }) }

// Messages returns the messages.
func (s *Server) Messages() []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Message(nil), s.messages...)
}

// Calls returns the methods that were called.
func (s *Server) Calls() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.calls...)
}

// Answered returns how a callback query was answered.
func (s *Server) Answered(query string) (text string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text, ok = s.answers[query]
	return text, ok
}

// Waiting returns how many updates are not confirmed.
func (s *Server) Waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.updates)
}

// Changed returns a channel that is closed at the next change of anything.
func (s *Server) Changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

// Press lets a user press a button under a message.
func (s *Server) Press(query string, user int64, m Message, data string) {
	rows := [][]Button{m.Buttons}
	body := map[string]any{
		"id": query, "from": map[string]any{"id": user, "is_bot": false, "first_name": "A"}, "chat_instance": "1", "data": data,
		"message": map[string]any{
			"message_id": m.ID, "date": 1_700_000_000, "chat": map[string]any{"id": m.Chat, "type": "private"}, "text": m.Text,
			"reply_markup": map[string]any{"inline_keyboard": rows},
		},
	}
	s.Update(map[string]any{"callback_query": body})
}

// Update adds an update, to which its number is added.
func (s *Server) Update(body map[string]any) {
	s.change(func() {
		body["update_id"] = s.next
		data, err := json.Marshal(body)
		if err != nil {
			panic(err)
		}
		s.updates = append(s.updates, update{s.next, data})
		s.next++
	})
}

func (s *Server) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	close(s.changed)
	s.changed = make(chan struct{})
}

// arguments is the union of the arguments of all methods.
type arguments struct {
	Chat      int64  `json:"chat_id"`
	MessageID int64  `json:"message_id"`
	Text      string `json:"text"`
	ParseMode string `json:"parse_mode"`
	Preview   struct {
		Disabled bool `json:"is_disabled"`
	} `json:"link_preview_options"`
	Markup *struct {
		Rows [][]Button `json:"inline_keyboard"`
	} `json:"reply_markup"`
	Offset  int64    `json:"offset"`
	Limit   int      `json:"limit"`
	Timeout int      `json:"timeout"`
	Kinds   []string `json:"allowed_updates"`
	Query   string   `json:"callback_query_id"`
	Action  string   `json:"action"`
}

// ServeHTTP answers a call.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rest, ok := strings.CutPrefix(r.URL.Path, "/bot")
	token, method, cut := strings.Cut(rest, "/")
	switch {
	case !ok || !cut || !regexp.MustCompile(`^\d+:[-\w]+$`).MatchString(token):
		refuse(w, 404, "Not Found")
		return
	case token != s.token:
		refuse(w, 401, "Unauthorized")
		return
	}
	var in arguments
	if r.Header.Get("Content-Type") != "application/json" || json.NewDecoder(r.Body).Decode(&in) != nil {
		refuse(w, 400, "Bad Request: can't parse JSON object")
		return
	}
	var failure *Failure
	s.change(func() {
		s.calls = append(s.calls, method)
		if s.fail != nil {
			failure = s.fail(method)
		}
	})
	if failure != nil {
		failure.write(w)
		return
	}
	switch method {
	case "sendMessage":
		s.send(w, in)
	case "editMessageText":
		s.edit(w, in)
	case "answerCallbackQuery":
		s.answer(w, in)
	case "getUpdates":
		s.getUpdates(w, r, in)
	case "sendChatAction":
		description, ok := s.chat(in.Chat)
		switch {
		case in.Action != "typing":
			refuse(w, 400, "Bad Request: wrong parameter action in request")
		case !ok || description != "":
			refuseChat(w, description)
		default:
			respond(w, true)
		}
	default:
		refuse(w, 404, "Not Found: method not found")
	}
}

func (s *Server) chat(id int64) (refusal string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	refusal, ok = s.chats[id]
	return refusal, ok
}

func refuseChat(w http.ResponseWriter, description string) {
	switch {
	case description == "":
		refuse(w, 400, "Bad Request: chat not found")
	case strings.HasPrefix(description, "Forbidden"):
		refuse(w, 403, description)
	default:
		refuse(w, 400, description)
	}
}

// read checks a message and returns it with its text as people see it.
func read(in arguments) (Message, string) {
	m := Message{Chat: in.Chat, ID: in.MessageID, Text: in.Text, HTML: in.Text, Preview: !in.Preview.Disabled}
	if in.ParseMode == "HTML" {
		var wrong string
		if m.Text, wrong = parse(in.Text); wrong != "" {
			return m, "Bad Request: can't parse entities: " + wrong
		}
	}
	length := len(utf16.Encode([]rune(m.Text)))
	switch {
	case strings.TrimSpace(m.Text) == "":
		return m, "Bad Request: message text is empty"
	case length > 4096:
		return m, "Bad Request: message is too long"
	case in.Markup == nil:
		return m, ""
	}
	for _, row := range in.Markup.Rows {
		for _, b := range row {
			u, err := url.Parse(b.URL)
			switch {
			case b.Text == "":
				return m, "Bad Request: can't parse inline keyboard button: Text buttons are unallowed in the inline keyboard"
			case (b.URL == "") == (b.Data == ""):
				return m, "Bad Request: can't parse inline keyboard button: exactly one optional field must be used"
			case len(b.Data) > 64:
				return m, "Bad Request: BUTTON_DATA_INVALID"
			case b.URL != "" && (err != nil || !strings.Contains(u.Hostname(), ".")):
				return m, "Bad Request: inline keyboard button URL '" + b.URL + "' is invalid: Wrong HTTP URL"
			}
			m.Buttons = append(m.Buttons, b)
		}
	}
	return m, ""
}

// parse removes the tags of HTML that the service knows.
func parse(text string) (plain, wrong string) {
	var open []string
	tag := regexp.MustCompile(`<(/?)([^<>]*)>`)
	bad := ""
	plain = tag.ReplaceAllStringFunc(text, func(found string) string {
		parts := tag.FindStringSubmatch(found)
		switch {
		case !regexp.MustCompile(`^(b|i|u|s|code|pre)$`).MatchString(parts[2]):
			bad = "Unsupported start tag \"" + parts[2] + "\""
		case parts[1] == "":
			open = append(open, parts[2])
		case len(open) == 0 || open[len(open)-1] != parts[2]:
			bad = "Unmatched end tag"
		default:
			open = open[:len(open)-1]
		}
		return ""
	})
	switch {
	case bad != "":
		return "", bad
	case len(open) > 0:
		return "", "Can't find end tag corresponding to start tag " + open[0]
	case strings.ContainsAny(plain, "<>"):
		return "", "Unsupported start tag"
	}
	return html.UnescapeString(plain), ""
}
