package mcp_test

import (
	"testing"

	"candela/internal/serve/mcp/mcptest"
)

// TestStats_CountByNamesThatAreKnown sends every outcome, and names that a client made
// up: those are counted and do not become names.
func TestStats_CountByNamesThatAreKnown(t *testing.T) {
	t.Parallel()
	server := mcptest.Server(t, mcptest.Toolbox{})
	names := len(server.Stats().Tools)
	call := func(name string) {
		exchange(t, server, "k", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+name+`"}}`)
	}
	for _, name := range []string{"echo", "echo", "fail", "broken", "made up"} {
		call(name)
	}
	exchange(t, server, "k", `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	exchange(t, server, "k", `{"jsonrpc":"2.0","id":1,"method":"made/up"}`)
	exchange(t, server, "k", `{"jsonrpc":"2.0","method":"notifications/made_up"}`)
	s := server.Stats()
	for what, got := range map[string][2]uint64{
		"echo is well":      {s.Tools["echo"].Outcomes["ok"], 2},
		"fail is ours":      {s.Tools["fail"].Outcomes["internal"], 1},
		"calls that went":   {s.Methods["tools/call"].Outcomes["ok"], 2},
		"calls that failed": {s.Methods["tools/call"].Outcomes["internal"], 1},
		"calls of nothing":  {s.Methods["tools/call"].Outcomes["rejected"], 2},
		"pings":             {s.Methods["ping"].Outcomes["ok"], 1},
		"unknown, refused":  {s.Methods["other"].Outcomes["rejected"], 1},
		"unknown, ignored":  {s.Methods["other"].Outcomes["ok"], 1},
	} {
		if got[0] != got[1] {
			t.Errorf("%s: %d, want %d", what, got[0], got[1])
		}
	}
	took := s.Tools["echo"].Took
	if took.Count() != 2 || len(s.Tools) != names || len(s.Methods) != 5 {
		t.Errorf("%d timed, %d tools, %d methods", took.Count(), len(s.Tools), len(s.Methods))
	}
}
