//go:build race

package httpd_test

// raced says that the race detector is on, and times mean nothing.
const raced = true
