//go:build !race

package ledger_test

const shorter = 1
