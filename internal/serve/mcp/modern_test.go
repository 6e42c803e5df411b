package mcp_test

import (
	"context"
	"testing"
	"testing/synctest"

	"candela/internal/kit/principal"
	"candela/internal/serve/mcp"
	"candela/internal/serve/mcp/mcptest"
	"candela/internal/serve/rpc"
)

// ask sends a body with a header to a server and returns the answer and its refusal.
func ask(tb testing.TB, server *mcp.Server, header mcp.Header, body string) (string, *rpc.Error) {
	tb.Helper()
	read, failure := rpc.Read([]byte(body))
	if failure != nil {
		return string(rpc.AppendError(nil, nil, failure)), nil
	}
	from := mcp.Origin{Caller: principal.Caller{Subject: "owner", Key: "k", Scope: principal.Trade}, Header: header}
	job := server.Receive(tb.Context(), from, read)
	if job.Listens() {
		if sub := job.Subscribe(); sub != nil {
			sub.Close()
			return string(sub.Acknowledgement()), nil
		}
	}
	return string(job.Append(nil)), job.Refusal()
}

func TestModernTranscripts(t *testing.T) {
	server := mcptest.ModernServer(t, mcptest.Toolbox{}, &mcptest.Shelf{})
	mcptest.Transcripts(t, "testdata/modern", func(t *testing.T, body []byte) []byte {
		t.Helper()
		answer, _ := ask(t, server, nil, string(body))
		return []byte(answer)
	})
}

// waiting is a shelf whose reads and watches last until they are cancelled.
type waiting struct{ mcptest.Shelf }

func (*waiting) Read(ctx context.Context, _ principal.Caller, _ string) ([]byte, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (*waiting) Watch(ctx context.Context, _ principal.Caller, _ string) (mcp.Watch, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestModern_CancelledRequestsAreNotAnswered(t *testing.T) {
	t.Parallel()
	for method, members := range map[string]string{
		"tools/call": `"name":"wait"`, "resources/read": `"uri":"test://note"`, "subscriptions/listen": `"notifications":{"resourceSubscriptions":["test://note"]}`,
	} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				server, answered := mcptest.ModernServer(t, mcptest.Toolbox{}, &waiting{}), make(chan string, 1)
				go func() {
					answer, _ := ask(t, server, nil, mcptest.Modern("1", method, members))
					answered <- answer
				}()
				synctest.Wait()
				_, _ = ask(t, server, nil, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
				if got := <-answered; got != "" {
					t.Errorf("answered %s", got)
				}
			})
		})
	}
}
