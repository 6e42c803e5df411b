package httpd_test

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"candela/internal/kit/principal"
	"candela/internal/serve/httpd/httpdtest"
	"candela/internal/serve/mcp"
	"candela/internal/serve/mcp/mcptest"
)

// slowHandout is a toolbox whose tool waits longer than WriteTimeout, while its
// caller's token ends, and then hands something out.
type slowHandout struct {
	mcptest.Toolbox
	tokens  *httpdtest.Revocable
	settled chan bool
}

func (h slowHandout) Call(context.Context, principal.Caller, string, json.RawMessage) (mcp.Result, error) {
	time.Sleep(90 * time.Second)
	h.tokens.Revoke("good")
	return mcp.Result{Content: []mcp.Content{{Text: []byte("x")}}, OnSent: func(sent bool) { h.settled <- sent }}, nil
}

func TestMessage_LongCallWhoseTokenEndedHearsOfIt(t *testing.T) {
	t.Parallel()
	tokens := httpdtest.NewRevocable(httpdtest.One())
	var tools slowHandout
	handouts := func(*testing.T) mcp.ToolSet {
		tools = slowHandout{tokens: tokens, settled: make(chan bool, 1)}
		return tools
	}
	servingOver(t, handouts, tokens, nil, func(s *scene) {
		conn := s.p.dial(s.t)
		sendPost(s.t, conn, waitCall)
		if got := readHead(s.t, conn).status; got != http.StatusUnauthorized {
			s.t.Errorf("status %d", got)
		}
		if <-tools.settled {
			s.t.Error("what was not sent is settled as sent")
		}
		_ = conn.Close()
	})
}
