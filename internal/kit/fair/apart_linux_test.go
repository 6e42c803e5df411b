package fair_test

import (
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"candela/internal/kit/fair"
)

// The work has a lower priority than its caller, which keeps its own.
func TestApart_IsLow(t *testing.T) {
	priority := func() int { // the kernel's: 20 less what nice says
		n, err := syscall.Getpriority(syscall.PRIO_PROCESS, 0)
		if err != nil {
			t.Error(err)
		}
		return n
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := priority()
	_ = fair.Apart(func() error {
		if n := priority(); n >= before && before > 1 {
			t.Errorf("the priority of the work is %d, that of the caller %d", n, before)
		}
		if attr, err := unix.SchedGetAttr(0, 0); err != nil || attr.Policy != unix.SCHED_BATCH {
			t.Errorf("the policy of the work is %+v (%v), want SCHED_BATCH", attr, err)
		}
		return nil
	})
	if n := priority(); n != before {
		t.Errorf("the priority of the caller was %d and is %d", before, n)
	}
}
