package receipttest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"
	"time"

	"candela/internal/kit/id"
	"candela/internal/kit/principal"
	"candela/internal/trading/order"
)

// Log takes events.
type Log interface {
	AppendEvents(ctx context.Context, by principal.Caller, events []order.Event, notices ...order.Notice) ([]order.Event, error)
	SaveState(ctx context.Context, by principal.Caller, name string, value []byte, notices ...order.Notice) error
}

// maxTogether is how many orders are written at a time, interleaved.
const maxTogether = 12

// Write writes random orders until it fails, in groups that are written together, and halts in between. It says on out which it is about to
// write, "try OWNER ID...", and that all their events were acknowledged, "did OWNER ID...". Each line is one system call.
func Write(ctx context.Context, to Log, random *rand.Rand, out io.Writer) error {
	for {
		owner := []principal.Owner{"ann", "bob"}[random.IntN(2)]
		by := principal.Caller{Subject: owner, Key: "6acb604a74", Client: "Claud\u00e9 <1>"}
		together := 1 + random.IntN(maxTogether)
		ids, steps := make([]string, 0, together), make([][][]order.Event, 0, together)
		for range together {
			ids = append(ids, id.New(time.Now()))
			steps = append(steps, Order(random, owner, ids[len(ids)-1], time.Now()))
		}
		if _, err := fmt.Fprintln(out, "try", owner, strings.Join(ids, " ")); err != nil {
			return err
		}
		for n, more := 0, true; more; n++ {
			more = false
			var events []order.Event
			for _, s := range steps {
				if n < len(s) {
					events, more = append(events, s[n]...), true
				}
			}
			for rest := events; len(rest) > 0; { // together, or some at a time
				some := rest[:1+random.IntN(len(rest))]
				if _, err := to.AppendEvents(ctx, by, some); err != nil {
					return err
				}
				rest = rest[len(some):]
			}
			if random.IntN(10) == 0 {
				if err := to.SaveState(ctx, by, "guard", []byte(`{"causes":[{"kind":"owner_halt"}]}`)); err != nil {
					return err
				}
			}
		}
		if _, err := fmt.Fprintln(out, "did", owner, strings.Join(ids, " ")); err != nil {
			return err
		}
	}
}

// Written is what killed writers said.
type Written struct {
	Owner map[string]principal.Owner // of each order that was tried, by ID
	Did   map[string]bool            // all events of the order were acknowledged
	Kills int
}

// said is a line of a writer, or its end.
type said struct {
	writer int
	line   string
	ended  bool
}

// Kill runs some writers beside each other, each a process that start starts, until orders of a number were acknowledged. It kills them at
// random, -9: mostly the one that spoke last, which is in the middle of its next write.
func Kill(tb testing.TB, random *rand.Rand, writers, orders int, start func(writer int) *exec.Cmd) Written {
	tb.Helper()
	w := Written{Owner: make(map[string]principal.Owner), Did: make(map[string]bool)}
	lines := make(chan said)
	running := make([]*exec.Cmd, writers)
	begin := func(n int) {
		running[n] = start(n)
		out, err := running[n].StdoutPipe()
		check(tb, err)
		check(tb, running[n].Start())
		go func(r *bufio.Reader) {
			for {
				line, err := r.ReadString('\n')
				if err != nil {
					lines <- said{writer: n, ended: true}
					return
				}
				lines <- said{writer: n, line: line}
			}
		}(bufio.NewReader(out))
	}
	for n := range running {
		begin(n)
	}
	left := 1 + random.IntN(12) // lines until the next kill
	live := writers
	for live > 0 {
		one := <-lines
		if one.ended {
			_ = running[one.writer].Wait() // killed, or replaced by another writer
			if live--; len(w.Did) < orders {
				begin(one.writer)
				live++
			}
			continue
		}
		w.note(one.line)
		if left--; left <= 0 || len(w.Did) >= orders {
			left = 1 + random.IntN(40)
			if running[one.writer].Process.Kill() == nil {
				w.Kills++
			}
		}
	}
	return w
}

func (w *Written) note(line string) {
	words := strings.Fields(line)
	for _, name := range words[2:] {
		w.Owner[name] = principal.Owner(words[1])
		if words[0] == "did" {
			w.Did[name] = true
		}
	}
}
