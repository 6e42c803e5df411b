//go:build !unix

package httpd_test

import (
	"syscall"
	"time"
)

func processorTime() time.Duration { return 0 }

func shrink(string, string, syscall.RawConn) error { return nil }
