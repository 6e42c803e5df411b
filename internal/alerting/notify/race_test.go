//go:build race

package notify_test

// raced is whether the race detector slows everything down.
const raced = true
