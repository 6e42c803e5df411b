package deskproxy

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"candela/internal/kit/retry"
	"candela/internal/store/replica/conn"
	"candela/internal/store/replica/member"
	"candela/internal/trading/desk"
	"candela/internal/trading/guard"
	"candela/lib/fault"
)

const (
	// haltFileTimeout bounds the wait for another replica's halt-file status.
	haltFileTimeout = 2 * time.Second
	// haltFileMaxWait bounds how long trading waits for that status at its start. It is
	// enough to detect a dead replica, and short enough for a halt, which waits ten seconds.
	haltFileMaxWait = member.DeadAfter + 2*time.Second
	// haltFileRetryEvery is the pause between two requests.
	haltFileRetryEvery = 250 * time.Millisecond
)

// haltFile returns the name of the local halt file, "" for none. An error other than "not found"
// counts as a file.
func (d *Desk) haltFile() string {
	if d.cfg.HaltFile == "" {
		return ""
	}
	if _, err := os.Lstat(d.cfg.HaltFile); errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	return desk.FileAt(d.cfg.HaltFile, d.members.Name())
}

// checkNoHaltFile returns an error that names the halt files of all replicas.
func (d *Desk) checkNoHaltFile(ctx context.Context) error {
	files, unresponsive := d.haltFiles(ctx)
	names := strings.Join(files, " and ")
	switch {
	case len(files) > 1:
		return &fault.Error{Kind: fault.Conflict, Code: "halt_file", Value: names, Message: "the files " + names + " halt trading: remove them first"}
	case len(files) == 1:
		return &fault.Error{Kind: fault.Conflict, Code: "halt_file", Value: names, Message: "the file " + names + " halts trading: remove it first"}
	case len(unresponsive) > 0:
		return &fault.Error{
			Kind: fault.Unavailable, Code: "unavailable", Value: strings.Join(unresponsive, ", "), Retryable: true, RetryAfter: member.DeadAfter,
			Message: "Trading was not resumed: replica " + strings.Join(unresponsive, " and ") + " does not answer and may have a halt file. " +
				"Retry in a few seconds.",
		}
	}
	return nil
}

// HaltFiles names the halt files of all replicas that reply within two seconds.
func (d *Desk) HaltFiles(ctx context.Context) []string {
	files, _ := d.haltFiles(ctx)
	return files
}

// haltFiles asks every replica for its halt file. A heartbeat could be a second old, which is too
// late for an owner who has just removed the file.
func (d *Desk) haltFiles(ctx context.Context) (files, unresponsive []string) {
	ctx, cancel := context.WithTimeout(ctx, haltFileTimeout)
	defer cancel()
	var others []peerHaltFile
	for _, p := range d.members.Peers() {
		if p.Account != "" {
			others = append(others, peerHaltFile{Peer: p})
		}
	}
	_ = conn.ForEach(len(others), func(i int) (err error) {
		others[i].file, err = d.haltFileAt(ctx, others[i].ID)
		others[i].unresponsive = err != nil && d.members.Live(others[i].ID)
		return nil
	})
	for _, one := range append(others, peerHaltFile{file: d.haltFile()}) {
		if one.file != "" {
			files = append(files, one.file)
		}
		if one.unresponsive {
			unresponsive = append(unresponsive, one.Name)
		}
	}
	return files, unresponsive
}

// waitHaltFiles is haltFiles before trading starts: it repeats the request to replicas that do
// not reply, for up to haltFileMaxWait.
func (d *Desk) waitHaltFiles(ctx context.Context) []string {
	waiting, cancel := context.WithTimeout(ctx, haltFileMaxWait)
	defer cancel()
	for logged := false; ; logged = true {
		files, unresponsive := d.haltFiles(waiting)
		if len(files) > 0 || len(unresponsive) == 0 || ctx.Err() != nil {
			return files
		}
		if !logged {
			d.cfg.Log.WarnContext(ctx, "trading start delayed: waiting for halt-file status", "replicas", unresponsive, "max_wait", haltFileMaxWait)
		}
		if retry.Sleep(waiting, haltFileRetryEvery) != nil {
			d.cfg.Log.WarnContext(ctx, "trading started without halt-file status of unresponsive replicas; a halt file there takes effect once that replica reports it",
				"replicas", unresponsive)
			return nil
		}
	}
}

func (d *Desk) haltFileAt(ctx context.Context, id string) (file string, err error) {
	data, err := d.members.CallReplica(ctx, id, d.method(methodHaltFile), nil)
	switch {
	case member.Declined(err):
		return "", nil // it is starting or stopping
	case err != nil:
		return "", err
	}
	return file, json.Unmarshal(data, &file)
}

type peerHaltFile struct {
	member.Peer
	file         string // its halt file
	unresponsive bool   // it did not reply
}

// halted reports whether the owner's halt is in force. Checked before each repeated halt, because
// every halt is recorded.
func (d *Desk) halted(ctx context.Context) bool {
	s, err := d.Status(ctx)
	return err == nil && haltedByOwner(s)
}

func haltedByOwner(s desk.Status) bool {
	return slices.ContainsFunc(s.State.Restrictions, func(c guard.Restriction) bool { return c.Kind == guard.OwnerHalt })
}

// watchHaltFile halts trading while the local halt file exists and another replica trades. The
// local desk watches the file itself.
func (d *Desk) watchHaltFile(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	halted := true
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		file := d.haltFile()
		if d.local.Load() != nil || file == "" || d.halted(ctx) {
			continue
		}
		_, err := d.Halt(ctx, "the file "+file, "remove it first")
		if err != nil && halted && ctx.Err() == nil {
			d.cfg.Log.ErrorContext(ctx, "halt file found but halting failed; retrying", "file", file, "error", err)
		}
		halted = err == nil
	}
}
