// Package statedir is the directory in which an installation keeps its state: who
// may enter it, which process has it, and what the files in it are called that
// several packages meet. What is in those files belongs to the packages that write
// them. It knows nothing of markets; whatever starts, stops or copies an
// installation calls it.
package statedir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"candela/lib/fault"
)

// The files besides the configuration and the store, which config and ledger name.
const (
	AlertsName        = "alerts.list"        // the alerts that a replica listed last; it starts without, but later
	ErasedName        = "erased.jsonl"       // the owners who were erased, for a restore of an older backup
	HaltName          = "HALT"               // halts trading while it is there
	PlansName         = "plans.toml"         // the limits of owners where they are many
	PolicyName        = "policy.toml"        // the policy of orders; no tool writes it
	ReplicaName       = "replica"            // a replica ran here last: the NATS servers keep what it stored
	SubscriptionsName = "subscriptions.json" // who has subscribed to what, and how far each has come
	UsageName         = "usage"              // the folder of what owners used where they are many
)

// Open makes the state directory, or checks the one that is there. One that
// other users can enter is refused and not tightened: it may be shared on
// purpose, and --home /var/lib must not take /var/lib from everyone else.
func Open(path string) error {
	if err := makePrivate(path); err != nil {
		return unusable(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("state directory: %w", err)
	}
	// Windows has no such bits; makePrivate keeps others out of what it makes.
	if mode := info.Mode().Perm(); runtime.GOOS != "windows" && mode&0o077 != 0 {
		return &fault.Error{
			Kind: fault.Conflict, Code: "state_directory_open", Field: "home", Value: path, Allowed: "permissions 0700",
			Message: fmt.Sprintf("state directory %s is open to other users (%v): chmod 700 it, or name a directory inside it with --home, which is then made", path, info.Mode()),
		}
	}
	return checkOwner(path, info, os.Geteuid())
}

// unusable says what to do about a state directory that cannot be made or written.
func unusable(err error) error {
	return fmt.Errorf("state directory: %w; let this user write there, or choose another --home", err)
}

// MarkReplica records whether a replica uses the state directory, for commands that are given no address of its NATS servers.
func MarkReplica(home string, is bool) error {
	path := filepath.Join(home, ReplicaName)
	var err error
	if is {
		err = os.WriteFile(path, []byte("A replica of candela uses this directory. The NATS servers keep what it stores.\n"), 0o600)
	} else if err = os.Remove(path); errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err != nil {
		return unusable(err)
	}
	return nil
}

// IsReplica reports whether a replica used the state directory last.
func IsReplica(home string) bool {
	_, err := os.Lstat(filepath.Join(home, ReplicaName))
	return err == nil
}
