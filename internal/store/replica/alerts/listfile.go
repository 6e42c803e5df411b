package alerts

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"time"

	"candela/internal/kit/disk"
	"candela/internal/kit/seal"
)

// A list file holds the active alerts that a replica knew at a sequence number, so that it reads
// only later changes when it starts again. It is a sequence of sealed frames, each after its
// length: the head, the alerts, one record to a line, and an empty end. Every frame is sealed for
// its number and the file, so that a file that is cut off or joined from two opens nowhere.

const (
	listFormat = 1
	frameSize  = 256 << 10
	maxFrame   = 16 << 20 // no frame is larger
)

// listHead begins a list file.
type listHead struct {
	Format  int       `json:"format"`
	File    string    `json:"file"`    // random
	Stream  string    `json:"stream"`  // the ID of the stream of alerts
	Through uint64    `json:"through"` // changes up to this sequence number are in the list
	At      time.Time `json:"at"`      // when the list was made
	// The sequence numbers of the newest alerts; see recentAlerts.
	Floor  uint64   `json:"floor"`
	Seqs   []uint64 `json:"seqs"`
	Alerts []string `json:"alerts"`
}

func (h *listHead) setRecent(r recentAlerts) {
	h.Floor = r.floor
	for _, one := range r.sets {
		h.Seqs, h.Alerts = append(h.Seqs, one.seq), append(h.Alerts, one.id)
	}
}

func (h *listHead) recent() recentAlerts {
	r := recentAlerts{floor: h.Floor}
	for i, seq := range h.Seqs {
		r.sets = append(r.sets, alertSeq{seq, h.Alerts[i]})
	}
	return r
}

// The places of frames.
func headPlace() seal.Place { return seal.Place{Name: "alerts.list"} }

func framePlace(file string, n uint64) seal.Place {
	return seal.Place{Name: "alerts.list " + file, Number: n}
}

func endPlace(file string, n uint64) seal.Place {
	return seal.Place{Name: "alerts.list end " + file, Number: n}
}

// listWriter writes a list file.
type listWriter struct {
	to    *bufio.Writer
	box   *seal.Box
	now   time.Time
	file  string
	count uint64 // of frames of alerts
	lines bytes.Buffer
}

// writeList replaces a list file. Each record that records yields is one line.
func writeList(path string, box *seal.Box, head listHead, records iter.Seq2[any, error]) error {
	head.Format, head.File = listFormat, rand.Text()
	first, err := json.Marshal(head)
	if err != nil {
		return err
	}
	return disk.ReplaceWith(path, func(file *os.File) error {
		w := &listWriter{to: bufio.NewWriterSize(file, frameSize), box: box, now: head.At, file: head.File}
		if err := w.frame(headPlace(), first); err != nil {
			return err
		}
		line := json.NewEncoder(&w.lines)
		line.SetEscapeHTML(false)
		for r, err := range records {
			if err != nil {
				return err
			}
			if err := line.Encode(r); err != nil {
				return err
			}
			if w.lines.Len() >= frameSize {
				if err := w.flush(); err != nil {
					return err
				}
			}
		}
		if err := errors.Join(w.flush(), w.frame(endPlace(w.file, w.count+1), nil)); err != nil {
			return err
		}
		return w.to.Flush()
	})
}

func (w *listWriter) flush() error {
	if w.lines.Len() == 0 {
		return nil
	}
	w.count++
	err := w.frame(framePlace(w.file, w.count), w.lines.Bytes())
	w.lines.Reset()
	return err
}

func (w *listWriter) frame(at seal.Place, body []byte) error {
	sealed := w.box.Seal(at, w.now, body)
	if len(sealed) > maxFrame {
		return fmt.Errorf("frame of %d bytes", len(sealed))
	}
	if _, err := w.to.Write(binary.BigEndian.AppendUint32(nil, uint32(len(sealed)))); err != nil { //nolint:gosec // G115: at most maxFrame
		return err
	}
	_, err := w.to.Write(sealed)
	return err
}

// errListFile means that a list file is not whole.
var errListFile = errors.New("the file is damaged, or was written with another secret")

// readHead reads a whole list file and returns its head. It is an error if anything in the file
// does not open.
func readHead(path string, box *seal.Box) (head listHead, err error) {
	for _, err := range listFrames(path, box, &head) {
		if err != nil {
			return head, err
		}
	}
	return head, nil
}

// listRecords yields the lines of a list file. They are valid until the next one.
func listRecords(path string, box *seal.Box) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		first := true
		for body, err := range listFrames(path, box, new(listHead)) {
			if err != nil {
				yield(nil, err)
				return
			}
			if first {
				first = false
				continue // the head
			}
			for line := range bytes.Lines(body) {
				if !yield(bytes.TrimSuffix(line, []byte("\n")), nil) {
					return
				}
			}
		}
	}
}

// listFrames yields the bodies of the frames of a list file without the end, and fills head with
// the first. It ends with an error if the file is not whole.
func listFrames(path string, box *seal.Box, head *listHead) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		file, err := os.Open(path) //nolint:gosec // G304: a file of the state directory
		if err != nil {
			yield(nil, err)
			return
		}
		defer func() { _ = file.Close() }()
		from := bufio.NewReaderSize(file, frameSize)
		var buffer []byte
		for n := uint64(0); ; n++ {
			if buffer, err = readFrame(from, buffer); err != nil {
				yield(nil, err)
				return
			}
			body, end, err := openFrame(box, head, n, buffer)
			if end {
				_, err = from.ReadByte()
				if !errors.Is(err, io.EOF) {
					yield(nil, errListFile)
				}
				return
			}
			if !yield(body, err) || err != nil {
				return
			}
		}
	}
}

// readFrame reads a sealed frame into a buffer.
func readFrame(from io.Reader, buffer []byte) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(from, size[:]); err != nil {
		return nil, errListFile
	}
	n := binary.BigEndian.Uint32(size[:])
	if n > maxFrame {
		return nil, errListFile
	}
	if cap(buffer) < int(n) {
		buffer = make([]byte, n)
	}
	buffer = buffer[:n]
	if _, err := io.ReadFull(from, buffer); err != nil {
		return nil, errListFile
	}
	return buffer, nil
}

// openFrame opens frame n and reports whether it is the end.
func openFrame(box *seal.Box, head *listHead, n uint64, sealed []byte) (body []byte, end bool, err error) {
	if n == 0 {
		body, _, err := box.Open(headPlace(), sealed)
		if err != nil || json.Unmarshal(body, head) != nil || head.Format != listFormat || len(head.Seqs) != len(head.Alerts) {
			return nil, false, errListFile
		}
		return body, false, nil
	}
	if body, _, err = box.Open(framePlace(head.File, n), sealed); err == nil {
		return body, false, nil
	}
	if _, _, err = box.Open(endPlace(head.File, n), sealed); err != nil {
		return nil, false, errListFile
	}
	return nil, true, nil
}
