package orders

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"

	mcphttp "candela/e2e/remote"
)

// unasked is what a client heard that does not know order events, word for word. The version before order events wrote it,
// commit 9788ae80: go test ./e2e/orders -run Unasked -update -candela PROGRAM
const unasked = "testdata/unasked.txt"

// witness is a client that keeps what it hears.
type witness struct {
	*agent
	mu     sync.Mutex
	lines  []string // that the program said over stdio
	pushed []string
	script strings.Builder
}

// TestEvents_UnaskedStayAsTheyWere lets orders be filled while a client that never names events sets alerts, subscribes and
// polls. It hears what it heard before there were order events, byte for byte but for numbers, times and the IDs of alerts.
func TestEvents_UnaskedStayAsTheyWere(t *testing.T) {
	t.Parallel()
	for _, over := range []string{"stdio", "http"} {
		t.Run(over, func(t *testing.T) {
			t.Parallel()
			w := &witness{agent: newClient(t, heldOnPaper(t, 1), over)}
			w.said = w.keeps
			w.start()
			w.plays()
			got := w.script.String()
			if *update {
				if err := os.WriteFile(unasked, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(unasked)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("the client heard\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// plays is what the client does.
func (w *witness) plays() {
	w.Helper()
	w.trades()
	w.asks("get_notifications", `{}`)
	w.asks("list_subscriptions", `{}`)
	w.asks("subscribe_notifications", `{}`)
	w.follows()
	w.asks("list_subscriptions", `{}`)
	for round, price := range []string{"51500", "52000"} {
		w.enters(`,"stop_loss":48000`)
		w.asks("get_notifications", `{}`)
		if r := w.call("set_alert", fmt.Sprintf(`{"symbol":"BTCUSDT","condition":{"price_above":51000},"note":"round %d"}`, round)); r.isError {
			w.Fatal(r.text)
		}
		w.at(price)
		w.hears(round + 1)
		w.asks("get_notifications", `{"wait_seconds":50}`)
		w.closes("47500")
		w.asks("get_notifications", `{"limit":10}`)
		w.asks("subscribe_notifications", `{"symbols":["BTCUSDT"],"alert_types":["price_above"]}`)
		w.asks("list_subscriptions", `{}`)
	}
	w.asks("get_notifications", `{"wait_seconds":"x"}`)
	w.asks("unsubscribe_notifications", `{}`)
	w.asks("unsubscribe_notifications", `{}`)
}

// keeps keeps a line of stdio.
func (w *witness) keeps(line []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if text := string(bytes.TrimSpace(line)); strings.Contains(text, `"method":`) {
		w.pushed = append(w.pushed, text)
	} else {
		w.lines = append(w.lines, text)
	}
}

// asks calls a tool and writes the whole answer down.
func (w *witness) asks(name, arguments string) {
	w.Helper()
	var answer string
	if w.client == nil {
		w.call(name, arguments)
		w.mu.Lock()
		answer = w.lines[len(w.lines)-1]
		w.mu.Unlock()
	} else {
		answer = w.posts(mcphttp.Request(1, name, arguments))
	}
	w.notes(name+" "+arguments, answer)
}

// notes writes a message down without what differs each time.
func (w *witness) notes(title, message string) {
	for _, differs := range []struct{ pattern, name string }{
		{`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`, "ID"},
		{`20\d\d-\d\d-\d\dT[0-9:.]+Z`, "TIME"},
		{`"id":\d+`, `"id":N`},
	} {
		message = regexp.MustCompile(differs.pattern).ReplaceAllString(message, differs.name)
	}
	fmt.Fprintf(&w.script, "%s\n  %s\n", title, strings.TrimSpace(message))
}

// posts sends a request over HTTP and returns the answer.
func (w *witness) posts(body string) string {
	w.Helper()
	request, err := http.NewRequestWithContext(w.Context(), http.MethodPost, w.client.Base+"/mcp", strings.NewReader(body))
	if err != nil {
		w.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	request.Header.Set("Authorization", "Bearer "+w.client.Token())
	response, err := w.client.HTTP.Do(request)
	if err != nil {
		w.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		w.Fatal(err)
	}
	return string(answer)
}

// follows reads the stream over HTTP.
func (w *witness) follows() {
	if w.client == nil {
		return
	}
	ctx, cancel := context.WithCancel(w.Context())
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, w.client.Base+"/mcp", http.NoBody)
	if err != nil {
		w.Fatal(err)
	}
	request.Header.Set("Accept", "text/event-stream")
	request.Header.Set("Authorization", "Bearer "+w.client.Token())
	response, err := w.client.HTTP.Do(request) //nolint:bodyclose // at the end of the test
	if err != nil {
		w.Fatal(err)
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		for lines := bufio.NewScanner(response.Body); lines.Scan(); {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok && json.Valid([]byte(data)) {
				w.mu.Lock()
				w.pushed = append(w.pushed, data)
				w.mu.Unlock()
			}
		}
	}()
	w.Cleanup(func() { cancel(); _ = response.Body.Close(); <-over })
}

// hears waits until so many messages were pushed, and writes the last down. There are no others.
func (w *witness) hears(messages int) {
	w.Helper()
	var pushed []string
	w.await("a push", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		pushed = w.pushed
		return len(pushed) >= messages
	})
	if len(pushed) > messages {
		w.Errorf("pushed %q", pushed)
	}
	w.notes("pushed", pushed[len(pushed)-1])
}
