package notify

// Stats is how much a log holds.
type Stats struct {
	Entries       int // of all owners
	Unpolled      int // of them, those that no polling caller has taken yet
	Subscriptions int
	Streams       int // connected
}

// Stats counts what the log holds now.
func (l *Log) Stats() Stats {
	var s Stats
	for _, o := range l.allOwners() {
		o.mu.Lock()
		v := o.view.Load()
		s.Entries += len(v.entries)
		s.Unpolled += min(len(v.after(o.queue.cursor))+len(o.queue.back), MaxPolled)
		o.mu.Unlock()
		o.streamsMu.Lock()
		s.Streams += len(o.streams)
		o.streamsMu.Unlock()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, each := range l.subscribers {
		if each.matcher.Load() != nil {
			s.Subscriptions++
		}
	}
	return s
}
