//go:build !linux

package hostile

import "testing"

func limitMemory(t *testing.T, _ int, _ uint64) {
	t.Helper()
	t.Skip("the memory of a process can be bounded on Linux only")
}
