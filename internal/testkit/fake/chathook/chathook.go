// Package chathook is a fake of the incoming webhooks of Discord and Slack. It checks a
// message by the limits that they document, and answers as they do.
package chathook

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// Hook is a webhook. It is safe for concurrent use.
type Hook struct {
	accept func(w http.ResponseWriter, body map[string]json.RawMessage) bool

	mu       sync.Mutex
	accepted []map[string]json.RawMessage
	fail     http.HandlerFunc
}

// Accepted returns the messages that were accepted.
func (h *Hook) Accepted() []map[string]json.RawMessage {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]map[string]json.RawMessage(nil), h.accepted...)
}

// Fail answers the next requests; nil for none.
func (h *Hook) Fail(f http.HandlerFunc) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.fail = f
}

// ServeHTTP accepts or refuses a message.
func (h *Hook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.fail != nil {
		h.fail(w, r)
		return
	}
	var body map[string]json.RawMessage
	if r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" || json.NewDecoder(r.Body).Decode(&body) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if h.accept(w, body) {
		h.accepted = append(h.accepted, body)
	}
}

// Discord returns a webhook of Discord: content of 1 to 2,000 characters, mentions only where
// allowed_mentions lets them, and 204 for an accepted message.
func Discord() *Hook {
	return &Hook{accept: func(w http.ResponseWriter, body map[string]json.RawMessage) bool {
		var content string
		var mentions struct {
			Parse *[]string `json:"parse"`
		}
		_ = json.Unmarshal(body["content"], &content)
		_ = json.Unmarshal(body["allowed_mentions"], &mentions)
		wrong := ""
		switch n := utf8.RuneCountInString(content); {
		case n == 0:
			wrong = "Cannot send an empty message"
		case n > 2000:
			wrong = "Must be 2000 or fewer in length."
		case mentions.Parse == nil || len(*mentions.Parse) > 0:
			wrong = "this message may mention everyone"
		}
		if wrong != "" {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = fmt.Fprintf(w, `{"message": %q, "code": 50035}`, wrong)
			return false
		}
		w.WriteHeader(http.StatusNoContent)
		return true
	}}
}

// Throttled answers as Discord does when a webhook is used too often.
func Throttled(seconds float64) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Retry-After", strconv.Itoa(int(seconds)))
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = fmt.Fprintf(w, `{"message":"You are being rate limited.","retry_after":%v,"global":false}`, seconds)
	}
}

// Slack returns a webhook of Slack: text of at most 40,000 characters in which & < > are
// escaped or part of a link, and 200 with "ok" for an accepted message.
func Slack() *Hook {
	link := regexp.MustCompile(`<https?://[^<>|]+\|[^<>|]+>`)
	entity := regexp.MustCompile(`&(amp|lt|gt);`)
	return &Hook{accept: func(w http.ResponseWriter, body map[string]json.RawMessage) bool {
		var text string
		_ = json.Unmarshal(body["text"], &text)
		bare := entity.ReplaceAllString(link.ReplaceAllString(text, ""), "")
		switch {
		case text == "":
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte("no_text"))
			return false
		case strings.ContainsAny(bare, "<>&") || utf8.RuneCountInString(text) > 40_000:
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte("invalid_payload"))
			return false
		}
		_, _ = w.Write([]byte("ok"))
		return true
	}}
}
