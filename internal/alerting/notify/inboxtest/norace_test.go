//go:build !race

package inboxtest

const raced = false
