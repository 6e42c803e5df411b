//go:build !windows

package ledger_test

import "syscall"

const sigstop = syscall.SIGSTOP
