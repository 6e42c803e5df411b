package telegram

import (
	"encoding/json"
	"net/http"
	"slices"
	"time"
	"unicode/utf8"
)

func (s *Server) send(w http.ResponseWriter, in arguments) {
	m, wrong := read(in)
	description, known := s.chat(in.Chat)
	switch {
	case wrong != "":
		refuse(w, 400, wrong)
		return
	case !known || description != "":
		refuseChat(w, description)
		return
	}
	s.change(func() {
		m.ID = int64(len(s.messages) + 1)
		s.messages = append(s.messages, m)
	})
	respond(w, map[string]any{"message_id": m.ID, "date": 1_700_000_000, "chat": map[string]any{"id": m.Chat}, "text": m.Text})
}

func (s *Server) edit(w http.ResponseWriter, in arguments) {
	m, wrong := read(in)
	s.change(func() {
		i := slices.IndexFunc(s.messages, func(old Message) bool { return old.Chat == m.Chat && old.ID == m.ID })
		switch {
		case wrong != "":
		case i < 0:
			wrong = "Bad Request: message to edit not found"
		case s.messages[i].Text == m.Text && slices.Equal(s.messages[i].Buttons, m.Buttons):
			wrong = "Bad Request: message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message"
		default:
			s.messages[i] = m
		}
	})
	if wrong != "" {
		refuse(w, 400, wrong)
		return
	}
	respond(w, map[string]any{"message_id": m.ID, "text": m.Text})
}

func (s *Server) answer(w http.ResponseWriter, in arguments) {
	if utf8.RuneCountInString(in.Text) > 200 {
		refuse(w, 400, "Bad Request: MESSAGE_TOO_LONG")
		return
	}
	again := false
	s.change(func() {
		_, again = s.answers[in.Query]
		s.answers[in.Query] = in.Text
	})
	if again {
		refuse(w, 400, "Bad Request: query is too old and response timeout expired or query ID is invalid")
		return
	}
	respond(w, true)
}

// getUpdates confirms what is below the offset and waits for the rest. A later call ends an
// earlier one.
func (s *Server) getUpdates(w http.ResponseWriter, r *http.Request, in arguments) {
	over := make(chan struct{})
	s.change(func() {
		s.updates = slices.DeleteFunc(s.updates, func(u update) bool { return u.id < in.Offset })
		if s.polling != nil {
			close(s.polling)
		}
		s.polling = over
	})
	defer s.change(func() {
		if s.polling == over {
			s.polling = nil
		}
	})
	timeout := time.After(time.Duration(in.Timeout) * time.Second)
	for {
		s.mu.Lock()
		found := make([]json.RawMessage, 0, in.Limit)
		for _, u := range s.updates {
			if len(found) < in.Limit {
				found = append(found, u.data)
			}
		}
		changed := s.changed
		s.mu.Unlock()
		if len(found) > 0 || in.Timeout == 0 {
			respond(w, found)
			return
		}
		select {
		case <-changed:
		case <-timeout:
			respond(w, found)
			return
		case <-over:
			refuse(w, 409, "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running")
			return
		case <-r.Context().Done():
			return
		}
	}
}

func respond(w http.ResponseWriter, result any) {
	write(w, 200, map[string]any{"ok": true, "result": result})
}

func refuse(w http.ResponseWriter, status int, description string) {
	(&Failure{Status: status, Description: description}).write(w)
}

func (f *Failure) write(w http.ResponseWriter) {
	if f.Raw != "" {
		w.WriteHeader(f.Status)
		_, _ = w.Write([]byte(f.Raw))
		return
	}
	body := map[string]any{"ok": false, "error_code": f.Status, "description": f.Description}
	if f.Parameters != nil {
		body["parameters"] = f.Parameters
	}
	write(w, f.Status, body)
}

func write(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}
