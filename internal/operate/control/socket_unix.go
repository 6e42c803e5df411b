//go:build !windows

package control

import "syscall"

// errNoFamily is what the system says of a kind of socket that it does not have.
const errNoFamily = syscall.EAFNOSUPPORT
