//go:build !windows

package command

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// checkProgram refuses what other users could replace: the file, its folder, and both of what a link leads to.
func checkProgram(path string) error {
	if !filepath.IsAbs(path) {
		return errors.New("it is not an absolute path")
	}
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return plain(err)
	}
	info, err := os.Stat(target)
	if err != nil {
		return plain(err)
	}
	if !info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0 {
		return fmt.Errorf("%s is no program that can be started", target)
	}
	for _, each := range []string{target, filepath.Dir(target), filepath.Dir(path)} {
		if err := checkOwn(each); err != nil {
			return err
		}
	}
	return nil
}

// checkOwn refuses a file or folder that another user than root may write.
func checkOwn(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return plain(err)
	}
	if perm := info.Mode().Perm(); perm&0o022 != 0 {
		return fmt.Errorf("%s can be written by other users (%v): chmod go-w it", path, perm)
	}
	if by, ok := info.Sys().(*syscall.Stat_t); ok && by.Uid != 0 && int(by.Uid) != os.Getuid() {
		return fmt.Errorf("%s belongs to another user", path)
	}
	return nil
}

// plain returns an error of the file system without its operation.
func plain(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("%s: %w", e.Path, e.Err)
	}
	return err
}
