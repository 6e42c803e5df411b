package tool_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"candela/internal/serve/mcp"
	"candela/internal/serve/tool"
	"candela/internal/serve/tool/tooltest"
)

// longSweep takes minutes.
const longSweep = `{"symbol":"BTCUSDT","interval":"1h","bars":15000,"oos_pct":0,"long":{"enter":{"value":{"indicator":{"name":"rsi","length":"$len"},"op":"<","value":"$low"}},"max_bars":5},` +
	`"sweep":{"len":[2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21],"low":[20,21,22,23,24,25,26,27,28,29,30,31,32,33,34,35,36,37,38,39,40,41,42,43,44,45,46,47,48,49,50,51,52,53,54,55,56,57,58,59,60,61,62,63,64,65]}}`

// TestResearch_LetsOthersIn holds that more sweeps than there are slots neither keep charts from
// being drawn nor a short back-test of the same owner from ending, that each reports progress,
// and that a cancellation ends them.
func TestResearch_LetsOthersIn(t *testing.T) {
	t.Parallel()
	r := tooltest.Extended(t, nil, tool.ResearchSet)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	const sweeps = 10
	var running sync.WaitGroup
	answers := make(chan string, sweeps)
	begun := make(chan int, 10*sweeps)
	for i := range sweeps {
		running.Go(func() {
			watched := mcp.WithProgress(ctx, func(done, total int, _ string) {
				if total != 920 || done > total {
					t.Errorf("%d of %d", done, total)
				}
				select {
				case begun <- i:
				default:
				}
			})
			result, err := r.Call(watched, caller(), "run_backtest", json.RawMessage(longSweep))
			if err != nil {
				t.Error(err)
				return
			}
			answers <- string(result.Content[0].Text)
		})
	}
	seen := map[int]bool{}
	for len(seen) < 3 { // they take turns
		seen[<-begun] = true
	}
	call(t, r, "generate_chart", `{"symbol":"BTCUSDT","interval":"1h"}`)
	call(t, r, "run_backtest", crossStrategy)
	if len(answers) > 0 {
		t.Fatalf("a sweep has ended: %s", <-answers)
	}
	cancel()
	running.Wait()
	for range sweeps {
		if text := <-answers; !strings.Contains(text, `"code":"cancelled"`) {
			t.Errorf("%.200s", text)
		}
	}
}
