//go:build !windows

package command

import (
	"os/exec"
	"syscall"
)

// group is a process and what it started.
type group int

// start starts a process in a group of its own.
func start(cmd *exec.Cmd) (group, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	return group(cmd.Process.Pid), nil
}

// ask asks the group to end. Where it has ended there is nobody to ask.
func (g group) ask() { _ = syscall.Kill(-int(g), syscall.SIGTERM) }

// kill ends the group.
func (g group) kill() { _ = syscall.Kill(-int(g), syscall.SIGKILL) }

// close ends what the process left behind.
func (g group) close() { g.kill() }
