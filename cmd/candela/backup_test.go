package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// A log or a pipe gets no progress.
func TestProgress_IsForTerminals(t *testing.T) {
	t.Parallel()
	file, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // nothing was written
	if progress(file) != nil || progress(&bytes.Buffer{}) != nil {
		t.Error("progress where nobody watches")
	}
}
