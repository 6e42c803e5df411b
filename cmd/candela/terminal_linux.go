package main

import "golang.org/x/sys/unix"

// The requests that read and change how a terminal behaves.
const (
	getTermios = unix.TCGETS
	setTermios = unix.TCSETS
)
