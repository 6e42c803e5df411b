package migrate

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"
)

// clusterSecret is the secret of all replicas of these tests.
func clusterSecret() []byte {
	sum := sha256.Sum256([]byte("the secret of the tests"))
	return sum[:]
}

// secretFile returns a file with it.
func secretFile(tb testing.TB) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "cluster-secret")
	if err := os.WriteFile(path, []byte(hex.EncodeToString(clusterSecret())+"\n"), 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}
