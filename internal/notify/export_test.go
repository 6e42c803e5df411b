package notify

// SetPath gives a log a file after its subscribers are there, because a file that
// is written for each of ten thousand takes minutes to set up.
func SetPath(l *Log, path string) { l.cfg.Path = path }
