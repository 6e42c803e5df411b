package main

import (
	"os"

	"golang.org/x/sys/windows"
)

// hideInput has a console show nothing of what is typed until show is called. Lines
// are edited and Ctrl-C works as before. An error says that the file is no console.
func hideInput(file *os.File) (show func(), err error) {
	handle := windows.Handle(file.Fd())
	var was uint32
	if err := windows.GetConsoleMode(handle, &was); err != nil {
		return nil, err
	}
	hidden := was&^windows.ENABLE_ECHO_INPUT | windows.ENABLE_LINE_INPUT | windows.ENABLE_PROCESSED_INPUT
	if err := windows.SetConsoleMode(handle, hidden); err != nil {
		return nil, err
	}
	return func() { _ = windows.SetConsoleMode(handle, was) }, nil // it was a console a moment ago
}
