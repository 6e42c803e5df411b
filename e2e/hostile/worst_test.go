package hostile

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"candela/e2e/remote"
)

// The maximum cost of one request.
const (
	mostProcessor = 2 * time.Second
	mostGrowth    = 64 << 20 // bytes
)

// onLinux skips a test that measures a process where it cannot.
func onLinux(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("a process is measured by /proc")
	}
}

// many returns a list of as many indicators as a chart may have, 24.
func many(item string) string {
	return "[" + strings.TrimSuffix(strings.Repeat(item+",", 24), ",") + "]"
}

// TestWorst_OneRequestCostsLittle sends the dearest requests that are known, one after
// the other, and measures what each costs the program. Its garbage is collected early,
// so that the memory seen is what requests hold.
func TestWorst_OneRequestCostsLittle(t *testing.T) {
	t.Parallel()
	onLinux(t)
	tg := attackable(t, 0, "GOGC=25")
	c := tg.client("worst")
	chart := func(more string) string {
		return remote.Request(1, "generate_chart", `{"symbol":"BTCUSDT","interval":"1h","bars":5000,"width":4096,"height":4096,`+more+`}`)
	}
	const every = `["ema_stack","bbands","keltner","donchian","vwap","vwap_bands","supertrend","sar","ichimoku","pivot","volume_profile","session_vp",` +
		`"hvn_lvn","naked_poc","tpo","cipher_b","macd","rsi","wavetrend","stoch","obv","mfi","adx","rsi_mfi_stoch"]`
	requests := []struct{ name, body string }{
		{"default chart", remote.Request(1, "generate_chart", `{"symbol":"BTCUSDT"}`)},
		{"24 indicators, png", chart(`"indicators":` + every)},
		{"24 indicators, series", chart(`"format":"series","indicators":` + every)},
		{"24 indicators, both", chart(`"format":"both","indicators":` + every)},
		{"24 vwap_bands", chart(`"indicators":` + many(`"vwap_bands"`))},
		{"24 developing session profiles", chart(`"indicators":` + many(`{"name":"session_vp","developing":true,"bins":500,"session":"monthly"}`))},
		{"24 cci of 5000 bars, summary", chart(`"format":"summary","indicators":` + many(`{"name":"cci","period":5000}`))},
		{"batch of 64 charts", batchOf("generate_chart", `{"symbol":"BTCUSDT","width":4096,"height":4096}`)},
		{"batch of 64 series", batchOf("generate_chart", `{"symbol":"BTCUSDT","interval":"1h","bars":5000,"format":"series"}`)},
		{"list of tools", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`},
	}
	for _, r := range requests { // once to load the bars
		tg.accepted(t, c, r.body)
	}
	allowed := tg.allowance(t, c, chart(`"indicators":`+many(`"vwap_bands"`)))
	for _, r := range requests {
		took, used, grown := tg.cost(t, c, r.body)
		for try := 1; try < 3 && (used > allowed || grown > mostGrowth); try++ { // other programs add to it
			_, used2, grown2 := tg.cost(t, c, r.body)
			used, grown = min(used, used2), min(grown, grown2)
		}
		t.Logf("%-32s %5d ms, processor %5d ms, %3d MB more", r.name, took.Milliseconds(), used.Milliseconds(), grown>>20)
		if used > allowed {
			t.Errorf("%s used the processor for %v, more than %v", r.name, used, allowed)
		}
		if grown > mostGrowth {
			t.Errorf("%s used %d MB more memory", r.name, grown>>20)
		}
	}
}

// allowance returns how long one request may use the processor now: mostProcessor where a plain chart costs what it
// does on a machine that does nothing else, and up to twice that where other programs share caches and cores.
func (tg *target) allowance(t *testing.T, c *remote.Client, plain string) time.Duration {
	t.Helper()
	const alone = 450 * time.Millisecond
	costs := make([]time.Duration, 5)
	for i := range costs {
		_, costs[i], _ = tg.cost(t, c, plain)
	}
	slices.Sort(costs)
	median := costs[len(costs)/2]
	t.Logf("a plain chart uses the processor for %v (from %v to %v), %v when it is alone", median, costs[0], costs[len(costs)-1], alone)
	return time.Duration(max(1, min(2, float64(median)/float64(alone))) * float64(mostProcessor))
}

// cost sends a body and returns how long the answer took, how long it kept processors busy,
// and how much memory was used more than before.
func (tg *target) cost(t *testing.T, c *remote.Client, body string) (took, used time.Duration, grown int64) {
	t.Helper()
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", tg.cmd.Process.Pid), []byte("5"), 0o200); err != nil { // resets VmHWM
		t.Fatal(err)
	}
	memory, processor, began := tg.memory(t), tg.processor(t), time.Now()
	tg.accepted(t, c, body)
	return time.Since(began), tg.processor(t) - processor, tg.status(t, "VmHWM:") - memory
}

// accepted sends a body that must be answered, at least its first call, and carried out.
func (tg *target) accepted(t *testing.T, c *remote.Client, body string) {
	t.Helper()
	status, answer, err := exchange(t.Context(), c, body)
	if first, _, _ := bytes.Cut(answer, []byte("},{")); err != nil || status != http.StatusOK || bytes.Contains(first, []byte(`"isError":true`)) {
		t.Fatalf("%.300s: %d %.300s %v", body, status, answer, err)
	}
}

// processor returns how long the program has kept processors busy.
func (tg *target) processor(t *testing.T) time.Duration {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", tg.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	var ticks int64
	for _, field := range fields[11:13] { // utime and stime, in hundredths of a second
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}
