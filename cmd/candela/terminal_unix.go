//go:build linux || darwin

package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// hideInput has a terminal show nothing of what is typed until show is called. Lines
// are edited and signals sent as before. An error says that the file is no terminal.
func hideInput(file *os.File) (show func(), err error) {
	fd := int(file.Fd())
	was, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil {
		return nil, err
	}
	hidden := *was
	hidden.Lflag &^= unix.ECHO
	hidden.Lflag |= unix.ICANON | unix.ISIG
	hidden.Iflag |= unix.ICRNL
	if err := unix.IoctlSetTermios(fd, setTermios, &hidden); err != nil {
		return nil, err
	}
	return func() { _ = unix.IoctlSetTermios(fd, setTermios, was) }, nil // it was a terminal a moment ago
}
