package fair

import (
	"runtime"
	"sync"
)

// Apart runs work on a thread of its own with a low priority, and returns when it ends: the kernel
// lets every other thread go first when processors are scarce. A panic of the work is one of the
// caller.
func Apart(work func() error) (err error) {
	var panicked any
	var running sync.WaitGroup
	running.Go(func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		lower()
		defer func() { panicked = recover() }()
		err = work()
	})
	running.Wait()
	if panicked != nil {
		panic(panicked)
	}
	return err
}

// MakeRoom lets the Go scheduler run so many threads more at a time, for those of Apart. Without it
// a thread that the kernel lets wait keeps a place that urgent work needs: on one processor,
// everything else would wait for the next pause of the long work. It is for the start of a process.
func MakeRoom(threads int) { runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + threads) }
