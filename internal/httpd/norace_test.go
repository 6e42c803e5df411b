//go:build !race

package httpd_test

const raced = false
