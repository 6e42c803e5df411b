//go:build !linux

package fair

// lower does nothing: only Linux has priorities of threads.
func lower() {}
