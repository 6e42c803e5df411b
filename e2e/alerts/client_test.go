package alerts

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"candela/e2e/remote"
)

// errGone means that the program ended before it answered.
var errGone = errors.New("the program is gone")

// client calls tools. It is safe for concurrent use.
type client interface {
	// call returns a tool's result. When it returns errGone the tool may have run.
	call(name, arguments string) (json.RawMessage, error)
	close()
}

// piped is a client on stdin and stdout.
type piped struct {
	in io.Writer

	mu    sync.Mutex
	last  int
	waits map[json.Number]chan remote.Message // nil when the program is gone
	ended chan struct{}
}

// connectPipes begins a conversation. pushed gets each notification.
func connectPipes(p *program, pushed func(json.RawMessage)) client {
	c := &piped{in: p.stdin, waits: map[json.Number]chan remote.Message{}, ended: make(chan struct{})}
	_, _ = io.WriteString(c.in, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"harness","version":"1"}}}`+"\n"+
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	go func() {
		defer close(c.ended)
		defer c.hangUp()
		for lines := bufio.NewReaderSize(p.stdout, 1<<20); ; {
			line, err := lines.ReadBytes('\n')
			if err != nil { // also in the middle of a line: that one was not said
				return
			}
			var m remote.Message
			if json.Unmarshal(line, &m) != nil {
				return
			}
			if m.Method != "" {
				pushed(m.Params)
				continue
			}
			c.mu.Lock()
			if waits := c.waits[m.ID]; waits != nil {
				waits <- m
				delete(c.waits, m.ID)
			}
			c.mu.Unlock()
		}
	}()
	return c
}

func (c *piped) hangUp() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, waits := range c.waits {
		close(waits)
	}
	c.waits = nil
}

func (c *piped) call(name, arguments string) (json.RawMessage, error) {
	c.mu.Lock()
	if c.waits == nil {
		c.mu.Unlock()
		return nil, errGone
	}
	c.last++
	answer := make(chan remote.Message, 1)
	c.waits[json.Number(strconv.Itoa(c.last))] = answer
	_, err := io.WriteString(c.in, remote.Request(c.last, name, arguments)+"\n")
	c.mu.Unlock()
	if err != nil {
		return nil, errGone
	}
	m, ok := <-answer
	if !ok {
		return nil, errGone
	}
	return m.Outcome()
}

func (c *piped) close() { <-c.ended }

// visitor is a client over HTTP with a token of its own, for as long as ctx.
type visitor struct {
	remote.Client
	ctx   context.Context
	leave context.CancelFunc
	group sync.WaitGroup
}

// connectHTTP lets itself in and opens the stream. It returns nil when the first
// context ends before that is done; the client lives until the second does.
func connectHTTP(soon, ctx context.Context, base string, pushed func(json.RawMessage)) *visitor {
	c := enter(soon, ctx, base)
	if c != nil {
		c.group.Go(func() { c.listen(c.ctx, pushed) })
	}
	return c
}

// enter is connectHTTP without the stream.
func enter(soon, ctx context.Context, base string) *visitor {
	c := &visitor{Client: remote.Client{Base: base, Name: "harness", HTTP: remote.Plain(&http.Transport{MaxIdleConnsPerHost: 16})}}
	c.ctx, c.leave = context.WithCancel(ctx)
	defer context.AfterFunc(soon, c.leave)()
	for { // until it listens
		if c.Enter(c.ctx) == nil { //nolint:contextcheck // it ends when either context does
			return c
		}
		if !pause(c.ctx, 2*time.Millisecond) { //nolint:contextcheck // as above
			c.close()
			return nil
		}
	}
}

// listen reads the stream until it ends.
func (c *visitor) listen(ctx context.Context, pushed func(json.RawMessage)) {
	_ = c.Listen(ctx, "", func() {}, func(e remote.Event) { pushed(e.Params) }) // it ends with the program
}

func (c *visitor) call(name, arguments string) (json.RawMessage, error) {
	answer, err := c.Call(c.ctx, name, arguments)
	if _, refused := errors.AsType[*remote.RefusalError](err); err != nil && !refused {
		return nil, errors.Join(errGone, err)
	}
	return answer, err
}

func (c *visitor) close() {
	c.leave()
	c.group.Wait()
	c.HTTP.CloseIdleConnections()
}

// must is a call that may not fail.
func must(t *testing.T, c client, name, arguments string) json.RawMessage {
	t.Helper()
	result, err := c.call(name, arguments)
	if err != nil {
		t.Fatalf("%s %s: %v", name, arguments, err)
	}
	return result
}
