package paper_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"candela/internal/trading/broker"
	"candela/internal/trading/broker/paper/papertest"
	"candela/internal/trading/order"
)

// TestObserve_AnotherOwnsTheAccount holds that an order which a price reaches while another process takes the
// account over is no error here: that process fills it. A journal that fails otherwise is one.
func TestObserve_AnotherOwnsTheAccount(t *testing.T) {
	t.Parallel()
	for failure, level := range map[error]string{
		fmt.Errorf("nothing was executed: %w", broker.ErrFenced): "level=WARN",
		errors.New("no room"): "level=ERROR",
	} {
		var log bytes.Buffer
		v := opened(t, &papertest.Journal{}, slog.New(slog.NewTextHandler(&log, nil)))
		v.submit(t, spec(order.Buy, order.Limit, "1", "49000")) // below the price
		v.journal.Fail(failure)
		v.bars(0, bar{50000, 50000, 48000, 48500, 9}, bar{48500, 48500, 48000, 48500, 9})
		if text := log.String(); !strings.Contains(text, level) || !strings.Contains(text, "did not store what happened") {
			t.Errorf("%v is logged as %q", failure, text)
		}
	}
}
