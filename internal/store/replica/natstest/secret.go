package natstest

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"
)

// Secret is the cluster secret of replicas in tests.
func Secret() []byte {
	sum := sha256.Sum256([]byte("the secret of the tests"))
	return sum[:]
}

// SecretFile returns a file with it, for --cluster-secret-file.
func SecretFile(tb testing.TB) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "cluster-secret")
	if err := os.WriteFile(path, []byte(hex.EncodeToString(Secret())+"\n"), 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}
