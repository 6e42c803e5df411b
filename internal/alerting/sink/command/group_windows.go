package command

import (
	"errors"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"unsafe"

	"golang.org/x/sys/windows"
)

// group is a job object with a process and what it started.
type group windows.Handle

// start starts a process in a job that ends with its last handle.
func start(cmd *exec.Cmd) (group, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return 0, err
	}
	limits := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{}
	limits.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation, uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)))
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		_ = windows.CloseHandle(job) // it holds nothing
		return 0, err
	}
	process, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(cmd.Process.Pid))
	if err == nil {
		err = windows.AssignProcessToJobObject(job, process)
		_ = windows.CloseHandle(process) // the job has its own
	}
	if err != nil {
		_ = cmd.Process.Kill() // it must not run outside of the job
		_ = cmd.Wait()
		_ = windows.CloseHandle(job)
		return 0, err
	}
	return group(job), nil
}

// ask ends the job: there is no signal that every program knows.
func (g group) ask() { g.kill() }

// kill ends the job.
func (g group) kill() { _ = windows.TerminateJobObject(windows.Handle(g), 1) }

// close ends what the process left behind, and gives the handle back.
func (g group) close() { _ = windows.CloseHandle(windows.Handle(g)) }

// checkProgram refuses batch files, whose arguments a shell reads.
func checkProgram(path string) error {
	if !filepath.IsAbs(path) {
		return errors.New("it is not an absolute path")
	}
	if slices.Contains([]string{".bat", ".cmd"}, strings.ToLower(filepath.Ext(path))) {
		return errors.New("a batch file is read by a shell; name a program")
	}
	_, err := exec.LookPath(path)
	return err
}
