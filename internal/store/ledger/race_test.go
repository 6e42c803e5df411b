//go:build race

package ledger_test

// shorter divides the work of the longest tests: SQLite, which is translated C, runs
// twenty times slower under the race detector.
const shorter = 10
