//go:build !linux && !darwin && !windows

package main

import (
	"errors"
	"os"
)

// hideInput is not supported here.
func hideInput(*os.File) (show func(), err error) { return nil, errors.ErrUnsupported }
