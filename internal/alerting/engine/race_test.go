//go:build race

package engine_test

// raced says that the race detector is on, which makes everything slower.
const raced = true
