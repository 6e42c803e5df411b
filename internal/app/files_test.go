package app

import (
	"strings"
	"testing"
)

func TestFiles_AreHeldAgainstConnections(t *testing.T) {
	t.Parallel()
	if err := judgeFiles(896, 1024); err != nil {
		t.Error(err)
	}
	err := judgeFiles(10_000, 1024)
	if err == nil || !strings.Contains(err.Error(), "--max-connections 10000 needs 10128 open files, and this process may have 1024") {
		t.Error(err)
	}
	if err := enoughFiles(1); err != nil {
		t.Error(err)
	}
}
