package task_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/kit/principal"
	"candela/internal/serve/mcp"
	"candela/internal/serve/rpc"
	"candela/internal/serve/task"
)

// tools are one that ends at once and one that ends when it is let go.
type tools struct{ release chan struct{} }

func (tools) Tools() []mcp.Tool {
	return []mcp.Tool{{Name: "quick", InputSchema: json.RawMessage(`{}`)}, {Name: "slow", Long: true, InputSchema: json.RawMessage(`{}`)}}
}

func (b tools) Call(ctx context.Context, _ principal.Caller, name string, arguments json.RawMessage) (mcp.Result, error) {
	said := string(arguments)
	if name == "slow" {
		if note := mcp.Progress(ctx); note != nil {
			note(1, 2, "1 of 2")
		}
		select {
		case <-b.release:
		case <-ctx.Done():
			return mcp.Result{IsError: true, Content: []mcp.Content{{Text: []byte(context.Cause(ctx).Error())}}}, nil
		}
	}
	switch {
	case strings.Contains(said, "refused"):
		return mcp.Result{}, &rpc.Error{Code: -32602, Message: "refused"}
	case strings.Contains(said, "broken"):
		return mcp.Result{}, errors.New("secret detail")
	}
	return mcp.Result{IsError: strings.Contains(said, "fails"), Content: []mcp.Content{{Text: []byte(said)}, {Image: []byte{1, 250}, MIME: "image/png"}}}, nil
}

// bench is a server whose slow calls become tasks at once.
type bench struct {
	server *mcp.Server
	tasks  *task.Tasks
	tools
}

