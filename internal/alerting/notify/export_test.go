package notify

// SetPath gives a log a file after its subscribers are there, because a file that
// is written for each of ten thousand takes minutes to set up.
func SetPath(l *Log, path string) { l.cfg.Path = path }

// ReadFile returns a log with the readers of a file.
func ReadFile(cfg Config, data []byte) (*Log, error) {
	f, err := parseFile(data)
	if err != nil {
		return nil, err
	}
	l := newLog(cfg)
	l.load(f)
	return l, nil
}

// WriteFile returns what a log would write.
func WriteFile(l *Log) ([]byte, error) { return l.encode() }

// Sizes returns how many subscribers, clients and streams a log holds.
func Sizes(l *Log) (subscribers, clients, streams int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, o := range l.allOwners() {
		streams += len(o.streams)
	}
	return len(l.subscribers), len(l.clients), streams
}
