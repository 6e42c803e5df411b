package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"candela/internal/kit/disk"
	"candela/internal/store/ledger"
	"candela/internal/store/statedir"
	"candela/lib/fault"
)

// home checks the state directory and its locks.
func (x *examination) home() {
	path := x.cfg.Home
	found, usable := checkHome(path)
	x.Report(found)
	if !usable {
		return
	}
	if free, err := disk.Free(path); err == nil {
		x.Report(diskSpace(path, free))
	}
	x.Report(x.lock())
}

// checkHome judges a state directory and reports whether it exists and is usable.
func checkHome(path string) (found Finding, usable bool) {
	const check = "state directory"
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return newHome(path), false
	case err != nil:
		return newProblem(check, "let the user that runs candela enter it, or choose another --home", "%s", err), false
	case !info.IsDir():
		return newProblem(check, "move it away, or choose another --home", "%s is not a directory", path), false
	}
	if mode := info.Mode().Perm(); runtime.GOOS != "windows" && mode&0o077 != 0 {
		return newProblem(check, "chmod 700 "+path, "%s is open to other users (%v)", path, info.Mode()), false
	}
	if fix, what := unwritable(path, info); what != "" {
		return newProblem(check, fix, "%s", what), false
	}
	return NewOK(check, "%s is writable, by its owner alone", path), true
}

// A backup needs as much space again as the store has.
const (
	minFree  = 16 << 20
	wantFree = 256 << 20
)

// diskSpace judges the free space beside the store.
func diskSpace(path string, free uint64) Finding {
	const (
		check = "disk"
		fix   = "free space on the disk of the state directory, or move it with --home: without space no alert fires and no order is sent"
	)
	switch {
	case free < minFree:
		return newProblem(check, fix, "%d KB are free in %s", free>>10, path)
	case free < wantFree:
		return newWarning(check, fix, "%d MB are free in %s", free>>20, path)
	}
	return NewOK(check, "%d MB are free", free>>20)
}

// newHome judges a state directory that does not exist yet.
func newHome(path string) Finding {
	const check = "state directory"
	parent := filepath.Dir(path)
	for {
		info, err := os.Stat(parent)
		if err == nil && info.IsDir() {
			if fix, what := unwritable(parent, info); what != "" {
				return newProblem(check, fix, "%s does not exist and cannot be created: %s", path, what)
			}
			return NewOK(check, "%s does not exist; the first start creates it", path)
		}
		next := filepath.Dir(parent)
		if next == parent || err == nil {
			return newProblem(check, "choose another --home", "%s cannot be created: %s is not a directory", path, parent)
		}
		parent = next
	}
}

// unwritable says why nothing can be created in a directory, and what to do; both are
// "" for a writable one. It creates nothing.
func unwritable(path string, info fs.FileInfo) (fix, what string) {
	const other = "chmod 700 %[1]s, chown it to the user that runs candela, or choose another --home"
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o200 == 0 {
		return fmt.Sprintf(other, path), fmt.Sprintf("%s is read-only (%v)", path, info.Mode().Perm())
	}
	err := mayWrite(path)
	switch {
	case err == nil:
		return "", ""
	case errors.Is(err, fs.ErrPermission):
		return fmt.Sprintf(other, path), "this user may not write in " + path
	}
	return "mount it for writing: ReadWritePaths= or StateDirectory= of a systemd unit, a volume of a container; or choose another --home",
		fmt.Sprintf("%s is not writable: %s", path, err)
}

// lock says which program runs in the state directory.
func (x *examination) lock() Finding {
	const check = "lock"
	held, err := statedir.Holder(x.cfg.Home)
	switch {
	case err != nil:
		return newProblem(check, "chown the files in "+x.cfg.Home+" to the user that runs candela", "%s", err)
	case held == "":
		return NewOK(check, "no candela runs in this state directory")
	case x.running:
		return NewOK(check, "the running server holds it")
	case held == statedir.EngineLock:
		return newWarning(check, "stop the program that holds it before starting another with --trade, or start that one with its own --home",
			"a program that trades, such as candela --mcp --trade in a client, runs in %s", x.cfg.Home)
	}
	return newWarning(check, "stop that process; its log says why it does not answer", "a server holds %s and does not answer on its control socket", held)
}

// store reads the whole store, as candela audit verify does.
func (x *examination) store(ctx context.Context) Finding {
	const (
		check = "store"
		fix   = "stop candela, keep " + ledger.FileName + " for analysis, and restore the last good backup: candela restore FOLDER; candela audit verify shows details"
	)
	log, err := ledger.OpenAudit(ctx, x.cfg.Home)
	if fault.KindOf(err) == fault.NotFound {
		return NewOK(check, "it does not exist yet; the first start with --trade creates it")
	}
	if err != nil {
		return newProblem(check, fix, "it cannot be opened: %s", err)
	}
	x.wait("reading the store")
	report, err := log.Verify(ctx)
	switch err = errors.Join(err, log.Close()); {
	case err != nil:
		return newProblem(check, fix, "it cannot be read: %s", err)
	case len(report.Breaks) > 0:
		return newProblem(check, fix, "its audit log was changed: %s", report.Breaks[0])
	}
	return NewOK(check, "%d events, unbroken", report.Events)
}
