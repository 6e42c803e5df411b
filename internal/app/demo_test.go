package app

import (
	"bytes"
	"context"
	"fmt"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"candela/internal/operate/demo"
)

// tourOf takes the tour with a folder of its own for temporary files, and returns
// what was said.
func tourOf(t *testing.T, ctx context.Context, wait time.Duration) (said, output string, err error) { //nolint:revive // the test comes first, as everywhere
	t.Helper()
	output = filepath.Join(t.TempDir(), "demo.png") // before the folder for temporary files is another
	rooms := shortDir(t)
	t.Setenv("TMPDIR", rooms)
	t.Setenv("TMP", rooms)
	var text strings.Builder
	err = Demo(ctx, Deps{Version: "v1", Services: Wired()}, demo.Tour{
		Output: output, Wait: wait,
		Say:     func(format string, args ...any) { fmt.Fprintf(&text, format+"\n", args...) },
		Call:    func(tool, _ string) { fmt.Fprintln(&text, tool) },
		Waiting: func(time.Duration) {},
	})
	if left, _ := os.ReadDir(rooms); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
	return text.String(), output, err
}

// The tour goes through the real tools: the picture is whole, the order is filled
// on paper and the alert fires within a minute.
func TestDemo(t *testing.T) {
	said, output, err := tourOf(t, t.Context(), time.Minute)
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	for _, want := range []string{"24 tools", "Source sample", "Order filled, 5 filled, mode paper", "5 protected by the stop", "trades", "The alert fired", "Event order_filled, exit, profit before fees", "Event position_closed", "Trade: 5 closed by exit"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not said:\n%s", want, said)
		}
	}
	data, err := os.ReadFile(output)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := png.Decode(bytes.NewReader(data)); err != nil {
		t.Error(err)
	}
}

// An interrupted demo leaves no folder behind.
func TestDemo_BrokenOff(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := tourOf(t, ctx, time.Minute); err == nil {
		t.Error("it went on")
	}
}
