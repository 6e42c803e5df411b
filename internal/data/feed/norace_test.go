//go:build !race

package feed_test

const raced = false
