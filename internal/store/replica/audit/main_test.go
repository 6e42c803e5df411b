package audit_test

import (
	"os"
	"testing"

	"candela/internal/store/replica/replicatest"
)

func TestMain(m *testing.M) { os.Exit(replicatest.Main(m)) }
