package docs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// root is the top of the repository.
const root = "../.."

// folder has the program, built once for all tests.
var folder string

func TestMain(m *testing.M) {
	// The pages speak of port 9315, which another program may have: root runs this
	// in a network of its own.
	if os.Getuid() == 0 && os.Getenv(apartVar) == "" && exec.CommandContext(context.Background(), "unshare", "-n", "ip", "link", "set", "lo", "up").Run() == nil {
		os.Exit(apart())
	}
	dir, err := os.MkdirTemp("", "docs")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	folder = dir
	build := exec.CommandContext(context.Background(), "go", "build", "-trimpath", "-o", dir, "candela/cmd/candela", "candela/cmd/fakevenue")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as it is released
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%s%v\n", out, err)
		os.Exit(1)
	}
	status := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(status)
}

const apartVar = "DOCS_APART" // set where it already is

func apart() int {
	again := exec.CommandContext(context.Background(), "unshare", append([]string{"-n", "bash", "-c", `ip link set lo up && exec "$0" "$@"`}, os.Args...)...)
	again.Env = append(os.Environ(), apartVar+"=yes")
	again.Stdout, again.Stderr = os.Stdout, os.Stderr
	if err := again.Run(); err != nil {
		return 1
	}
	return 0
}

// user is somebody with a home and nothing set up.
type user struct {
	home    string
	environ []string
}

func newUser(t *testing.T, environ ...string) *user {
	t.Helper()
	// Not t.TempDir: the path of a socket must be short.
	home, err := os.MkdirTemp("", "u") //nolint:usetesting // t.TempDir has the test's name in it, which is too long
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	return &user{home: home, environ: append([]string{
		"HOME=" + home, "PATH=" + folder + ":" + os.Getenv("PATH"), "GOFLAGS=-buildvcs=false", "CGO_ENABLED=0",
		"GOCACHE=" + goEnv(t, "GOCACHE"), "GOMODCACHE=" + goEnv(t, "GOMODCACHE"), "GOPROXY=" + goEnv(t, "GOPROXY"),
	}, environ...)}
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// run gives a line to the shell, in the home, and returns all that was printed.
func (u *user) run(t *testing.T, line, stdin string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-o", "pipefail", "-c", line)
	cmd.Dir, cmd.Env, cmd.Stdin = u.home, u.environ, strings.NewReader(stdin)
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// serve starts a line that does not end by itself and waits until it is ready.
func (u *user) serve(t *testing.T, line string) *server {
	t.Helper()
	s := &server{cmd: exec.Command("bash", "-c", "exec "+line), done: make(chan error, 1)} //nolint:noctx // how it ends is what is tested
	s.cmd.Dir, s.cmd.Env = u.home, u.environ
	s.cmd.Stdout, s.cmd.Stderr = &s.out, &s.out
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { s.done <- s.cmd.Wait() }()
	t.Cleanup(func() { _ = s.cmd.Process.Kill() })
	if err := s.says(ready); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return s
}

var ready = regexp.MustCompile(`msg=ready|with made-up prices`)

// server is a program while it runs.
type server struct {
	cmd  *exec.Cmd
	out  output
	done chan error
}

// says waits until it has printed something.
func (s *server) says(what *regexp.Regexp) error {
	for deadline := time.After(time.Minute); ; {
		if what.MatchString(s.out.String()) {
			return nil
		}
		select {
		case err := <-s.done:
			s.done <- err
			return fmt.Errorf("it ended: %w\n%s", err, s.out.String())
		case <-deadline:
			return fmt.Errorf("it does not say %v:\n%s", what, s.out.String())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// stop asks it to end and returns how it did.
func (s *server) stop() error {
	if err := s.cmd.Process.Signal(os.Interrupt); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case err := <-s.done:
		s.done <- err
		return err
	case <-time.After(time.Minute):
		return errors.New("it does not end")
	}
}

// output is what a program has printed so far.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
