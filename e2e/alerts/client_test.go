package alerts

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// errGone means that the program ended before it answered.
var errGone = errors.New("the program is gone")

// refusal is an answer that is an error.
type refusal struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

func (r *refusal) Error() string { return r.Code + ": " + r.Message }

// client calls tools. It is safe for concurrent use.
type client interface {
	// call returns a tool's result. When it returns errGone the tool may have run.
	call(name, arguments string) (json.RawMessage, error)
	close()
}

// message is anything that the program says.
type message struct {
	ID     json.Number     `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Error  json.RawMessage `json:"error"`
	Result struct {
		Structured json.RawMessage `json:"structuredContent"`
		Content    []struct {
			Text string `json:"text"`
		} `json:"content"`
		IsError bool `json:"isError"`
	} `json:"result"`
}

func (m *message) outcome() (json.RawMessage, error) {
	switch {
	case m.Error != nil:
		return nil, fmt.Errorf("the call failed: %s", m.Error)
	case m.Result.IsError:
		r := &refusal{}
		if err := json.Unmarshal([]byte(m.Result.Content[0].Text), r); err != nil {
			return nil, err
		}
		return nil, r
	}
	return m.Result.Structured, nil
}

func request(id int, name, arguments string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, name, arguments)
}

// piped is a client on stdin and stdout.
type piped struct {
	in io.Writer

	mu    sync.Mutex
	last  int
	waits map[json.Number]chan message // nil when the program is gone
	ended chan struct{}
}

// connectPipes begins a conversation. pushed gets each notification.
func connectPipes(p *program, pushed func(json.RawMessage)) client {
	c := &piped{in: p.stdin, waits: map[json.Number]chan message{}, ended: make(chan struct{})}
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
			var m message
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
	answer := make(chan message, 1)
	c.waits[json.Number(strconv.Itoa(c.last))] = answer
	_, err := io.WriteString(c.in, request(c.last, name, arguments)+"\n")
	c.mu.Unlock()
	if err != nil {
		return nil, errGone
	}
	m, ok := <-answer
	if !ok {
		return nil, errGone
	}
	return m.outcome()
}

func (c *piped) close() { <-c.ended }

// remote is a client over HTTP with a token of its own.
type remote struct {
	base  string
	token string
	http  *http.Client
	ctx   context.Context
	leave context.CancelFunc
	group sync.WaitGroup
}

const redirect = "http://localhost:41999/callback"

// connectHTTP lets itself in and opens the stream. It returns nil when the first
// context ends before that is done; the client lives until the second does.
func connectHTTP(soon, ctx context.Context, base string, pushed func(json.RawMessage)) *remote {
	c := enter(soon, ctx, base)
	if c != nil {
		c.group.Go(func() { c.listen(c.ctx, pushed) })
	}
	return c
}

// enter is connectHTTP without the stream.
func enter(soon, ctx context.Context, base string) *remote {
	c := &remote{base: base, http: &http.Client{
		Transport:     &http.Transport{MaxIdleConnsPerHost: 16},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	c.ctx, c.leave = context.WithCancel(ctx)
	defer context.AfterFunc(soon, c.leave)()
	if err := c.enter(); err != nil {
		c.close()
		return nil
	}
	return c
}

// enter registers, is approved and takes a token.
func (c *remote) enter() error {
	var registered struct {
		ID     string `json:"client_id"`
		Secret string `json:"client_secret"`
	}
	body := `{"client_name":"harness","redirect_uris":["` + redirect + `"]}`
	for { // until it listens
		answer, err := c.do(http.MethodPost, "/register", "application/json", body)
		if err == nil {
			if err = json.Unmarshal(answer, &registered); err != nil {
				return err
			}
			break
		}
		select {
		case <-c.ctx.Done():
			return c.ctx.Err()
		case <-time.After(2 * time.Millisecond):
		}
	}
	const verifier = "0123456789abcdef0123456789abcdef0123456789abcdef"
	sum := sha256.Sum256([]byte(verifier))
	ask := url.Values{
		"client_id": {registered.ID}, "redirect_uri": {redirect}, "response_type": {"code"}, "state": {"s"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"},
	}
	request, err := http.NewRequestWithContext(c.ctx, http.MethodGet, c.base+"/authorize?"+ask.Encode(), http.NoBody)
	if err != nil {
		return err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return err
	}
	_ = response.Body.Close()
	to, err := response.Location()
	if err != nil {
		return err
	}
	answer, err := c.do(http.MethodPost, "/token", "application/x-www-form-urlencoded", url.Values{
		"grant_type": {"authorization_code"}, "code": {to.Query().Get("code")}, "code_verifier": {verifier},
		"client_id": {registered.ID}, "client_secret": {registered.Secret}, "redirect_uri": {redirect},
	}.Encode())
	if err != nil {
		return err
	}
	var got struct {
		Token string `json:"access_token"`
	}
	err = json.Unmarshal(answer, &got)
	c.token = got.Token
	return err
}

// do sends a request and returns the body of a good answer.
func (c *remote) do(method, path, kind, body string) ([]byte, error) {
	request, err := http.NewRequestWithContext(c.ctx, method, c.base+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", kind)
	request.Header.Set("Accept", "application/json, text/event-stream")
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode >= http.StatusMultipleChoices {
		err = fmt.Errorf("%s %s: %s %s", method, path, response.Status, answer)
	}
	return answer, err
}

// listen reads the stream until it ends.
func (c *remote) listen(ctx context.Context, pushed func(json.RawMessage)) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+"/mcp", http.NoBody)
	if err != nil {
		return
	}
	request.Header.Set("Authorization", "Bearer "+c.token)
	request.Header.Set("Accept", "text/event-stream")
	response, err := c.http.Do(request)
	if err != nil {
		return
	}
	defer func() { _ = response.Body.Close() }()
	for lines := bufio.NewReader(response.Body); ; {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var m message
		if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok && json.Unmarshal(data, &m) == nil {
			pushed(m.Params)
		}
	}
}

func (c *remote) call(name, arguments string) (json.RawMessage, error) {
	answer, err := c.do(http.MethodPost, "/mcp", "application/json", request(1, name, arguments))
	if err != nil {
		return nil, errors.Join(errGone, err)
	}
	var m message
	if err := json.Unmarshal(answer, &m); err != nil {
		return nil, err
	}
	return m.outcome()
}

func (c *remote) close() {
	c.leave()
	c.group.Wait()
	c.http.CloseIdleConnections()
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
