//go:build !linux

package research

import "testing"

// pin does nothing: only Linux binds threads to processors.
func pin(t *testing.T) (elsewhere []string) {
	t.Helper()
	t.Log("all programs share all processors")
	return nil
}
