package ledger_test

import (
	"bytes"
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

// TestCrash_KilledWriterLosesNothing kills a process that writes, at any moment,
// again and again on one store: opening it, in the middle of a commit or folding
// the log into the file.
func TestCrash_KilledWriterLosesNothing(t *testing.T) {
	t.Parallel()
	dir, m, heard := t.TempDir(), newModel(), 0
	for range *kills {
		child, lines := startWriter(t, dir)
		var said bytes.Buffer
		done := make(chan error, 1)
		go func() {
			_, err := io.Copy(&said, lines)
			done <- err
		}()
		time.Sleep(time.Duration(rand.Int64N(int64(150 * time.Millisecond))))
		if err := child.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		_ = child.Wait() // killed, as it says
		heard += m.hear(&said)
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
