package oauth

import (
	"slices"
	"sync"
)

// Listeners holds the functions that a Store calls when tokens end. The zero value is
// empty. It is safe for concurrent use.
type Listeners struct {
	mu  sync.Mutex
	all []func(...Hash)
}

// Add adds a function.
func (l *Listeners) Add(ended func(tokens ...Hash)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(slices.Clip(l.all), ended)
}

// Notify calls all functions.
func (l *Listeners) Notify(tokens ...Hash) {
	l.mu.Lock()
	all := l.all
	l.mu.Unlock()
	for _, ended := range all {
		ended(tokens...)
	}
}
