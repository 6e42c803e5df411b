package disk

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/windows"
)

// patience bounds how long Rename waits for others to close a file.
const patience = 2 * time.Second

// Rename moves a file or directory to a name, over a file that has it. Windows refuses
// that while another process has either open: a backup that copies it, a virus
// scanner, an indexer. They are done in a moment, so it is tried again for a while.
func Rename(from, to string) error {
	began := time.Now()
	for wait := time.Millisecond; ; wait *= 2 {
		err := os.Rename(from, to)
		held := errors.Is(err, windows.ERROR_ACCESS_DENIED) || errors.Is(err, windows.ERROR_SHARING_VIOLATION)
		if !held || time.Since(began) > patience {
			return err
		}
		<-time.After(wait)
	}
}
