package httpd

import (
	"regexp"
	"testing"
)

// TestReversed_NamesServers holds the names of hosts to what a card may have.
func TestReversed_NamesServers(t *testing.T) {
	t.Parallel()
	allowed := regexp.MustCompile(`^[a-zA-Z0-9.-]+$`)
	for host, want := range map[string]string{
		"charts.example.com": "com.example.charts", "localhost": "localhost", "example.com.": "com.example", "127.0.0.1": "127.0.0.1", "::1": "--1", "fe80::1%eth0": "fe80--1-eth0",
	} {
		if got := reversed(host); got != want || !allowed.MatchString(got) {
			t.Errorf("%s: %q, want %q", host, got, want)
		}
	}
}
