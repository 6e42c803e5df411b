package porttest_test

import (
	"net"
	"strconv"
	"testing"

	"candela/internal/porttest"
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

func TestFree_CanBeListenedOn(t *testing.T) {
	t.Parallel()
	port := porttest.Free(t)
	if n, err := strconv.Atoi(port); err != nil || n >= 32768 {
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
