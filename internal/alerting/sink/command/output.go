package command

import (
	"slices"
	"strings"
	"sync"

	"candela/lib/fault"
)

// head keeps the beginning of what a program writes. It is safe for concurrent use.
type head struct {
	mu   sync.Mutex
	kept []byte
	more bool // something was left out
}

// Write keeps what fits and takes the rest, so that the program goes on.
func (h *head) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	fits := min(len(p), mostOutput-len(h.kept))
	h.kept = append(h.kept, p[:fits]...)
	h.more = h.more || fits < len(p)
	return len(p), nil
}

// lines returns what was kept, without characters that move a cursor.
func (h *head) lines() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	lines := strings.Split(strings.TrimRight(strings.ToValidUTF8(string(h.kept), "?"), "\n"), "\n")
	for i, line := range lines {
		lines[i] = fault.Clean(line, mostOutput)
	}
	if h.more {
		lines = append(lines, "(more was left out)")
	}
	return lines
}

// printable returns the lines as a file.
func (h *head) printable() []byte { return []byte(strings.Join(h.lines(), "\n") + "\n") }

// lastLine returns the last line that is not empty, short.
func (h *head) lastLine() string {
	for _, line := range slices.Backward(h.lines()) {
		if line = strings.TrimSpace(line); line != "" {
			return fault.Truncate(line, longestLine)
		}
	}
	return ""
}
