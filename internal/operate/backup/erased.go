package backup

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"candela/internal/access/owners"
	"candela/internal/kit/principal"
	"candela/internal/store/statedir"
	"candela/lib/fault"
)

// Erased returns the owners who were erased from the state directory, by the file that each erasure is added to. A backup does not have it, so
// that a restore keeps the newest.
func Erased(home string) ([]principal.Owner, error) {
	f, err := os.Open(filepath.Join(home, statedir.ErasedName)) //nolint:gosec // G304: a file of the operator's own directory
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // opened for reading
	var all []principal.Owner
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		var one owners.Erasure
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", statedir.ErasedName, n, err)
		}
		all = append(all, one.Owner)
	}
	return all, lines.Err()
}

// NoteErased adds an erasure to the file.
func NoteErased(home string, one owners.Erasure) (err error) {
	line, err := json.Marshal(one)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(home, statedir.ErasedName), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600) //nolint:gosec // G304: in the state directory
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := f.Write(append(line, '\n')); err != nil {
		return err
	}
	return f.Sync()
}

// EraseAgain erases the owners whom restored records still have, and returns them.
func EraseAgain(ctx context.Context, records owners.Records, erased []principal.Owner) (again []principal.Owner, err error) {
	for _, id := range erased {
		o, err := records.Owner(ctx, id)
		if fault.KindOf(err) == fault.NotFound || err == nil && o.State == owners.Erased {
			continue
		}
		if err == nil && o.State == owners.Active {
			_, err = records.SetOwnerState(ctx, id, owners.Suspended)
		}
		if err == nil {
			_, err = records.EraseOwner(ctx, id)
		}
		if err != nil {
			return again, fmt.Errorf("erase owner %s again: %w", id, err)
		}
		again = append(again, id)
	}
	return again, nil
}
