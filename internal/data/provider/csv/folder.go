package csv

import (
	"io/fs"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"candela/lib/market"
)

const extension = ".csv"

// files are the files of one symbol, by interval.
type files map[market.Interval]string

// source returns the interval of the file that bars of interval i are read or
// built from: i itself, or else the longest that divides it, because it is the
// cheapest to add up and as a rule reaches back furthest.
func (f files) source(i market.Interval) (market.Interval, bool) {
	best := market.Interval(0)
	for from := range f {
		if from > best && from.Divides(i) {
			best = from
		}
	}
	return best, best != 0
}

// String lists the intervals, ascending.
func (f files) String() string {
	names := make([]string, 0, len(f))
	for _, i := range slices.Sorted(maps.Keys(f)) {
		names = append(names, i.String())
	}
	return strings.Join(names, " ")
}

// symbols are all files of the folder, by symbol name.
type symbols map[string]files

// spelled returns how the files spell a symbol: as it is, or as the same pair with
// another sign between its halves, or none. Where two files fit it is neither.
func (s symbols) spelled(symbol string) (string, bool) {
	if len(s[symbol]) > 0 {
		return symbol, true
	}
	var found []string
	for name := range s {
		if joined(name) == joined(symbol) {
			found = append(found, name)
		}
	}
	if len(found) != 1 {
		return "", false
	}
	return found[0], true
}

// joined returns a pair such as BTC/USDT, BTC-USDT or BTC_USDT without the sign between its
// halves, and every other symbol as it is: BRK-B is no pair.
func joined(symbol string) string {
	at := strings.IndexAny(symbol, "/-_")
	if at < minHalf || len(symbol)-at-1 < minHalf || strings.ContainsAny(symbol[at+1:], "/-_") {
		return symbol
	}
	return symbol[:at] + symbol[at+1:]
}

// minHalf is how long the halves of a pair are at least.
const minHalf = 3

// folder remembers what the folder holds. The file names are read, not guessed,
// so that a file system without case cannot serve 1m for 1M.
type folder struct {
	mu    sync.Mutex
	found symbols
	at    time.Time // the folder's own time when it was read
}

// list returns what the folder holds, read again when it has changed.
func (f *folder) list(root *os.Root) (symbols, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	info, err := root.Stat(".")
	if err != nil {
		return nil, err
	}
	if f.found != nil && info.ModTime().Equal(f.at) {
		return f.found, nil
	}
	f.found = nil
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil, err
	}
	found := symbols{}
	for _, e := range entries {
		symbol, interval, ok := parseName(e.Name())
		if !ok || !regular(root, e) {
			continue
		}
		if found[symbol] == nil {
			found[symbol] = files{}
		}
		// Of the two spellings of a month the plain one comes first and stays.
		if _, taken := found[symbol][interval]; !taken {
			found[symbol][interval] = e.Name()
		}
	}
	if settled(info) {
		f.found, f.at = found, info.ModTime()
	}
	return found, nil
}

// settled reports whether a file's time is old enough to detect a later change by:
// two changes within one tick of the file system's clock have the same time.
func settled(info fs.FileInfo) bool { return time.Since(info.ModTime()) > 2*time.Second }

// regular keeps pipes and directories out: opening a pipe would wait for ever.
func regular(root *os.Root, e fs.DirEntry) bool {
	if e.Type()&fs.ModeSymlink == 0 {
		return e.Type().IsRegular()
	}
	info, err := root.Stat(e.Name()) // an error is a link that leads out of the folder or nowhere
	return err == nil && info.Mode().IsRegular()
}

// escape writes the two characters of a symbol that a file name had better not
// have.
func escape(symbol string) string {
	return strings.NewReplacer("/", "%2F", "^", "%5E").Replace(symbol)
}

// parseName reads a file name. Only the escaped symbol, an underscore and
// the interval are taken, and 1mo for a month.
func parseName(file string) (symbol string, interval market.Interval, ok bool) {
	base, isCSV := strings.CutSuffix(file, extension)
	at := strings.LastIndexByte(base, '_')
	if !isCSV || at < 0 {
		return "", 0, false
	}
	plain, err := url.PathUnescape(base[:at])
	if err != nil {
		return "", 0, false
	}
	s, err := market.ParseSymbol(plain)
	if err != nil || s.Venue != "" || escape(s.Name) != base[:at] {
		return "", 0, false
	}
	unit := base[at+1:]
	interval, err = market.ParseInterval(unit)
	if err != nil || interval.String() != unit && unit != "1mo" {
		return "", 0, false
	}
	return s.Name, interval, true
}
