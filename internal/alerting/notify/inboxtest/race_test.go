//go:build race

package inboxtest

// raced reports whether the race detector is on.
const raced = true
