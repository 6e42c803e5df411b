package ledger_test

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"candela/internal/testkit/longtest"
)

var kills = flag.Int("kills", longtest.Pick(8, 40), "how often the writer is killed")

// startWriter runs this binary as a writer on a directory. What it says goes to
// the returned pipe, which ends with it.
func startWriter(t *testing.T, dir string) (*exec.Cmd, io.Reader) {
	t.Helper()
	child := exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), childVar+"="+dir)
	child.Stderr = os.Stderr
	lines, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	return child, lines
}

// listener takes down what a writer says.
type listener struct {
	text         bytes.Buffer
	began        chan struct{} // closed at its first line
	acknowledged chan struct{} // closed at the first change that is stored
	done         chan error
}

func listen(lines io.Reader) *listener {
	l := &listener{began: make(chan struct{}), acknowledged: make(chan struct{}), done: make(chan error, 1)}
	began, acknowledged := sync.OnceFunc(func() { close(l.began) }), sync.OnceFunc(func() { close(l.acknowledged) })
	go func() {
		// Nobody waits for a writer that has ended.
		defer acknowledged()
		defer began()
		for r := bufio.NewReader(lines); ; {
			line, err := r.ReadString('\n')
			l.text.WriteString(line)
			if err != nil {
				l.done <- err
				return
			}
			began()
			if strings.HasPrefix(line, "did ") {
				acknowledged()
			}
		}
	}()
	return l
}

// all waits for the writer's end and returns everything it said.
func (l *listener) all(t *testing.T) io.Reader {
	t.Helper()
	if err := <-l.done; err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	return &l.text
}

// TestCrash_KilledWriterLosesNothing kills a process that writes, at any moment,
// again and again on one store: opening it, in the middle of a commit or folding
// the log into the file.
func TestCrash_KilledWriterLosesNothing(t *testing.T) {
	t.Parallel()
	dir, m, heard := t.TempDir(), newModel(), 0
	for i := range *kills {
		child, lines := startWriter(t, dir)
		said := listen(lines)
		switch i % 4 {
		case 0: // it may die while it opens the store
		case 1:
			<-said.acknowledged // however slow the disk is
		default:
			<-said.began
		}
		time.Sleep(time.Duration(rand.Int64N(int64(100 * time.Millisecond))))
		if err := child.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		heard += m.hear(said.all(t))
		_ = child.Wait() // killed, as it says
		m.check(t, dir)
		if t.Failed() {
			return
		}
	}
	if heard == 0 {
		t.Fatal("no write was acknowledged: nothing was tested")
	}
	t.Logf("%d kills, %d acknowledged changes, none lost", *kills, heard)
}
