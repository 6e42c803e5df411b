package cluster

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"candela/e2e/remote"
)

// listenersVar makes the test binary a process that listens, with the tokens that it
// is given, at the address in it: one process may not open as many files as a
// measurement needs.
const listenersVar = "CANDELA_TEST_LISTENERS"

// runListeners reads a token from each line of stdin and opens a stream with it. It
// prints how many are open and how many notifications have come, whenever either
// changes, and ends when its input does.
func runListeners(base string) int {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var open, got atomic.Int64
	go func() {
		for said := ""; ctx.Err() == nil; time.Sleep(2 * time.Millisecond) {
			if now := fmt.Sprintf("%d %d\n", open.Load(), got.Load()); now != said {
				said = now
				_, _ = os.Stdout.WriteString(now)
			}
		}
	}()
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		c := &remote.Client{Base: base, HTTP: remote.Plain(&http.Transport{})}
		c.SetToken(lines.Text())
		go func() {
			first := true
			_ = c.Listen(ctx, "", func() {
				if first {
					open.Add(1)
				}
				first = false
			}, func(remote.Event) { got.Add(1) })
			open.Add(-1)
		}()
	}
	return 0
}

// listeners is such a process, at a replica.
type listeners struct {
	tokens    *os.File
	open, got atomic.Int64
}

func (r *replica) listeners(tb testing.TB) *listeners {
	tb.Helper()
	self, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	l := &listeners{}
	in, tokens, err := os.Pipe()
	if err != nil {
		tb.Fatal(err)
	}
	out, said, err := os.Pipe()
	if err != nil {
		tb.Fatal(err)
	}
	p := newProcess(tb, "listeners", tb.TempDir(), r.at, self, "-test.run", "^$")
	p.env = []string{listenersVar + "=http://localhost:" + r.port}
	p.stdin, p.stdout = in, said
	p.start(tb)
	_, _ = in.Close(), said.Close()
	l.tokens = tokens
	tb.Cleanup(func() { _ = tokens.Close() })
	go func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			var open, got int64
			if _, err := fmt.Sscan(lines.Text(), &open, &got); err == nil {
				l.open.Store(open)
				l.got.Store(got)
			}
		}
	}()
	return l
}

// add opens a stream with a token.
func (l *listeners) add(tb testing.TB, token string) {
	tb.Helper()
	if _, err := l.tokens.WriteString(strings.TrimSpace(token) + "\n"); err != nil {
		tb.Error(err)
	}
}
