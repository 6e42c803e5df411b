package orders

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"candela/e2e/build"
)

// programs are those that tests of this package run.
var programs build.Programs

func TestMain(m *testing.M) {
	flag.Parse()
	// The tests wait more than they work.
	if err := flag.Set("test.parallel", "12"); err != nil {
		panic(err)
	}
	os.Exit(programs.Run(m))
}

// other is the path of another program.
var other = flag.String("candela", "", "run this program in place of the one built here, to record what another version says")

// binary returns the path of the program.
func binary(tb testing.TB) string {
	tb.Helper()
	if *other != "" {
		return *other
	}
	return programs.Path(tb, build.Candela, "")
}

// newHome returns a state directory.
func newHome(tb testing.TB) string {
	tb.Helper()
	home := build.Home(tb)
	if err := os.Mkdir(home, 0o700); err != nil {
		tb.Fatal(err)
	}
	return home
}

// program is the program with --mcp --trade while it runs, and its one client.
type program struct {
	tb    testing.TB
	cmd   *exec.Cmd
	in    io.WriteCloser
	read  chan struct{}     // closed when all it said is read
	heard func(line []byte) // gets each line that it says; nil for nobody

	mu    sync.Mutex
	last  int
	waits map[int]chan reply // nil when it is gone
}

// reply is a tool's answer: its text, and whether that is an error.
type reply struct {
	text    string
	isError bool
}

// errGone means that the program ended before it answered.
var errGone = errors.New("the program is gone")

// start runs the program with more flags and variables.
func start(tb testing.TB, home string, environ, args []string) *program {
	tb.Helper()
	return startFor(tb, home, environ, args, nil)
}

// startFor is start for a client that hears each line.
func startFor(tb testing.TB, home string, environ, args []string, heard func([]byte)) *program {
	tb.Helper()
	p := &program{
		heard: heard,
		tb:    tb, cmd: exec.Command(binary(tb), append([]string{"--mcp", "--trade", "--home", home}, args...)...), //nolint:noctx // how it ends is what is tested
		read: make(chan struct{}), waits: make(map[int]chan reply),
	}
	p.cmd.Env = append(environ, "HOME="+home)
	log, err := os.CreateTemp(filepath.Dir(home), "log")
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	p.cmd.Stderr = log
	// Own pipes: Wait would close those of exec before all is read.
	in, stdin, err := os.Pipe()
	if err != nil {
		tb.Fatal(err)
	}
	stdout, out, err := os.Pipe()
	if err != nil {
		tb.Fatal(err)
	}
	p.cmd.Stdin, p.cmd.Stdout, p.in = in, out, stdin
	if err := p.cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	_ = in.Close()
	_ = out.Close()
	go p.listen(stdout)
	tb.Cleanup(func() {
		p.kill()
		if tb.Failed() {
			tb.Logf("its log:\n%s", logOf(log.Name()))
		}
	})
	return p
}

// listen hands out what the program says until it ends.
func (p *program) listen(out io.ReadCloser) {
	defer close(p.read)
	defer func() { _ = out.Close() }()
	for lines := bufio.NewReaderSize(out, 1<<20); ; {
		line, err := lines.ReadBytes('\n')
		var m struct {
			ID     int             `json:"id"`
			Error  json.RawMessage `json:"error"`
			Result struct {
				Content []struct {
					Text string `json:"text"`
				} `json:"content"`
				IsError bool `json:"isError"`
			} `json:"result"`
		}
		if p.heard != nil && err == nil {
			p.heard(line)
		}
		p.mu.Lock()
		if err != nil || json.Unmarshal(line, &m) != nil {
			for _, wait := range p.waits {
				close(wait)
			}
			p.waits = nil
			p.mu.Unlock()
			return
		}
		if m.ID == 0 && m.Error != nil {
			m.ID = p.last // what is no JSON has no number
		}
		if wait := p.waits[m.ID]; wait != nil {
			delete(p.waits, m.ID)
			r := reply{text: string(m.Error), isError: true}
			if len(m.Result.Content) > 0 {
				r = reply{m.Result.Content[0].Text, m.Result.IsError}
			}
			wait <- r
		}
		p.mu.Unlock()
	}
}

// call calls a tool.
func (p *program) call(name, arguments string) (reply, error) {
	wait := make(chan reply, 1)
	p.mu.Lock()
	if p.waits == nil {
		p.mu.Unlock()
		return reply{}, errGone
	}
	p.last++
	p.waits[p.last] = wait
	_, err := fmt.Fprintf(p.in, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`+"\n", p.last, name, arguments)
	p.mu.Unlock()
	if err != nil {
		return reply{}, errGone
	}
	select {
	case r, ok := <-wait:
		if !ok {
			return reply{}, errGone
		}
		return r, nil
	case <-time.After(patience):
		return reply{}, fmt.Errorf("%s is not answered", name)
	}
}

// must is call where an answer is due.
func (p *program) must(name, arguments string) reply {
	p.tb.Helper()
	r, err := p.call(name, arguments)
	if err != nil {
		p.tb.Fatalf("%s %s: %v", name, arguments, err)
	}
	return r
}

// kill ends the program as a crash does.
func (p *program) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait() // killed, as it says, or over before
	_ = p.in.Close()
	<-p.read
}

// run runs the program for one command and returns what it says.
func run(tb testing.TB, args ...string) (string, error) {
	tb.Helper()
	out, err := exec.CommandContext(tb.Context(), binary(tb), args...).CombinedOutput()
	return string(out), err
}
