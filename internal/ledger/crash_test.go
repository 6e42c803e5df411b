package ledger_test

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"
	"time"
)

var kills = flag.Int("kills", 15, "how often the writer is killed")

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
	text  bytes.Buffer
	began chan struct{} // closed at its first word
	done  chan error
}

func listen(lines io.Reader) *listener {
	l := &listener{began: make(chan struct{}), done: make(chan error, 1)}
	go func() {
		var first [1]byte
		n, err := io.ReadFull(lines, first[:])
		l.text.Write(first[:n])
		close(l.began)
		if err == nil {
			_, err = l.text.ReadFrom(lines)
		}
		l.done <- err
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
		if i%4 > 0 { // else it may die while it opens the store
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
