package porttest_test

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"testing"

	"candela/internal/testkit/porttest"
)

func TestReserve_HoldsUntilReleased(t *testing.T) {
	t.Parallel()
	seen := make(map[int]bool)
	for range 200 {
		port, release, err := porttest.Reserve()
		if err != nil {
			t.Fatal(err)
		}
		defer release()
		if seen[port] {
			t.Fatalf("%d was given twice", port)
		}
		seen[port] = true
	}
}

// systems reports whether a port is in the ephemeral range.
func systems(port int) bool {
	low, high := 32768, 65535
	if own, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range"); err == nil {
		_, _ = fmt.Sscan(string(own), &low, &high)
	}
	return low <= port && port <= high && (low > 1524 || high < 65035) // or there are no others
}

func TestOutside_TheSystemsRange(t *testing.T) {
	t.Parallel()
	for own, want := range map[string][2]int{
		"32768\t60999\n": {20_000, 32_000},
		"49152\t65535\n": {20_000, 32_000},
		"1024\t4999\n":   {20_000, 32_000},
		"15000\t61000\n": {3000, 15_000},
		"10000\t65535\n": {1024, 10_000},
		"1024\t40000\n":  {40_001, 52_001},
		"1024\t60000\n":  {60_001, 65_536},
		"1024\t65535\n":  {20_000, 32_000},
		"":               {20_000, 32_000},
	} {
		if first, end := porttest.Outside(own); first != want[0] || end != want[1] {
			t.Errorf("%q: %d to %d, want %v", own, first, end, want)
		}
	}
}

func TestFree_CanBeListenedOn(t *testing.T) {
	t.Parallel()
	port := porttest.Free(t)
	if n, err := strconv.Atoi(port); err != nil || systems(n) {
		t.Errorf("%s is one that the system gives to others", port)
	}
	for range 2 { // a program that starts again
		ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:"+port)
		if err != nil {
			t.Fatal(err)
		}
		if err := ln.Close(); err != nil {
			t.Error(err)
		}
	}
}
