package audit_test

import (
	"fmt"
	"os"
	"testing"

	"candela/internal/store/replica/replicatest"
)

func TestMain(m *testing.M) {
	if at := os.Getenv(writerVar); at != "" {
		fmt.Fprintln(os.Stderr, writeOrders(at, os.Stdout))
		os.Exit(1)
	}
	os.Exit(replicatest.Main(m))
}
