package alpaca

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"candela/internal/testkit/fake"
)

// updates returns the feed of trade_updates. The paper host sends JSON in binary
// frames. It answers pings and sends none: over connections without buffers, such
// as those of fake.Network, two sides that ping at one instant wait for each other.
func updates(seed uint64) *fake.Feed {
	const month = 30 * 24 * time.Hour
	return &fake.Feed{Step: time.Second, PingWait: 2 * month, MaxAge: month, Seed: seed, Binary: true}
}

// listener is one connection to /stream. See fake.Session.
type listener struct {
	server *Server
	wake   chan struct{} // has room for one
	// The desk's lock guards these.
	account   *account
	listening bool
	next      int // of the account's events
}

// Wake reports that an event waits.
func (l *listener) Wake() <-chan struct{} { return l.wake }

// serveUpdates serves /stream.
func (s *Server) serveUpdates(w http.ResponseWriter, r *http.Request) {
	l := &listener{server: s, wake: make(chan struct{}, 1)}
	defer l.leave()
	s.Updates.Serve(w, r, l)
}

func (l *listener) leave() {
	l.server.desk.mu.Lock()
	defer l.server.desk.mu.Unlock()
	if l.account != nil {
		delete(l.account.wake, l)
	}
}

// Receive obeys what the client says.
func (l *listener) Receive(message []byte) [][]byte {
	var in struct {
		Action string `json:"action"`
		Data   struct {
			KeyID     string   `json:"key_id"`
			SecretKey string   `json:"secret_key"`
			Streams   []string `json:"streams"`
		} `json:"data"`
	}
	if json.Unmarshal(message, &in) != nil || l.server.getFault() == Mute {
		return nil
	}
	d := l.server.desk
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case in.Action == "authenticate" && known(in.Data.KeyID, in.Data.SecretKey):
		l.account = d.accounts[in.Data.KeyID]
		l.account.wake[l] = struct{}{}
		return say("authorization", map[string]any{"status": "authorized", "action": in.Action})
	case in.Action == "authenticate" || l.account == nil:
		return say("authorization", map[string]any{"status": "unauthorized", "action": in.Action})
	case in.Action == "listen":
		d.advance() // earlier events are not sent
		l.listening, l.next = slices.Contains(in.Data.Streams, "trade_updates"), len(l.account.events)
		streams := []string{}
		if l.listening {
			streams = append(streams, "trade_updates")
		}
		return say("listening", map[string]any{"streams": streams})
	}
	return nil
}

func say(stream string, data any) [][]byte {
	message, err := json.Marshal(map[string]any{"stream": stream, "data": data})
	if err != nil {
		panic("fake alpaca: " + err.Error())
	}
	return [][]byte{message}
}

// Tick lets time pass and returns the events since the last one.
func (l *listener) Tick() [][]byte {
	d := l.server.desk
	d.mu.Lock()
	defer d.mu.Unlock()
	d.advance()
	if !l.listening {
		return nil
	}
	var out [][]byte
	for _, e := range l.account.events[l.next:] {
		if l.server.getFault() == Garbage {
			e.data = json.RawMessage(`{"event":"fill","order":null}`)
		}
		out = append(out, say("trade_updates", e.data)...)
	}
	l.next = len(l.account.events)
	return out
}

// serveEvents serves /v2/events/trades, the same updates as server-sent events,
// which the venue's own client reads. They can be asked from a time on.
func (s *Server) serveEvents(w http.ResponseWriter, r *http.Request, key string) {
	since := s.config.Now()
	if text := r.URL.Query().Get("since"); text != "" {
		at, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		since = at
	}
	w.Header().Set("Content-Type", "text/event-stream")
	flush := http.NewResponseController(w)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for next := 0; flush.Flush() == nil; {
		s.desk.mu.Lock()
		s.desk.advance() //nolint:contextcheck // prices are made up at once
		events := s.desk.accounts[key].events
		s.desk.mu.Unlock()
		for ; next < len(events); next++ {
			if !events[next].at.Before(since) {
				fmt.Fprintf(w, "data: %s\n\n", events[next].data)
			}
		}
		select {
		case <-r.Context().Done():
			return
		case <-tick.C:
		}
	}
}
