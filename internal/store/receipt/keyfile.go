package receipt

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"candela/internal/kit/disk"
	"candela/internal/store/chain"
	"candela/lib/fault"
)

// KeyName is the file of the key in a state directory: 32 random bytes that its owner alone can read.
const KeyName = "receipts.key"

// nextName is the file of a key that is about to replace the other.
const nextName = KeyName + ".next"

// ReadKey returns the key of a state directory, the zero key if there is none.
func ReadKey(home string) (chain.Key, error) { return readKey(filepath.Join(home, KeyName)) }

// KeyIn returns what reads the key of a state directory.
func KeyIn(home string) func() (chain.Key, error) {
	return func() (chain.Key, error) { return ReadKey(home) }
}

func readKey(path string) (chain.Key, error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return chain.Key{}, nil
	}
	if err != nil {
		return chain.Key{}, err
	}
	if mode := info.Mode(); runtime.GOOS != "windows" && mode.Perm()&0o077 != 0 { // Windows has no such bits
		return chain.Key{}, &fault.Error{
			Kind: fault.Conflict, Code: "receipt_key_open", Field: "home", Value: path, Allowed: "permissions 0600",
			Message: fmt.Sprintf("%s is open to other users (%v): chmod 600 it, and run candela receipt rotate if one of them may have read it", path, mode.Perm()),
		}
	}
	if !info.Mode().IsRegular() || info.Size() != chain.SeedSize {
		return chain.Key{}, &fault.Error{
			Kind: fault.Conflict, Code: "receipt_key_damaged", Field: "home", Value: path, Allowed: "32 bytes",
			Message: path + " is not a key of 32 bytes: restore it, or remove it; the next start with --trade then makes another, which no older key vouches for",
		}
	}
	seed, err := os.ReadFile(path) //nolint:gosec // G304: in the state directory, by a name of ours
	if err != nil {
		return chain.Key{}, err
	}
	return chain.NewKey([chain.SeedSize]byte(seed)), nil
}

// OpenKey returns the key of a state directory and makes one if there is none. last is the ID of the key that the log
// names last: it decides whether a rotation that was interrupted counts.
func OpenKey(home, last string) (chain.Key, error) {
	next, err := readKey(filepath.Join(home, nextName))
	if err != nil {
		return chain.Key{}, err
	}
	if !next.IsZero() && next.ID() == last {
		return next, UseNext(home)
	}
	key, err := ReadKey(home)
	if err != nil || !key.IsZero() {
		return key, err
	}
	return makeKey(filepath.Join(home, KeyName))
}

// MakeNext makes the key that is to replace the one of a state directory.
func MakeNext(home string) (chain.Key, error) { return makeKey(filepath.Join(home, nextName)) }

// UseNext puts the key of MakeNext in the place of the other.
func UseNext(home string) error {
	if err := disk.Rename(filepath.Join(home, nextName), filepath.Join(home, KeyName)); err != nil {
		return err
	}
	return disk.SyncDir(home)
}

func makeKey(path string) (chain.Key, error) {
	var seed [chain.SeedSize]byte
	_, _ = rand.Read(seed[:]) // never fails
	return chain.NewKey(seed), disk.Replace(path, seed[:])
}
