//go:build !windows

package control

import "syscall"

// errNoFamily is the system's error for an unsupported kind of socket.
const errNoFamily = syscall.EAFNOSUPPORT
