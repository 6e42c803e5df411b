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

	"candela/internal/kit/fault"
	"candela/internal/kit/retry"
	"candela/internal/store/replica/conn"
	"candela/internal/store/replica/member"
	"candela/internal/trading/desk"
	"candela/internal/trading/guard"
)

const (
	// haltFileTimeout is how long another replica has to say whether a halt file lies beside it.
	haltFileTimeout = 2 * time.Second
	// haltFileMaxWait is how long who is about to trade waits for one that does not say so. A
	// dead one is found out by then, and of the ten seconds that a halt waits for someone
	// who trades enough is left to begin.
	haltFileMaxWait = member.DeadAfter + 2*time.Second
	// haltFileRetryEvery is how long it waits between two questions.
	haltFileRetryEvery = 250 * time.Millisecond
)

// haltFile returns the name of the halt file that lies here, "" for none. One that
// cannot be looked for may be there.
func (d *Desk) haltFile() string {
	if d.cfg.HaltFile == "" {
		return ""
	}
	if _, err := os.Lstat(d.cfg.HaltFile); errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	return desk.FileAt(d.cfg.HaltFile, d.members.Name())
}

// resume has the desk that runs here resume, unless a halt file lies beside a replica:
// that would halt again at once, and the owner would not know why.
func (d *Desk) resume(ctx context.Context, running *desk.Desk, who string) (guard.State, error) {
	if err := d.checkNoHaltFile(ctx); err != nil {
		return guard.State{}, err
	}
	return running.Resume(ctx, who)
}

// checkNoHaltFile refuses while a halt file lies beside a replica, and names all of them.
func (d *Desk) checkNoHaltFile(ctx context.Context) error {
	files, silent := d.haltFiles(ctx)
	names := strings.Join(files, " and ")
	switch {
	case len(files) > 1:
		return &fault.Error{Kind: fault.Conflict, Code: "halt_file", Value: names, Message: "the files " + names + " halt trading: remove them first"}
	case len(files) == 1:
		return &fault.Error{Kind: fault.Conflict, Code: "halt_file", Value: names, Message: "the file " + names + " halts trading: remove it first"}
	case len(silent) > 0:
		return &fault.Error{
			Kind: fault.Unavailable, Code: "unavailable", Value: strings.Join(silent, ", "), Retryable: true, RetryAfter: member.DeadAfter,
			Message: "nothing was done: the replica " + strings.Join(silent, " and ") + " does not answer, and a halt file may lie there; " +
				"resume again in a few seconds, when it does or counts as dead",
		}
	}
	return nil
}

// HaltFiles names the halt files that lie beside replicas, as far as those answer
// within two seconds.
func (d *Desk) HaltFiles(ctx context.Context) []string {
	files, _ := d.haltFiles(ctx)
	return files
}

// haltFiles asks every replica whether a halt file lies beside it. A heartbeat would
// tell as much and be a second old, which is long for an owner who has just removed
// the file. A replica that has just been started may not know yet; it halts when it
// does.
func (d *Desk) haltFiles(ctx context.Context) (files, silent []string) {
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
			silent = append(silent, one.Name)
		}
	}
	return files, silent
}

// waitHaltFiles is haltFiles for who is about to trade: a replica that does not
// answer is asked until it does or counts as dead, for a while.
func (d *Desk) waitHaltFiles(ctx context.Context) []string {
	asking, cancel := context.WithTimeout(ctx, haltFileMaxWait)
	defer cancel()
	for told := false; ; told = true {
		files, silent := d.haltFiles(asking)
		if len(files) > 0 || len(silent) == 0 || ctx.Err() != nil {
			return files
		}
		if !told {
			d.cfg.Log.WarnContext(ctx, "trading start delayed: waiting for halt-file status", "replicas", silent, "at_most", haltFileMaxWait)
		}
		if retry.Sleep(asking, haltFileRetryEvery) != nil {
			d.cfg.Log.WarnContext(ctx, "trading started without halt-file status of unresponsive replicas; a halt file there takes effect once that replica reports it",
				"replicas", silent)
			return nil
		}
	}
}

// haltFileAt asks another replica for the name of its halt file.
func (d *Desk) haltFileAt(ctx context.Context, id string) (file string, err error) {
	data, err := d.members.CallReplica(ctx, id, d.method(methodHaltFile), nil)
	switch {
	case member.Declined(err):
		return "", nil // it is about to start, or ends
	case err != nil:
		return "", err
	}
	return file, json.Unmarshal(data, &file)
}

// peerHaltFile is another replica that could trade.
type peerHaltFile struct {
	member.Peer
	file         string // its halt file
	unresponsive bool   // it was asked and did not answer
}

// halted reports whether the owner's halt is in force. It is asked before a halt that
// is repeated every second: each of those is written down.
func (d *Desk) halted(ctx context.Context) bool {
	s, err := d.Status(ctx)
	return err == nil && haltedByOwner(s)
}

// haltedByOwner reports whether the owner's halt is in force by what a desk says.
func haltedByOwner(s desk.Status) bool {
	return slices.ContainsFunc(s.State.Restrictions, func(c guard.Restriction) bool { return c.Kind == guard.OwnerHalt })
}

// watchHaltFile has trading halted, wherever it is done, while the halt file is
// here. The desk that runs here looks at it itself.
func (d *Desk) watchHaltFile(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	told := true
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
		_, err := d.Halt(ctx, "the file "+file, "it is there")
		if err != nil && told && ctx.Err() == nil {
			d.cfg.Log.ErrorContext(ctx, "halt file found but halting failed; retrying", "error", err)
		}
		told = err == nil
	}
}
