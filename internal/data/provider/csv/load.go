package csv

import (
	"context"
	"io/fs"
	"os"
	"time"

	"candela/lib/market"
	barfile "candela/lib/market/csv"
)

// series is what a file holds, or what was built from it. It is read-only.
type series struct {
	bars       market.Bars
	gaps       []market.Gap // of the file, when the bars were built
	unfinished bool         // the file ends inside the last bar
	calendar   market.Calendar
}

// maxBytes bounds a file: half a gigabyte is eighteen years of minutes.
const maxBytes = 512 << 20

// load returns the bars of interval to from a file with bars of interval from.
func (p *Provider) load(ctx context.Context, file string, c market.Calendar, from, to market.Interval) (*series, error) {
	f, info, err := p.open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	key := cacheKey{file, to}
	if s := p.cached(key, info); s != nil && s.calendar == c {
		return s, nil
	}
	var s *series
	if from == to {
		r := barfile.File{Name: file, Interval: from, Calendar: c}
		bars, err := r.Read(ctx, f)
		if err != nil {
			return nil, err
		}
		s = &series{bars: bars}
	} else {
		source, err := p.load(ctx, file, c, from, from)
		if err != nil {
			return nil, err
		}
		if s, err = build(&source.bars, from, to, c); err != nil {
			return nil, err
		}
	}
	s.calendar = c
	p.keep(key, info, s)
	return s, nil
}

// open opens a file that is not too large.
func (p *Provider) open(file string) (*os.File, fs.FileInfo, error) {
	f, err := p.root.Open(file)
	if err != nil {
		return nil, nil, barfile.Unreadable(file, err)
	}
	info, err := f.Stat()
	switch {
	case err != nil:
		err = barfile.Unreadable(file, err)
	case !info.Mode().IsRegular():
		err = barfile.Bad("csv: %s is no file", file)
	case info.Size() > maxBytes:
		err = barfile.Bad("csv: %s has %d bytes, the most is %d; split it or use a longer interval", file, info.Size(), int64(maxBytes))
	default:
		return f, info, nil
	}
	_ = f.Close() // it was only asked for its size
	return nil, nil, err
}

// build adds bars up, without a first bar that the source does not begin.
func build(source *market.Bars, from, to market.Interval, c market.Calendar) (*series, error) {
	sum, err := market.Aggregate(source, from, to, c)
	if err != nil || sum.Bars.Len() == 0 {
		return &series{}, err
	}
	n, first := sum.Bars.Len(), 0
	if c.Prev(from, source.T[0]).Open >= sum.Bars.T[0] {
		first = 1
	}
	last, _ := c.Bucket(to, sum.Bars.T[n-1])
	next := c.Next(from, source.T[source.Len()-1]).Open
	return &series{bars: sum.Bars.Slice(first, n), gaps: sum.Gaps, unfinished: next < last.Close}, nil
}

// cacheSize is how many series are kept: the files and what was built from them.
const cacheSize = 64

type cacheKey struct {
	file string
	to   market.Interval // 0 for the calendar
}

// version is a series of a file as it was at a time.
type version struct {
	series *series
	at     time.Time
	size   int64
}

// cached returns the series of a file that has not changed since it was kept, or nil.
func (p *Provider) cached(key cacheKey, info fs.FileInfo) *series {
	v, _ := p.cache.Get(key)
	if !v.at.Equal(info.ModTime()) || v.size != info.Size() {
		return nil
	}
	return v.series
}

// keep keeps a series. Two readers may read a file twice at the same time; the second
// answer replaces the first.
func (p *Provider) keep(key cacheKey, info fs.FileInfo, s *series) {
	if settled(info) {
		p.cache.Put(key, version{series: s, at: info.ModTime(), size: info.Size()}, 1)
	}
}