func serve(t *testing.T, cfg task.Config) *bench {
	t.Helper()
	cfg.Wait = max(cfg.Wait, time.Nanosecond)
	b := &bench{tasks: task.New(cfg), tools: tools{make(chan struct{})}}
	t.Cleanup(b.tasks.Close)
	var err error
	b.server, err = mcp.NewServer(b.tools, mcp.Config{Name: "candela", Version: "test", Modern: true, Tasks: b.tasks, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

const (
	declared = `{"extensions":{"io.modelcontextprotocol/tasks":{}}}`
	silent   = `{}`
)

func request(capabilities, method, members string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":%q,"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":%s},%s}}`, method, capabilities, members)
}

func caller(owner principal.Owner, key string) principal.Caller {
	return principal.Caller{Subject: owner, Key: key, Scope: principal.Trade}
}

// ask sends a request and returns the answer.
func (b *bench) ask(t *testing.T, by principal.Caller, body string) string {
	t.Helper()
	read, failure := rpc.Read([]byte(body))
	if failure != nil {
		t.Fatal(failure)
	}
	return string(b.server.Receive(t.Context(), mcp.Origin{Caller: by}, read).Append(nil))
}

func slow(arguments string) string { return `"name":"slow","arguments":` + arguments }

// begin starts a call that becomes a task, and returns its id.
func (b *bench) begin(t *testing.T, by principal.Caller, arguments string) string {
	t.Helper()
	answer := b.ask(t, by, request(declared, "tools/call", slow(arguments)))
	var read struct {
		Result struct{ ResultType, TaskID, Status string }
	}
	if err := json.Unmarshal([]byte(answer), &read); err != nil || read.Result.ResultType != "task" || read.Result.Status != "working" {
		t.Fatalf("%v: %s", err, answer)
	}
	return read.Result.TaskID
}

// get asks for a task once it has ended.
func (b *bench) get(t *testing.T, by principal.Caller, id string) string {
	t.Helper()
	for range 6000 {
		if answer := b.ask(t, by, request(declared, "tasks/get", `"taskId":"`+id+`"`)); !strings.Contains(answer, `"status":"working"`) {
			return answer
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("the task works for a minute")
	return ""
}

func wantIn(t *testing.T, answer string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(answer, part) {
			t.Errorf("no %s in %s", part, answer)
		}
	}
}

func TestTask_HasTheBytesOfTheCall(t *testing.T) {
	t.Parallel()
	b, ann := serve(t, task.Config{}), caller("ann", "a")
	said, failing := b.begin(t, ann, `{"said":1}`), b.begin(t, ann, `{"fails":true}`)
	working := ""
	for range 6000 {
		if working = b.ask(t, ann, request(declared, "tasks/get", `"taskId":"`+said+`"`)); strings.Contains(working, "statusMessage") {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	wantIn(t, working, `"resultType":"complete"`, `"status":"working","statusMessage":"1 of 2"`, `"ttlMs":3600000,"pollIntervalMs":2000}`)
	close(b.release)
	for id, arguments := range map[string]string{said: `{"said":1}`, failing: `{"fails":true}`} {
		direct := b.ask(t, ann, request(silent, "tools/call", slow(arguments)))
		_, result, _ := strings.Cut(direct, `"result":`)
		wantIn(t, b.get(t, ann, id), `"status":"completed"`, `,"result":`+strings.TrimSuffix(result, "}"))
	}
}

func TestTask_FailsOnlyByTheProtocol(t *testing.T) {
	t.Parallel()
	b, ann := serve(t, task.Config{}), caller("ann", "a")
	refused, broken := b.begin(t, ann, `{"refused":1}`), b.begin(t, ann, `{"broken":1}`)
	close(b.release)
	wantIn(t, b.get(t, ann, refused), `"status":"failed"`, `"error":{"code":-32602,"message":"refused"}}}`)
	answer := b.get(t, ann, broken)
	wantIn(t, answer, `"status":"failed"`, `"error":{"code":-32603,"message":"internal error"}}}`)
	if strings.Contains(answer, "secret") {
		t.Error(answer)
	}
}

func TestTask_OnlyForThoseWhoDeclareIt(t *testing.T) {
	t.Parallel()
	b, ann := serve(t, task.Config{}), caller("ann", "a")
	id := b.begin(t, ann, `{}`)
	for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
		for _, capabilities := range []string{silent, `{"extensions":{}}`, `{"extensions":{"io.modelcontextprotocol/tasks":true}}`, `{"tasks":{}}`} {
			wantIn(t, b.ask(t, ann, request(capabilities, method, `"taskId":"`+id+`"`)), `"code":-32021`, `"requiredCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}`)
		}
	}
	close(b.release)
	wantIn(t, b.get(t, ann, id), `"status":"completed"`) // nothing has cancelled it
	wantIn(t, b.ask(t, ann, request(silent, "tools/call", slow(`{}`))), `"resultType":"complete"`)
	wantIn(t, b.ask(t, ann, request(declared, "tools/call", `"name":"quick","arguments":{}`)), `"resultType":"complete"`)
	wantIn(t, b.ask(t, ann, request(silent, "server/discover", `"x":1`)), `"extensions":{"io.modelcontextprotocol/tasks":{}}`)
}

// A client cannot distinguish a task of another token from one that does not exist.
func TestTask_BelongsToItsToken(t *testing.T) {
	t.Parallel()
	b, ann := serve(t, task.Config{}), caller("ann", "a")
	id := b.begin(t, ann, `{}`)
	for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
		unknown := b.ask(t, ann, request(declared, method, `"taskId":"run-AAAAAAAAAAAAAAAA"`))
		wantIn(t, unknown, `"code":-32602`)
		for name, body := range map[string]string{
			"the owner's other token": b.ask(t, caller("ann", "b"), request(declared, method, `"taskId":"`+id+`"`)),
			"another owner":           b.ask(t, caller("bob", "a"), request(declared, method, `"taskId":"`+id+`"`)),
			"no id":                   b.ask(t, ann, request(declared, method, `"taskId":""`)),
			"a number":                b.ask(t, ann, request(declared, method, `"taskId":5`)),
			"a long id":               b.ask(t, ann, request(declared, method, `"taskId":"`+strings.Repeat("x", 5000)+`"`)),
			"a subject of a replica":  b.ask(t, ann, request(declared, method, `"taskId":"run-*.>-x"`)),
			"a path":                  b.ask(t, ann, request(declared, method, `"taskId":"../../`+id+`"`)),
		} {
			if body != unknown {
				t.Errorf("%s, %s: %s", method, name, body)
			}
		}
	}
	close(b.release)
	wantIn(t, b.get(t, ann, id), `"status":"completed"`)
}

func TestTask_CancelsTheCall(t *testing.T) {
	t.Parallel()
	b, ann := serve(t, task.Config{}), caller("ann", "a")
	id := b.begin(t, ann, `{}`)
	update := b.ask(t, ann, request(declared, "tasks/update", `"taskId":"`+id+`","inputResponses":{"none":{"action":"accept"}}`))
	for range 2 {
		if got := b.ask(t, ann, request(declared, "tasks/cancel", `"taskId":"`+id+`"`)); got != update || !strings.Contains(got, `"resultType":"complete"`) || strings.Contains(got, "status") {
			t.Errorf("cancelled with %s, updated with %s", got, update)
		}
	}
	if got := b.get(t, ann, id); !strings.Contains(got, `"status":"cancelled"`) || strings.Contains(got, `"result":{"content"`) {
		t.Error(got)
	}
	ended := b.begin(t, ann, `{}`)
	close(b.release)
	wantIn(t, b.get(t, ann, ended), `"status":"completed"`)
	b.ask(t, ann, request(declared, "tasks/cancel", `"taskId":"`+ended+`"`))
	wantIn(t, b.get(t, ann, ended), `"status":"completed"`)
}

// Two calls of an owner go on, and eight of all owners. Others are waited for, as without tasks.
func TestTask_FewGoOn(t *testing.T) {
	t.Parallel()
	b := serve(t, task.Config{})
	waits := func(by principal.Caller) <-chan string {
		answered := make(chan string, 1)
		go func() { answered <- b.ask(t, by, request(declared, "tools/call", slow(`{}`))) }()
		return answered
	}
	for i := range 4 {
		owner := principal.Owner(fmt.Sprint("owner", i))
		b.begin(t, caller(owner, "a"), `{}`)
		b.begin(t, caller(owner, "b"), `{}`)
	}
	third, ninth := waits(caller("owner0", "c")), waits(caller("owner9", "a"))
	select {
	case got := <-third:
		t.Errorf("the third of an owner is answered with %s", got)
	case got := <-ninth:
		t.Errorf("the ninth is answered with %s", got)
	case <-time.After(50 * time.Millisecond): // they wait, or would answer soon
	}
	close(b.release)
	wantIn(t, <-third, `"resultType":"complete"`)
	wantIn(t, <-ninth, `"resultType":"complete"`)
}

func TestTask_EndsWithTheServer(t *testing.T) {
	t.Parallel()
	b, ann := serve(t, task.Config{}), caller("ann", "a")
	id := b.begin(t, ann, `{}`)
	b.tasks.Close()
	wantIn(t, b.get(t, ann, id), `"status":"completed"`, `"isError":true`)
	next := serve(t, task.Config{})
	wantIn(t, next.ask(t, ann, request(declared, "tasks/get", `"taskId":"`+id+`"`)), `"code":-32602`)
}

func TestTask_BecomesOneAfterTwoSeconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, ann, began := serve(t, task.Config{Wait: 2 * time.Second}), caller("ann", "a"), time.Now()
		time.AfterFunc(time.Second, func() { b.release <- struct{}{} })
		wantIn(t, b.ask(t, ann, request(declared, "tools/call", slow(`{}`))), `"resultType":"complete"`)
		if took := time.Since(began); took != time.Second {
			t.Errorf("the call took %s", took)
		}
		id := b.begin(t, ann, `{}`)
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("the task was made after %s", took-time.Second)
		}
		close(b.release)
		synctest.Wait()
		wantIn(t, b.get(t, ann, id), `"status":"completed"`)
	})
}
