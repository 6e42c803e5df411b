package mcp

import (
	"encoding/json"
	"strings"
	"testing"

	"candela/internal/serve/rpc"
)

func TestUrgent_IsACallOfAnUrgentToolAlone(t *testing.T) {
	t.Parallel()
	s := &Server{urgent: []string{"cancel_order"}}
	for text, want := range map[string]bool{
		`{"name":"cancel_order","arguments":{"order_id":"o-1"}}`:                              true,
		`{"arguments":{},"name":"cancel_order"}`:                                              true,
		`{"name":"place_order","arguments":{"name":"cancel_order"}}`:                          false,
		`{"name":"cancel_order","arguments":{"x":"` + strings.Repeat("x", mostUrgent) + `"}}`: false,
		`{"name":7}`:         false,
		`{"arguments":null}`: false,
	} {
		if got := s.Urgent(rpc.Message{Method: "tools/call", Params: json.RawMessage(text)}); got != want {
			t.Errorf("%.80s: %v", text, got)
		}
	}
	if s.Urgent(rpc.Message{Method: "tools/call"}) {
		t.Error("a call without params is urgent")
	}
	if s.Urgent(rpc.Message{Method: "prompts/get", Params: json.RawMessage(`{"name":"cancel_order"}`)}) {
		t.Error("another method is urgent")
	}
}
