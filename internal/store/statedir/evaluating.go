package statedir

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// evaluatingName is the file that names what is evaluated at this moment.
const evaluatingName = "evaluating"

// EvaluatingSlots is how many scripts the file names at most.
const EvaluatingSlots = 64

// slotBytes is the length of a name: 64 hexadecimal digits and a line break.
const slotBytes = 65

// Evaluating is a small file that names the scripts which this process evaluates for alerts, so that
// the next process knows what this one was doing if it died. It is written and never synced: the
// system keeps what a killed process wrote, and what a power failure loses was not the fault of a
// script. It is safe for concurrent use by the process that holds the engine lock.
type Evaluating struct {
	home string

	mu   sync.Mutex
	file *os.File // nil before Open and after Close
	free []int    // slots
	died map[string]time.Time
	old  []int // slots of died, until Forget
}

// NewEvaluating returns the file of a state directory. It does nothing before Open.
func NewEvaluating(home string) *Evaluating { return &Evaluating{home: home} }

// Open reads what an earlier process was evaluating when it ended.
func (e *Evaluating) Open() error {
	path := filepath.Join(e.home, evaluatingName)
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // G304: a fixed name in the state directory
	if err != nil {
		return fmt.Errorf("file of evaluations: %w", err)
	}
	text := make([]byte, EvaluatingSlots*slotBytes)
	n, err := io.ReadFull(file, text)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.Join(fmt.Errorf("file of evaluations: %w", err), file.Close())
	}
	ended := time.Now()
	if info, err := file.Stat(); err == nil {
		ended = info.ModTime()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.file, e.free, e.old, e.died = file, nil, nil, make(map[string]time.Time)
	for slot := range EvaluatingSlots {
		use := text[min(n, slot*slotBytes):min(n, (slot+1)*slotBytes)]
		if name, whole := bytes.CutSuffix(use, []byte("\n")); whole && isUse(name) {
			e.died[string(name)] = ended
			e.old = append(e.old, slot)
			continue
		}
		e.free = append(e.free, slot)
	}
	return nil
}

// isUse reports whether a slot is in use.
func isUse(name []byte) bool {
	_, err := hex.DecodeString(string(name))
	return err == nil && len(name) == slotBytes-1
}

// Begin names a use that is evaluated from now on. It is 64 hexadecimal digits. The function that it
// returns takes the name out again.
func (e *Evaluating) Begin(_ context.Context, use string) (end func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.file == nil || len(e.free) == 0 || !isUse([]byte(use)) {
		return func() {}
	}
	slot := e.free[len(e.free)-1]
	e.free = e.free[:len(e.free)-1]
	e.write(slot, use+"\n")
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.write(slot, blank)
		e.free = append(e.free, slot)
	}
}

// blank is the first byte of a slot that is free.
const blank = "-"

// write writes to a slot. A full disk loses a name, and nothing else.
func (e *Evaluating) write(slot int, text string) {
	if e.file != nil {
		_, _ = e.file.WriteAt([]byte(text), int64(slot)*slotBytes)
	}
}

// Died returns what an earlier process was evaluating when it ended, with the time of its last change
// of the file.
func (e *Evaluating) Died() map[string]time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	return maps.Clone(e.died)
}

// Forget takes the names of the earlier process out, after what they name was set aside.
func (e *Evaluating) Forget() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, slot := range e.old {
		e.write(slot, blank)
	}
	e.free, e.old, e.died = append(e.free, e.old...), nil, nil
}

// Close closes the file. Nothing may be in evaluation.
func (e *Evaluating) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.file == nil {
		return nil
	}
	err := e.file.Close()
	if e.file = nil; err != nil && !errors.Is(err, fs.ErrClosed) {
		return fmt.Errorf("file of evaluations: %w", err)
	}
	return nil
}
