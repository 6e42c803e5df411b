package backup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"candela/internal/kit/disk"
	"candela/internal/kit/principal"
	"candela/internal/store/replica/alerts"
	"candela/internal/store/replica/audit"
	"candela/internal/store/replica/auditlog"
	"candela/internal/store/replica/conn"
	"candela/internal/store/replica/orders"
	ownerstore "candela/internal/store/replica/owners"
	"candela/internal/trading/desk"
	"candela/internal/trading/guard"
	"candela/lib/fault"
)

// StreamsDir is the folder of a backup with the streams of replicas.
const StreamsDir = "streams"

// streamNames lists the streams in the order in which they are copied: each is older than those that refer to it. A reader's place is copied
// before what was read, a snapshot of orders before the orders, and what is moved to the audit log before the log.
func streamNames(many bool) []string {
	names := []string{"STATE", "BOOKS", "ALERTS", "ORDERS", "AUDIT"}
	if many {
		names = append([]string{"OWNERS"}, names...)
	}
	return names
}

// streamFile describes the copy of a stream.
type streamFile struct {
	conn.Snapshot
	SHA256 string `json:"sha256"`
	Bytes  int64  `json:"bytes"`
}

// CopyStreams copies the streams of replicas into a folder of a backup, while replicas run. A stream that does not exist is left out.
func CopyStreams(ctx context.Context, servers conn.Config, log *slog.Logger, room string) (copied []string, err error) {
	c, err := conn.ConnectWait(ctx, servers, log)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	dir := filepath.Join(room, StreamsDir)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	for _, name := range streamNames(servers.ManyOwners) {
		there, err := c.HasStream(ctx, name)
		if err != nil {
			return nil, err
		}
		if !there {
			continue
		}
		if err := copyStream(ctx, c, dir, name); err != nil {
			return nil, err
		}
		copied = append(copied, c.StreamName(name))
	}
	if len(copied) == 0 {
		return nil, fault.New(fault.NotFound, "nothing_to_copy", "the NATS servers have no streams with the prefix that --nats-prefix names (%s)", servers.Prefix)
	}
	return copied, disk.SyncDir(dir)
}

func copyStream(ctx context.Context, c *conn.Conn, dir, name string) error {
	about := streamFile{}
	sum := sha256.New()
	err := disk.Create(filepath.Join(dir, name), func(out *os.File) (err error) {
		about.Snapshot, err = c.CopyStream(ctx, name, io.MultiWriter(out, sum))
		if err == nil {
			about.Bytes, err = out.Seek(0, io.SeekCurrent)
		}
		return err
	})
	if err != nil {
		return err
	}
	about.SHA256 = hex.EncodeToString(sum.Sum(nil))
	text, err := json.MarshalIndent(about, "", "  ")
	if err != nil {
		return err
	}
	return disk.Create(filepath.Join(dir, name+".json"), func(out *os.File) error {
		_, err := out.Write(text)
		return err
	})
}

// HasStreams reports whether a backup has streams of replicas.
func HasStreams(from string) bool {
	_, err := os.Lstat(filepath.Join(from, StreamsDir))
	return err == nil
}

// RestoreStreams makes the streams of a backup at servers that have none of them, halts the accounts, and erases the owners again that were erased
// since. No replica may run. It returns the streams, why trading is halted, and the owners.
func RestoreStreams(ctx context.Context, from string, servers conn.Config, log *slog.Logger, accounts []string, erased []principal.Owner, now time.Time) (names []string, why string, again []principal.Owner, err error) {
	dir := filepath.Join(from, StreamsDir)
	all, err := readStreams(dir, servers.ManyOwners)
	if err != nil {
		return nil, "", nil, err
	}
	c, err := conn.ConnectWait(ctx, servers, log)
	if err != nil {
		return nil, "", nil, err
	}
	defer c.Close()
	if err := unused(ctx, c, servers.ManyOwners); err != nil {
		return nil, "", nil, err
	}
	newest := now
	for _, name := range streamNames(servers.ManyOwners) {
		about, there := all[name]
		if !there {
			continue
		}
		if err := restoreStream(ctx, c, dir, name, about); err != nil {
			return names, "", nil, err
		}
		names = append(names, c.StreamName(name))
		if last := lastTime(about.State); name == "ORDERS" && !last.IsZero() {
			newest = last
		}
	}
	stored, err := orders.Open(ctx, c, time.Now)
	if err != nil {
		return names, "", nil, err
	}
	for _, account := range accounts {
		_, failed := desk.SetStoredRestored(ctx, stored, principal.Owner(account), byRestore, newest, now)
		err = errors.Join(err, failed)
	}
	if err != nil || !servers.ManyOwners {
		return names, guard.RestoredReason(newest), nil, err
	}
	again, err = eraseAgainAt(ctx, c, erased)
	return names, guard.RestoredReason(newest), again, err
}

