// Package remote is a client of candela over HTTP for tests that run the program
// as it is built: it registers, is let in, calls tools and listens to the stream.
// It retries nothing, so that a test sees what a client sees.
package remote

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
)

// RefusalError is a tool's answer that is an error.
type RefusalError struct {
	Code      string `json:"code"`
	Message   string `json:"message"`
	Retryable bool   `json:"retryable"`
}

func (r *RefusalError) Error() string { return r.Code + ": " + r.Message }

// StatusError is an answer of HTTP that is not a good one.
type StatusError struct {
	Asked  string
	Status int
	Body   string
}

func (e *StatusError) Error() string { return fmt.Sprintf("%s: %d %s", e.Asked, e.Status, e.Body) }

// Message is anything that the program says.
type Message struct {
	ID     json.Number     `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Error  json.RawMessage `json:"error"`
	Result struct {
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
		IsError bool `json:"isError"`
	} `json:"result"`
}

// Outcome returns the result of a call, or its RefusalError.
func (m *Message) Outcome() (json.RawMessage, error) {
	switch {
	case m.Error != nil:
		return nil, fmt.Errorf("the call failed: %s", m.Error)
	case m.Result.IsError:
		r := &RefusalError{}
		if err := json.Unmarshal([]byte(m.Result.Content[0].Text), r); err != nil {
			return nil, err
		}
		return nil, r
	}
	return json.RawMessage(m.Result.Content[0].Text), nil
}

// Request returns a call of a tool as it is sent.
func Request(id int, name, arguments string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, name, arguments)
}

// Client is a client with a token of its own. Its fields do not change after the
// first call; it is safe for concurrent use.
type Client struct {
	Base  string // without a slash at the end
	Name  string // as it registers
	Owner *Owner // who lets it in; nil where everyone is
	HTTP  *http.Client

	token atomic.Value
}

// Token returns the token, "" before Enter.
func (c *Client) Token() string {
	text, _ := c.token.Load().(string)
	return text
}

// SetToken makes it a client that somebody else has let in.
func (c *Client) SetToken(token string) { c.token.Store(token) }

// do sends a request and returns the body of a good answer.
func (c *Client) do(ctx context.Context, method, path, kind, body string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.Base+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", kind)
	request.Header.Set("Accept", "application/json, text/event-stream")
	if token := c.Token(); token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := c.HTTP.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode >= http.StatusMultipleChoices {
		err = &StatusError{method + " " + path, response.StatusCode, string(answer)}
	}
	return answer, err
}

// Call calls a tool. After an error that is neither a RefusalError nor a StatusError
// nobody knows whether the tool has run.
func (c *Client) Call(ctx context.Context, name, arguments string) (json.RawMessage, error) {
	answer, err := c.do(ctx, http.MethodPost, "/mcp", "application/json", Request(1, name, arguments))
	if err != nil {
		return nil, err
	}
	var m Message
	if err := json.Unmarshal(answer, &m); err != nil {
		return nil, err
	}
	return m.Outcome()
}

// Event is a notification of the stream.
type Event struct {
	ID     string
	Params json.RawMessage
}

// Listen reads the stream until it ends and returns why. It resumes after the notification
// last, if any. heard is called for every line, including keep-alives; received for every
// notification.
func (c *Client) Listen(ctx context.Context, last string, heard func(), received func(Event)) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.Base+"/mcp", http.NoBody)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+c.Token())
	request.Header.Set("Accept", "text/event-stream")
	if last != "" {
		request.Header.Set("Last-Event-ID", last)
	}
	response, err := c.HTTP.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		answer, _ := io.ReadAll(response.Body)
		return &StatusError{"GET /mcp", response.StatusCode, string(answer)}
	}
	heard()
	return read(response.Body, heard, received)
}

// read reads server-sent events.
func read(body io.Reader, heard func(), received func(Event)) error {
	var e Event
	for lines := bufio.NewReader(body); ; {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return err
		}
		heard()
		if id, ok := bytes.CutPrefix(line, []byte("id: ")); ok {
			e.ID = string(bytes.TrimSpace(id))
		}
		var m Message
		if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok && json.Unmarshal(data, &m) == nil {
			e.Params = m.Params
		}
		if len(bytes.TrimSpace(line)) == 0 && e.Params != nil { // a frame ends with an empty line
			received(e)
			e.Params = nil
		}
	}
}
