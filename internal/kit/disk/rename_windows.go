package disk

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/windows"
)

// maxRetryTime bounds how long Rename waits for other processes to close a file.
const maxRetryTime = 2 * time.Second

// Rename moves a file or directory and replaces an existing file. Windows refuses that while
// another process, such as a virus scanner, has either open, so it is retried for a while.
func Rename(from, to string) error {
	began := time.Now()
	for wait := time.Millisecond; ; wait *= 2 {
		err := os.Rename(from, to)
		held := errors.Is(err, windows.ERROR_ACCESS_DENIED) || errors.Is(err, windows.ERROR_SHARING_VIOLATION)
		if !held || time.Since(began) > maxRetryTime {
			return err
		}
		<-time.After(wait)
	}
}
