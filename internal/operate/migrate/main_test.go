package migrate

import (
	"log/slog"
	"os"
	"testing"

	"candela/internal/store/replica/natstest"
)

// shared are the NATS servers of all tests. A test that runs itself again as a child
// uses its parent's.
var shared natstest.Shared

func TestMain(m *testing.M) { os.Exit(shared.Main(m)) }

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }
