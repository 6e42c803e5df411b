package fair

import (
	"runtime"
	"sync"
)

// Lower gives the calling goroutine a thread of its own with a low priority for the rest of its
// life: the kernel lets every other thread go first when processors are scarce. Only a goroutine
// that ends with its work may call it.
func Lower() {
	runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
	lower()
}

// Apart runs work with a low priority, see [Lower], and returns when it ends. A panic of the work
// is one of the caller.
func Apart(work func() error) (err error) {
	var panicked any
	var running sync.WaitGroup
	running.Go(func() {
		Lower()
		defer func() { panicked = recover() }()
		err = work()
	})
	running.Wait()
	if panicked != nil {
		panic(panicked)
	}
	return err
}
