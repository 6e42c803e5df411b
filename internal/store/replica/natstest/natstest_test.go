package natstest_test

import (
	"testing"
	"time"

	"candela/internal/store/replica/natstest"
)

func TestStart_ThreeServersAgree(t *testing.T) {
	t.Parallel()
	began := time.Now()
	c, err := natstest.Start(t.TempDir(), 3)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("three servers were ready after %s", time.Since(began))
	c.Stop()
}