// eraseAgainAt erases owners whom the streams still have.
func eraseAgainAt(ctx context.Context, c *conn.Conn, erased []principal.Owner) ([]principal.Owner, error) {
	alertStore, err := alerts.Open(ctx, c, time.Now)
	if err != nil {
		return nil, err
	}
	log, err := auditlog.Open(ctx, c, time.Now)
	if err != nil {
		return nil, err
	}
	records, err := ownerstore.Open(ctx, c, time.Now, alertStore)
	if err != nil {
		return nil, err
	}
	defer records.Close()
	records.Audit = audit.Owned{Log: log}
	return EraseAgain(ctx, records, erased)
}

// readStreams reads what there is about the streams of a backup, and checks their files before anything is changed.
func readStreams(dir string, many bool) (map[string]streamFile, error) {
	all := map[string]streamFile{}
	for _, name := range streamNames(many) {
		data, err := os.ReadFile(filepath.Join(dir, name+".json")) //nolint:gosec // G304: a file of the operator's own backup
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		var about streamFile
		if err := json.Unmarshal(data, &about); err != nil {
			return nil, fmt.Errorf("%s.json: %w", name, err)
		}
		if err := checkFile(filepath.Join(dir, name), about); err != nil {
			return nil, err
		}
		all[name] = about
	}
	if _, owners := os.Lstat(filepath.Join(dir, "OWNERS.json")); (owners == nil) != many && len(all) > 0 {
		return nil, fault.New(fault.Conflict, "owners_mode", "the backup is of an installation with --owners %s; restore it with the same", map[bool]string{true: "single", false: "oidc"}[many])
	}
	if len(all) == 0 {
		return nil, fault.New(fault.NotFound, "nothing_to_copy", "%s has no streams", dir)
	}
	return all, nil
}

// checkFile returns an error if a file is not what was copied.
func checkFile(path string, about streamFile) error {
	f, err := os.Open(path) //nolint:gosec // G304: a file of the operator's own backup
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // opened for reading
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return err
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != about.SHA256 {
		return fault.New(fault.Conflict, "backup_damaged", "%s was changed since the backup: its SHA-256 is %s, not %s. Nothing was restored.", path, got, about.SHA256)
	}
	return nil
}

// unused refuses servers that have a stream of the installation, which a restore would mix with the backup.
func unused(ctx context.Context, c *conn.Conn, many bool) error {
	var found []string
	for _, name := range append(streamNames(many), "TOKENS", "MEMBERS") {
		there, err := c.HasStream(ctx, name)
		if err != nil {
			return err
		}
		if there {
			found = append(found, c.StreamName(name))
		}
	}
	if len(found) == 0 {
		return nil
	}
	return fault.New(fault.Conflict, "streams_exist", "the NATS servers have the streams %s already. Stop all replicas and remove these streams, or restore to other servers; nothing was restored.", strings.Join(found, ", "))
}

func restoreStream(ctx context.Context, c *conn.Conn, dir, name string, about streamFile) error {
	f, err := os.Open(filepath.Join(dir, name)) //nolint:gosec // G304: a file of the operator's own backup
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // opened for reading
	return c.RestoreStream(ctx, name, about.Snapshot, f)
}

// lastTime returns when the newest message of a stream was stored.
func lastTime(state json.RawMessage) time.Time {
	var s struct {
		Last time.Time `json:"last_ts"`
	}
	if json.Unmarshal(state, &s) != nil {
		return time.Time{}
	}
	return s.Last
}
