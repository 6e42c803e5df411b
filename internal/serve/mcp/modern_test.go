package mcp_test

import (
	"testing"

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
