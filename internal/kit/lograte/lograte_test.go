package lograte_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/kit/lograte"
)

func TestNew_LeavesOutAndCounts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		log := lograte.New(slog.New(slog.NewTextHandler(&out, nil))).With("who", "a stranger")
		for range 25_000 {
			log.Info("refused")
		}
		lines := strings.Count(out.String(), "\n")
		if lines < 10 || lines > 100 || strings.Contains(out.String(), "unlogged") {
			t.Errorf("%d lines of 25,000", lines)
		}
		time.Sleep(time.Second)
		out.Reset()
		log.Info("refused")
		log.Info("refused")
		if got := out.String(); strings.Count(got, "unlogged=24950") != 1 || strings.Count(got, "\n") != 2 {
			t.Error(got)
		}
	})
}
