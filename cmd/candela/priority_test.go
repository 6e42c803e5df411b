package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"testing"

	"candela/internal/app"
	"candela/internal/kit/lifecycle"
)

// TestLowPriority_IsASetting holds what changes the whole process: it happens once, for a server that trades, and not
// where it is turned off.
func TestLowPriority_IsASetting(t *testing.T) {
	t.Parallel()
	for flags, want := range map[[3]string]string{
		{"--serve", "--trade", "--low-priority"}:       "room 1, apart true",
		{"--serve", "--trade", "--low-priority=false"}: "room 0, apart false",
		{"--serve", "--trade=false", "--low-priority"}: "room 0, apart true",
		{"--mcp", "--trade", "--low-priority"}:         "room 0, apart true",
	} {
		rooms, apart := 0, false
		service := func(rt app.Runtime) ([]lifecycle.Part, error) {
			apart = rt.Apart != nil
			return nil, nil
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		home := filepath.Join(t.TempDir(), "state")
		code := run(ctx, append(flags[:], "--home", home), []string{"HOME=" + home}, app.Deps{
			Stdout: io.Discard, Stderr: io.Discard, MakeRoom: func(int) { rooms++ }, Apart: func(work func() error) error { return work() },
			Services: app.Services{MCP: service, Serve: service},
		})
		if got := fmt.Sprintf("room %d, apart %v", rooms, apart); got != want || code != exitOK {
			t.Errorf("%v: %s, exit %d; want %s", flags, got, code, want)
		}
	}
}
