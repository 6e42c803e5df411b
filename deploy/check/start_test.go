package check

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

var runs = flag.Int("runs", 0, "how often each start is timed; 0: one start each; docs/performance.md has the figures of 40")

const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"check","version":"1"}}}` + "\n"

// TestStart_Answers starts the program with an empty state directory and waits for its
// first answer. With -runs it times starts, which is no verdict: cmd/candela has a test of
// what a start allocates. Not beside other tests, which would make it slower.
func TestStart_Answers(t *testing.T) {
	binary := program(t)
	for name, c := range map[string]struct {
		args  []string
		first func(*testing.T, *exec.Cmd, string)
	}{
		"--mcp":           {[]string{"--mcp"}, firstLine},
		"--mcp --trade":   {[]string{"--mcp", "--trade"}, firstLine},
		"--serve":         {[]string{"--serve"}, firstPage},
		"--serve --trade": {[]string{"--serve", "--trade"}, firstPage},
	} {
		t.Run(name, func(t *testing.T) {
			if *runs == 0 {
				start(t, binary, c.args, c.first, false)
				return
			}
			var took, used []time.Duration
			memory := ""
			for range *runs {
				one, processor, held := start(t, binary, c.args, c.first, len(took) == *runs-1)
				took, used, memory = append(took, one), append(used, processor), memory+held
			}
			slices.Sort(took)
			slices.Sort(used)
			t.Logf("%s: median %v, p95 %v, fastest %v of %d; processor time: median %v, p95 %v; at rest %s", name, took[len(took)/2].Round(100*time.Microsecond),
				took[len(took)*95/100].Round(100*time.Microsecond), took[0].Round(100*time.Microsecond), len(took),
				used[len(used)/2].Round(100*time.Microsecond), used[len(used)*95/100].Round(100*time.Microsecond), memory)
		})
	}
}

// start returns how long the program took to its first answer, its processor time until then, and for the
// last run what memory it holds a second later.
func start(t *testing.T, binary string, args []string, first func(*testing.T, *exec.Cmd, string), last bool) (took, used time.Duration, memory string) {
	t.Helper()
	home := t.TempDir()
	port := freePort(t)
	args = append(slices.Clone(args), "--home", filepath.Join(home, "state"))
	if slices.Contains(args, "--serve") {
		args = append(args, "--port", port)
	}
	server := exec.CommandContext(t.Context(), binary, args...)
	server.Env = []string{"HOME=" + home}
	began := time.Now()
	first(t, server, port)
	took, used = time.Since(began), processorTime(server.Process.Pid)
	if last {
		<-time.After(time.Second)
		memory = resident(server.Process.Pid)
	}
	if err := server.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	_ = server.Wait() // the signal is why it ends
	return took, used, memory
}

// firstLine starts the program and waits for its answer on stdout.
func firstLine(t *testing.T, server *exec.Cmd, _ string) {
	t.Helper()
	in, err := server.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(in, hello); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || !strings.Contains(line, "serverInfo") {
		t.Fatalf("%s%v", line, err)
	}
}

// firstPage starts the program and asks for a page until there is one.
func firstPage(t *testing.T, server *exec.Cmd, port string) {
	t.Helper()
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost:"+port+"/.well-known/oauth-protected-resource", nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := client.Do(request)
		if err == nil {
			_ = answer.Body.Close()
			if answer.StatusCode != http.StatusOK {
				t.Fatal(answer.Status)
			}
			return
		}
		if ctx.Err() != nil {
			t.Fatal(err)
		}
		<-time.After(500 * time.Microsecond)
	}
}

// freePort returns a free port below the system's ephemeral range, from which another program
// could get it first. The UDP port of the same number reserves it against other tests until
// this one ends, as in candela/internal/testkit/porttest.
func freePort(t *testing.T) string {
	t.Helper()
	const lowest = 1024
	end := 30_000
	if own, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range"); err == nil {
		var low int
		if _, err := fmt.Sscan(string(own), &low); err == nil && low > 2*lowest { // or hardly any is below
			end = min(end, low)
		}
	}
	var listen net.ListenConfig
	for range 1000 {
		port := strconv.Itoa(max(lowest, end-1-rand.IntN(10_000)))
		mark, err := listen.ListenPacket(t.Context(), "udp", "127.0.0.1:"+port)
		if err != nil {
			continue
		}
		t.Cleanup(func() { _ = mark.Close() })
		ln, err := listen.Listen(t.Context(), "tcp", "127.0.0.1:"+port)
		if err != nil {
			continue
		}
		if err := ln.Close(); err != nil {
			t.Fatal(err)
		}
		return port
	}
	t.Fatal("no port is free")
	return ""
}

// processorTime returns what the threads of a process have used, 0 where the system does not say.
func processorTime(pid int) (used time.Duration) {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil {
		return 0
	}
	for _, thread := range threads {
		var one time.Duration
		if text, err := os.ReadFile(thread); err == nil {
			if _, err := fmt.Sscan(string(text), &one); err == nil {
				used += one
			}
		}
	}
	return used
}

// resident returns the resident memory of a process.
func resident(pid int) string {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return "not known on " + runtime.GOOS
	}
	var found []string
	for line := range strings.Lines(string(status)) {
		if name, value, ok := strings.Cut(line, ":"); ok && (name == "VmRSS" || name == "RssAnon") {
			found = append(found, name+" "+strings.TrimSpace(value))
		}
	}
	return strings.Join(found, ", ")
}
