package app

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// noisyVar names the address that the test binary, run once more, calls as the noisy owner: a
// client of its own takes no processor time from within the server.
const noisyVar = "CANDELA_NOISY_CLIENT"

// noisyClient keeps calls open between the lines "on N WAIT" and "off". It answers each line, the second
// with the number of calls that were open, refused and answered. A refused call is repeated after
// WAIT, or when Retry-After says if that is 0.
func noisyClient(url string, in io.Reader, out io.Writer) error {
	c := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2000}}
	var n *noise
	for lines := bufio.NewScanner(in); lines.Scan(); {
		if lines.Text() != "off" {
			n = &noise{url: url, http: c}
			var calls int
			if _, err := fmt.Sscanf(lines.Text(), "on %d %d", &calls, &n.wait); err != nil {
				return err
			}
			n.begin(calls)
			fmt.Fprintln(out, "on")
			continue
		}
		open := n.open.Load()
		n.end()
		fmt.Fprintln(out, open, n.refused.Load(), n.done.Load())
	}
	return nil
}

// noise is calls of the noisy owner.
type noise struct {
	url  string
	http *http.Client
	wait time.Duration // after a refusal; 0 for what Retry-After says
	stop context.CancelFunc
	busy sync.WaitGroup

	open, refused, done atomic.Int64
}

// begin keeps calls open: charts that cost processor time and polls that wait. It returns when every call was sent.
func (n *noise) begin(calls int) {
	ctx, stop := context.WithCancel(context.Background())
	n.stop = stop
	var sent sync.WaitGroup
	for i := range calls {
		sent.Add(1)
		n.busy.Go(func() {
			first := sync.OnceFunc(sent.Done)
			defer first()
			tool, arguments := "generate_chart", fmt.Sprintf(`{"symbol":"BTCUSDT","interval":"1h","bars":%d}`, 300+i%200)
			if i%2 == 0 {
				tool, arguments = "get_notifications", `{"wait_seconds":2}`
			}
			for ctx.Err() == nil {
				n.open.Add(1)
				time.AfterFunc(100*time.Millisecond, first)
				status, _, wait := sendCall(ctx, n.http, n.url, "noisy"+strconv.Itoa(i%noisyTokens), tool, arguments)
				n.open.Add(-1)
				if status != http.StatusTooManyRequests {
					n.done.Add(1)
					continue
				}
				n.refused.Add(1)
				first()
				select {
				case <-ctx.Done():
				case <-time.After(cmp.Or(n.wait, wait)):
				}
			}
		})
	}
	sent.Wait()
}

func (n *noise) end() {
	n.stop()
	n.busy.Wait()
}

// sendCall posts a call and returns its status, its body and how long to wait before the next.
func sendCall(ctx context.Context, c *http.Client, url, token, tool, arguments string) (status int, text string, wait time.Duration) {
	call := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, tool, arguments)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/mcp", strings.NewReader(call))
	if err != nil {
		return 0, err.Error(), 0
	}
	r.Header = http.Header{"Authorization": {"Bearer " + token}, "Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	response, err := c.Do(r)
	if err != nil {
		return 0, err.Error(), 0
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err.Error(), 0
	}
	seconds, _ := strconv.Atoi(response.Header.Get("Retry-After"))
	return response.StatusCode, string(body), time.Duration(seconds) * time.Second
}

// noisyProcess is the noisy owner's client.
type noisyProcess struct {
	t   *testing.T
	in  io.WriteCloser
	out *bufio.Reader

	open, refused, done int64
}

func startNoisy(t *testing.T, url string) *noisyProcess {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env, cmd.Stderr = append(os.Environ(), noisyVar+"="+url), os.Stderr
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
		t.Logf("the noisy client used %v of processor time", cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
	})
	return &noisyProcess{t: t, in: in, out: bufio.NewReader(out)}
}

// on keeps calls open and returns when all were sent.
func (p *noisyProcess) on(calls int, wait time.Duration) { p.say(fmt.Sprintf("on %d %d", calls, wait)) }

// off ends them and adds up how many there were.
func (p *noisyProcess) off() {
	p.t.Helper()
	var open, refused, done int64
	if _, err := fmt.Sscan(p.say("off"), &open, &refused, &done); err != nil {
		p.t.Fatal(err)
	}
	p.open, p.refused, p.done = max(p.open, open), p.refused+refused, p.done+done
}

func (p *noisyProcess) say(line string) string {
	p.t.Helper()
	if _, err := fmt.Fprintln(p.in, line); err != nil {
		p.t.Fatal(err)
	}
	answer, err := p.out.ReadString('\n')
	if err != nil {
		p.t.Fatal(err)
	}
	return answer
}
