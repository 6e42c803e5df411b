package cluster

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// process is a program that runs, in a place of the network. Its log goes on over
// all its lives.
type process struct {
	name string
	at   *place
	path string
	args []string
	env  []string
	log  string // a file
	// Where its input comes from and its output goes; nil for nowhere and the log.
	stdin, stdout *os.File

	mu   sync.Mutex
	cmd  *exec.Cmd // nil while it does not run
	gone chan struct{}
}

func newProcess(tb testing.TB, name, dir string, at *place, path string, args ...string) *process {
	tb.Helper()
	p := &process{name: name, at: at, path: path, args: args, log: filepath.Join(dir, name+".log")}
	tb.Cleanup(func() {
		p.kill()
		if tb.Failed() {
			tb.Logf("%s:\n%s", name, p.tail(2500))
		}
	})
	return p
}

// start runs the program.
func (p *process) start(tb testing.TB) {
	tb.Helper()
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	path, args := p.at.enter(p.path, p.args)
	cmd := exec.Command(path, args...) //nolint:noctx // how it ends is what is tested
	cmd.Env = append([]string{"HOME=" + filepath.Dir(p.log)}, p.env...)
	cmd.Stdout, cmd.Stderr = log, log
	if p.stdout != nil {
		cmd.Stdin, cmd.Stdout = p.stdin, p.stdout
	}
	cmd.SysProcAttr = apart()
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	gone := make(chan struct{})
	go func() {
		_ = cmd.Wait() // how it ended is seen in its log
		close(gone)
	}()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cmd, p.gone = cmd, gone
}

// signal sends a signal, if the program runs.
func (p *process) signal(s syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd != nil {
		_ = p.cmd.Process.Signal(s)
	}
}

// kill ends the program as a crash does.
func (p *process) kill() {
	p.signal(syscall.SIGKILL)
	p.wait(time.Minute)
}

// term asks the program to end, and reports how long it took.
func (p *process) term(tb testing.TB) time.Duration {
	tb.Helper()
	began := time.Now()
	p.signal(syscall.SIGTERM)
	if !p.wait(90 * time.Second) {
		tb.Errorf("%s does not end when it is asked to", p.name)
		p.kill()
	}
	return time.Since(began)
}

// wait waits until the program is gone.
func (p *process) wait(d time.Duration) bool {
	p.mu.Lock()
	gone := p.gone
	p.mu.Unlock()
	if gone == nil {
		return true
	}
	select {
	case <-gone:
		p.mu.Lock()
		p.cmd, p.gone = nil, nil
		p.mu.Unlock()
		return true
	case <-time.After(d):
		return false
	}
}

// running reports whether the program has not ended.
func (p *process) running() bool { return !p.wait(0) }

// pid returns the number of the process.
func (p *process) pid() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		return 0
	}
	return p.cmd.Process.Pid
}

// tail returns the end of the log.
func (p *process) tail(n int) string {
	text, _ := os.ReadFile(p.log)
	return string(text[max(0, len(text)-n):])
}

// cpu returns the processor time that the program has used, from /proc.
func (p *process) cpu(tb testing.TB) time.Duration {
	tb.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.pid()))
	if err != nil {
		tb.Fatal(err)
	}
	// The name in brackets may hold spaces; utime and stime are the 12th and 13th after.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	ticks := 0
	for _, field := range fields[11:13] {
		n, err := strconv.Atoi(field)
		if err != nil {
			tb.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * (time.Second / 100) // USER_HZ
}

// resident returns the memory that the program holds, in bytes.
func (p *process) resident(tb testing.TB) int64 {
	tb.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.pid()))
	if err != nil {
		tb.Fatal(err)
	}
	pages, err := strconv.ParseInt(strings.Fields(string(text))[1], 10, 64)
	if err != nil {
		tb.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}
