package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"candela/internal/app"
)

// startCost is what a process has allocated when it writes its first answer.
type startCost struct {
	Bytes, Objects uint64
	Collections    uint32
}

// counted is the stdout of a process, and writes the cost of its start to stderr before the first answer.
type counted struct{ done bool }

const costLine = "start cost "

func (c *counted) Write(p []byte) (int, error) {
	if !c.done {
		c.done = true
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		line, err := json.Marshal(startCost{m.TotalAlloc, m.Mallocs, m.NumGC})
		if err != nil {
			return 0, err
		}
		fmt.Fprintf(os.Stderr, "%s%s\n", costLine, line)
	}
	return os.Stdout.Write(p)
}

// startCosts is candela with a stdout that counts.
func startCosts() {
	os.Exit(run(untilSignal(os.Stderr, os.Exit), os.Args[1:], os.Environ(), app.Deps{
		Version: buildVersion(), Stdin: os.Stdin, Stdout: &counted{}, Stderr: os.Stderr, Halts: haltSignals(), Services: app.Wired(),
	}))
}

// raceDetected reports whether this program was built with the race detector.
func raceDetected() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// TestStart_Allocations holds what the program allocates until it answers initialize, with the variables of
// all packages. Counts depend on the program alone; how long a start takes is of the machine too.
func TestStart_Allocations(t *testing.T) {
	t.Parallel()
	for name, most := range map[string]startCost{
		"--mcp":         {Bytes: 2_200_000, Objects: 15_000},
		"--mcp --trade": {Bytes: 3_100_000, Objects: 21_500},
	} {
		if raceDetected() { // it adds to every goroutine and lock, and more of them begin before the answer
			most.Bytes, most.Objects, most.Collections = most.Bytes*2, most.Objects*3/2, 1
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := filepath.Join(t.TempDir(), "state")
			program := exec.CommandContext(t.Context(), "start-costs", append(strings.Fields(name), "--home", home)...)
			program.Env = []string{"HOME=" + home}
			program.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"check","version":"1"}}}` + "\n")
			var errors bytes.Buffer
			program.Stdout, program.Stderr = io.Discard, &errors
			if err := program.Run(); err != nil {
				t.Fatalf("%v\n%s", err, &errors)
			}
			_, line, found := strings.Cut(errors.String(), costLine)
			line, _, _ = strings.Cut(line, "\n")
			var got startCost
			if err := json.Unmarshal([]byte(line), &got); err != nil || !found {
				t.Fatalf("%v\n%s", err, &errors)
			}
			t.Logf("%s: %+v", name, got)
			if got.Bytes > most.Bytes || got.Objects > most.Objects || got.Collections > most.Collections {
				t.Errorf("the start allocates %+v; at most %+v is meant: profile it with GODEBUG=inittrace=1 and memprofilerate=1", got, most)
			}
		})
	}
}
