//go:build race

package inboxtest

// raced is whether the race detector slows everything down.
const raced = true
