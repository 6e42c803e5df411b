package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"

	"candela/internal/kit/secret"
	"candela/internal/kit/setting"
	"candela/lib/fault"
)

// maxFileBytes bounds what is read into memory; a real file has a few hundred.
const maxFileBytes = 1 << 20

// readConfigFile returns the file's bytes, or none when there is no file.
func readConfigFile(path string) ([]byte, error) {
	data, err := readGuarded(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
}

// readSecretFile returns the text of a file without its final line break.
func readSecretFile(path string) (secret.Text, error) {
	data, err := readGuarded(path)
	if err != nil {
		return secret.Text{}, err
	}
	text := strings.TrimRight(string(data), "\r\n")
	if text == "" {
		return secret.Text{}, fmt.Errorf("%s is empty", path)
	}
	if strings.ContainsAny(text, "\r\n\x00") {
		return secret.Text{}, fmt.Errorf("%s has more than one line", path)
	}
	return secret.New(text), nil
}

// readPassphraseFile is readPrivateFile for a passphrase, whose hash may be where
// others can read it: container secrets are mounted that way.
func readPassphraseFile(path string) (secret.Text, error) {
	secret, err := readSecretFile(path)
	if err == nil && !strings.HasPrefix(secret.Reveal(), "$argon2id$") {
		if err = refuseOpen(path); err != nil {
			err = fmt.Errorf("%w, or put the hash there that candela auth hash-password prints", err)
		}
	}
	return secret, err
}

// readPrivateFile is readSecretFile for what nobody but the owner may read.
func readPrivateFile(path string) (secret.Text, error) {
	if err := refuseOpen(path); err != nil {
		return secret.Text{}, err
	}
	return readSecretFile(path)
}

// readKeyFile returns the two lines of a file: a key's name and its secret.
func readKeyFile(path string) (id, half string, err error) {
	text, err := readOwnFile(path)
	lines := strings.Fields(text)
	if err == nil && len(lines) != 2 {
		err = fmt.Errorf("%s does not hold two lines, the key id and the secret", path)
	}
	if err != nil {
		return "", "", err
	}
	return lines[0], lines[1], nil
}

// readLongKeyFile returns a key from the first line of a file and its secret from the
// rest: a line, or the lines of a private key.
func readLongKeyFile(path string) (id, half string, err error) {
	text, err := readOwnFile(path)
	id, half, _ = strings.Cut(text, "\n")
	id, half = strings.TrimSpace(id), strings.TrimSpace(half)
	if err == nil && (id == "" || half == "" || strings.ContainsAny(id, " \t")) {
		err = fmt.Errorf("%s does not hold the key in its first line and the secret after it", path)
	}
	return id, half, err
}

// readOwnFile returns the text of a file that no other user can read: keys open an
// account with money in it.
func readOwnFile(path string) (string, error) {
	if err := refuseOpen(path); err != nil {
		return "", err
	}
	data, err := readGuarded(path)
	if err == nil && bytes.IndexByte(data, 0) >= 0 {
		err = fmt.Errorf("%s holds a zero byte", path)
	}
	return string(data), err
}

// ReadFile reads a file that decides what this program does, such as the policy of
// orders: small, regular, and writable by nobody but its owner and group.
func ReadFile(path string) ([]byte, error) { return readGuarded(path) }

// refuseOpen refuses a file that other users can read or write.
func refuseOpen(path string) error {
	info, err := os.Stat(path)
	if err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%s is open to other users (%v): chmod 600 it", path, info.Mode().Perm())
	}
	return err
}

// readGuarded reads a small regular file, and refuses one that every user of the
// machine can write: any of them could decide what this program does. Reading by
// others is not refused, because container secrets are mounted that way.
func readGuarded(path string) ([]byte, error) {
	info, err := os.Stat(path) // before opening, which would hang on a named pipe
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o002 != 0 {
		return nil, fmt.Errorf("%s can be written by every user (%v): chmod o-w it", path, info.Mode().Perm())
	}
	file, err := os.Open(path) //nolint:gosec // G304: the operator names the file, that is the purpose
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // opened for reading: nothing is lost
	data, err := io.ReadAll(io.LimitReader(file, maxFileBytes+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxFileBytes {
		return nil, fmt.Errorf("%s is larger than %d bytes", path, maxFileBytes)
	}
	return data, nil
}

// parseFile reads the keys of candela.toml. The keys are flat: a table is an
// unknown key.
func (l *loader) parseFile(path string, data []byte) []given {
	var doc map[string]any
	if _, err := toml.Decode(string(data), &doc); err != nil {
		l.refuse(refused(path, "%s: %s", path, strings.TrimPrefix(err.Error(), "toml: ")))
		return nil
	}
	values := make([]given, 0, len(doc))
	for _, key := range slices.Sorted(maps.Keys(doc)) { // the problems need an order
		if g, ok := l.readKey(path, key, doc[key]); ok {
			values = append(values, g)
		}
	}
	return values
}

func (l *loader) readKey(path, key string, raw any) (given, bool) {
	s := l.find(func(s Setting) bool { return s.Key() == key })
	if s.Name == "" {
		l.refuse(unknown(key, l.names(FromFile, Setting.Key), "unknown key %q in %s", key, path))
		return given{}, false
	}
	if s.Sources&FromFile == 0 {
		l.refuse(refused(key, "%s: %s cannot stand in the file: use %s", path, key, s.Env()))
		return given{}, false
	}
	label := path + ": " + key
	text, ok := tomlText(s.value.Shape, raw)
	if !ok {
		l.bad[s.Name] = true
		l.refuse(fault.Field(label, s.value.quote(fmt.Sprint(raw)), shapeNames()[s.value.Shape]+", "+s.value.Allowed))
		return given{}, false
	}
	return given{s, text, label}, true
}

func shapeNames() [4]string {
	return [...]string{
		setting.ShapeString: "a string",
		setting.ShapeBool:   "a boolean",
		setting.ShapeInt:    "an integer",
		setting.ShapeList:   "an array of strings",
	}
}

// tomlText writes a TOML value as a flag would be written, and refuses a value
// of another type: port = "9315" is a slip, not a port.
func tomlText(want setting.Shape, raw any) (string, bool) {
	switch v := raw.(type) {
	case string:
		return v, want == setting.ShapeString
	case bool:
		return strconv.FormatBool(v), want == setting.ShapeBool
	case int64:
		return strconv.FormatInt(v, 10), want == setting.ShapeInt || want == setting.ShapeBool
	case []any:
		return joinList(v, want)
	}
	return "", false
}

// joinList refuses an item with a comma, which would become two.
func joinList(raw []any, want setting.Shape) (string, bool) {
	items := make([]string, 0, len(raw))
	for _, r := range raw {
		item, ok := r.(string)
		if !ok || strings.Contains(item, ",") || strings.TrimSpace(item) == "" {
			return "", false
		}
		items = append(items, item)
	}
	return strings.Join(items, ","), want == setting.ShapeList
}
