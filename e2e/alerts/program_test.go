package alerts

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"candela/e2e/build"
)

// programs are those that tests of this package run.
var programs build.Programs

func TestMain(m *testing.M) {
	if address := os.Getenv(gaugesVar); address != "" {
		os.Exit(runWithGauges(address))
	}
	os.Exit(programs.Run(m))
}

// binary returns the path of the program.
func binary(tb testing.TB) string {
	tb.Helper()
	return programs.Path(tb, build.Candela, "")
}

// program is the program while it runs.
type program struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout io.ReadCloser
	stderr *tail
}

func start(t *testing.T, args ...string) *program {
	t.Helper()
	return startAs(t, binary(t), nil, args...)
}

// startAs runs an executable as the program.
func startAs(t *testing.T, path string, environ []string, args ...string) *program {
	t.Helper()
	p := &program{cmd: exec.Command(path, args...), stderr: &tail{}} //nolint:noctx // how it ends is what is tested
	p.cmd.Env = append(environ, "HOME="+t.TempDir())
	p.cmd.Stderr = p.stderr
	// Own pipes: Wait would close those of exec before all is read.
	in, stdin, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p.stdin, p.stdout, p.cmd.Stdin, p.cmd.Stdout = stdin, stdout, in, out
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = in.Close()
	_ = out.Close()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		_ = stdin.Close()
		_ = stdout.Close()
	})
	return p
}

// kill ends the program as a crash does.
func (p *program) kill(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = p.cmd.Wait() // killed, as it says
	p.hangUp()
}

// term asks the program to stop, which it must do in good order.
func (p *program) term(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	guard := time.AfterFunc(2*time.Minute, func() { _ = p.cmd.Process.Kill() })
	defer guard.Stop()
	// One that is asked before it listens to signals ends by it.
	if err := p.cmd.Wait(); err != nil && !p.early() {
		t.Errorf("asked to stop, the program ended with %v:\n%s", err, p.stderr)
	}
	p.hangUp()
}

func (p *program) early() bool {
	status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGTERM && p.stderr.String() == ""
}

func (p *program) hangUp() { _ = p.stdin.Close() }

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	t.text = t.text[max(0, len(t.text)-16<<10):]
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}

// verify checks the store as its owner would.
func verify(t *testing.T, home string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), binary(t), "audit", "verify", "--home", home).CombinedOutput()
	if err != nil && !bytes.Contains(out, []byte("no store in state directory")) { // killed before it made one
		t.Fatalf("the store is not sound: %v\n%s", err, out)
	}
}

// event is a line of the audit log.
type event struct {
	Seq     uint64          `json:"seq"`
	Kind    string          `json:"kind"`
	Subject string          `json:"subject"`
	Client  string          `json:"client"`
	Body    json.RawMessage `json:"body"`
}

func audit(t *testing.T, home string) []event {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), binary(t), "audit", "list", "--json", "--last", "100000", "--home", home).Output()
	if err != nil {
		t.Fatal(err)
	}
	var all []event
	for lines := json.NewDecoder(bytes.NewReader(out)); ; {
		var e event
		if err := lines.Decode(&e); err == io.EOF {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
}
