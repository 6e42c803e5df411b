package demo

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"candela/lib/fault"
)

// client is an MCP client of a program in the same process. It sends one request at a time
// over the streams of --mcp.
type client struct {
	to      io.Writer
	answers <-chan wireMessage // closed when the program ends
	events  <-chan json.RawMessage
	last    int
	onCall  func(tool, arguments string) // called before each tool call; may be nil
}

// wireMessage is the part of a message that the client reads.
type wireMessage struct {
	ID     int             `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error"`
}

// Program runs candela on the streams of --mcp until ctx or the input ends.
type Program func(ctx context.Context, in io.Reader, out, log io.Writer) error

// withClient runs the program and a client of it. It returns when both have ended; the
// program stops when the client is done.
func withClient(ctx context.Context, run Program, do func(context.Context, *client) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	in, to := io.Pipe()
	from, out := io.Pipe()
	log := &lastLines{}
	var running sync.WaitGroup
	var stopped error
	running.Go(func() {
		stopped = run(ctx, in, out, log)
		_ = in.Close()
		_ = out.Close() // ends the reader
	})
	answers, events := make(chan wireMessage), make(chan json.RawMessage, 16)
	running.Go(func() { readMessages(ctx, from, answers, events) })
	err := do(ctx, &client{to: to, answers: answers, events: events})
	_ = to.Close() // ends the session
	cancel()
	_, _ = io.Copy(io.Discard, from) // so that no write blocks
	running.Wait()
	if err != nil {
		return errors.Join(err, stopped, log.problems())
	}
	return stopped
}

// readMessages forwards the program's messages until it ends or ctx does.
func readMessages(ctx context.Context, from io.Reader, answers chan<- wireMessage, events chan<- json.RawMessage) {
	defer close(answers)
	lines := bufio.NewReaderSize(from, 64<<10)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var m wireMessage
		if json.Unmarshal(line, &m) != nil {
			continue // not a JSON-RPC message
		}
		if m.Method != "" {
			select {
			case events <- m.Params:
			default: // nothing waits for more
			}
			continue
		}
		select {
		case answers <- m:
		case <-ctx.Done():
			return
		}
	}
}

func (c *client) notify(method string) error {
	_, err := fmt.Fprintf(c.to, `{"jsonrpc":"2.0","method":%q}`+"\n", method)
	return err
}

func (c *client) request(ctx context.Context, method, params string) (json.RawMessage, error) {
	c.last++
	if _, err := fmt.Fprintf(c.to, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", c.last, method, params); err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	select {
	case m, ok := <-c.answers:
		switch {
		case !ok:
			return nil, fmt.Errorf("%s: the program ended", method)
		case m.Error != nil:
			return nil, fmt.Errorf("%s: %s", method, m.Error.Message)
		case m.ID != c.last:
			return nil, fmt.Errorf("%s: the response has another ID", method)
		}
		return m.Result, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

type toolResult struct {
	Content []content `json:"content"`
	IsError bool      `json:"isError"`
}

type content struct {
	Type string `json:"type"`
	Text string `json:"text"`
	Data string `json:"data"` // in base64
}

// call calls a tool and decodes the text of its result into read, unless that is nil. A result
// with isError is an error.
func (c *client) call(ctx context.Context, name string, arguments map[string]any, read any) (r toolResult, err error) {
	given, err := json.Marshal(arguments)
	if err != nil {
		return r, err
	}
	if c.onCall != nil {
		c.onCall(name, string(given))
	}
	raw, err := c.request(ctx, "tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, name, given))
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return r, err
	}
	text := r.first("text").Text
	if r.IsError {
		return r, &fault.Error{Kind: fault.Conflict, Code: "tool_refused", Message: name + ": " + text}
	}
	if read == nil {
		return r, nil
	}
	if err := json.Unmarshal([]byte(text), read); err != nil {
		return r, fmt.Errorf("the result is not JSON: %w", err)
	}
	return r, nil
}

// first returns the first content of a type, empty for none.
func (r toolResult) first(kind string) content {
	for _, c := range r.Content {
		if c.Type == kind {
			return c
		}
	}
	return content{}
}

func (c *client) event(ctx context.Context, longest time.Duration, waiting func(time.Duration)) (json.RawMessage, error) {
	began := time.Now()
	deadline := time.After(longest)
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case params := <-c.events:
			return params, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-deadline:
			return nil, fmt.Errorf("no alert fired in %v", longest)
		case <-tick.C:
			if waiting != nil {
				waiting(time.Since(began))
			}
		}
	}
}

// lastLines keeps the last warnings and errors of a log, to report with a failure. It is safe
// for concurrent use.
type lastLines struct {
	mu    sync.Mutex
	lines []string
}

const keptLines = 20

// Write expects whole lines, as a logger writes them.
func (l *lastLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range bytes.Lines(p) {
		if !bytes.Contains(line, []byte("level=WARN")) && !bytes.Contains(line, []byte("level=ERROR")) {
			continue
		}
		if l.lines = append(l.lines, strings.TrimSpace(string(line))); len(l.lines) > keptLines {
			l.lines = l.lines[1:]
		}
	}
	return len(p), nil
}

// problems returns the kept lines as an error, nil for none.
func (l *lastLines) problems() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.lines) == 0 {
		return nil
	}
	return errors.New(strings.Join(l.lines, "\n"))
}
