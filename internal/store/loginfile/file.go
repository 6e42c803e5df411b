package loginfile

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"candela/internal/access/oauth"
	"candela/internal/kit/disk"
	"candela/lib/fault"
)

// The files in the state directory. A backup has neither: a copy must not be a login.
const (
	KeyName  = "logins.key"
	FileName = "logins.db"
)

const (
	version = 1
	title   = "candela logins " // the file begins with it, the version and a line break

	maxFile = 64 << 20 // bytes; 20,000 tokens have 12 MB
)

// contents is what the file holds, as JSON.
type contents struct {
	Saved      time.Time     `json:"saved"`          // the newest time that was seen
	Passphrase string        `json:"passphrase"`     // the argon2id hash
	Live       string        `json:"live,omitempty"` // the account with real money; "" for none
	Tokens     []oauth.Token `json:"tokens"`
}

// masterKey is the content of logins.key. A new one ends all logins.
type masterKey [32]byte

func newKey() masterKey {
	var k masterKey
	_, _ = rand.Read(k[:]) // documented never to fail
	return k
}

func (k masterKey) derive(purpose string) ([]byte, error) {
	return hkdf.Key(sha256.New, k[:], nil, "candela logins 1 "+purpose, sha256.Size)
}

// clients returns the key that seals client ids.
func (k masterKey) clients() (oauth.SealKey, error) {
	raw, err := k.derive("client ids")
	if err != nil {
		return oauth.SealKey{}, err
	}
	return oauth.SealKey(raw), nil
}

// box seals the file: AES-256-GCM with a random nonce.
func (k masterKey) box() (cipher.AEAD, error) {
	raw, err := k.derive("file")
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(raw)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

func header() []byte { return fmt.Appendf(nil, "%s%d\n", title, version) }

// seal returns the content of the file. The header is authenticated with it.
func (k masterKey) seal(c contents) ([]byte, error) {
	plain, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	box, err := k.box()
	if err != nil {
		return nil, err
	}
	return box.Seal(header(), nil, plain, header()), nil //nolint:gosec // G407: the box draws the nonce
}

// open reads the content of the file at path.
func (k masterKey) open(path string, data []byte) (*contents, error) {
	head, sealed, found := bytes.Cut(data, []byte("\n"))
	number, isOurs := bytes.CutPrefix(head, []byte(title))
	wrote, err := strconv.Atoi(string(number))
	switch {
	case !found || !isOurs || err != nil || wrote < 1:
		return nil, damaged(path, "is not a file of logins")
	case wrote > version:
		return nil, &fault.Error{
			Kind: fault.Conflict, Code: "logins_newer", Field: "home", Value: path,
			Message: fmt.Sprintf("%s was written by a newer candela (format %d, this one knows %d): install that version again, or remove the file, and clients log in again", path, wrote, version),
		}
	}
	box, err := k.box()
	if err != nil {
		return nil, err
	}
	plain, err := box.Open(nil, nil, sealed, data[:len(head)+1])
	if err != nil {
		return nil, damaged(path, "is damaged, was changed, or is not sealed with "+KeyName)
	}
	c := &contents{}
	if err := json.Unmarshal(plain, c); err != nil {
		return nil, damaged(path, "cannot be decoded")
	}
	return c, nil
}

func damaged(path, what string) error {
	return &fault.Error{
		Kind: fault.Conflict, Code: "logins_damaged", Field: "home", Value: path,
		Message: fmt.Sprintf("%s %s: find out who wrote there, then remove it; clients log in again", path, what),
	}
}

// failure says what to do about files that cannot be written.
func failure(err error) error {
	return fmt.Errorf("write logins: %w; free space on the disk, and let this user write in the state directory", err)
}

// read returns the key and the logins of a state directory, or nil if one of the files is not
// there.
func read(dir string) (key masterKey, stored *contents, err error) {
	path := filepath.Join(dir, KeyName)
	raw, err := readPrivate(path)
	if errors.Is(err, fs.ErrNotExist) {
		return key, nil, nil
	}
	if err != nil {
		return key, nil, err
	}
	if len(raw) != len(key) {
		return key, nil, &fault.Error{
			Kind: fault.Conflict, Code: "logins_key", Field: "home", Value: path, Allowed: "32 bytes",
			Message: fmt.Sprintf("%s has %d bytes instead of %d: remove it; a new one is made at the next start, and clients log in again", path, len(raw), len(key)),
		}
	}
	key = masterKey(raw)
	path = filepath.Join(dir, FileName)
	data, err := readPrivate(path)
	if errors.Is(err, fs.ErrNotExist) {
		return key, nil, nil
	}
	if err != nil {
		return key, nil, err
	}
	stored, err = key.open(path, data)
	return key, stored, err
}

// readPrivate reads a file that other users can neither read nor write.
func readPrivate(path string) ([]byte, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	mode := info.Mode()
	switch {
	case !mode.IsRegular() || info.Size() > maxFile:
		return nil, damaged(path, "is not a file of logins")
	case runtime.GOOS != "windows" && mode.Perm()&0o077 != 0: // Windows has no such bits
		return nil, &fault.Error{
			Kind: fault.Conflict, Code: "logins_open", Field: "home", Value: path, Allowed: "permissions 0600",
			Message: fmt.Sprintf("%s is open to other users (%v): remove it if one of them may have read it, and clients log in again; otherwise chmod 600 it", path, mode.Perm()),
		}
	}
	return os.ReadFile(path) //nolint:gosec // G304: in the state directory, by a name of ours
}

func writeFile(dir string, key masterKey, c contents) error {
	data, err := key.seal(c)
	if err != nil {
		return err
	}
	return disk.Replace(filepath.Join(dir, FileName), data)
}

// replaceKey writes a key after it has removed what was sealed with an earlier one.
func replaceKey(dir string, key masterKey) error {
	if err := remove(dir, FileName); err != nil {
		return err
	}
	return disk.Replace(filepath.Join(dir, KeyName), key[:])
}

// remove removes a file for good, if it is there.
func remove(dir, name string) error {
	if err := os.Remove(filepath.Join(dir, name)); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	return disk.SyncDir(dir)
}

// Stored reports whether a state directory has stored logins.
func Stored(dir string) bool {
	for _, name := range []string{KeyName, FileName} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}

// Count returns how many clients of a state directory have a live token.
func Count(dir string, now time.Time) (clients int, err error) {
	_, stored, err := read(dir)
	if err != nil || stored == nil {
		return 0, err
	}
	for _, t := range stored.Tokens {
		if now.Before(t.Expires) {
			clients++
		}
	}
	return clients, nil
}

// Remove ends all stored logins of a state directory in which no server runs.
func Remove(dir string) error {
	if err := remove(dir, FileName); err != nil {
		return failure(err)
	}
	if err := remove(dir, KeyName); err != nil {
		return failure(err)
	}
	return nil
}
