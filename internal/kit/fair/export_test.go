package fair

// Waiting returns how many requests wait.
func (s *Slots) Waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, p := range s.parties {
		n += p.waiting.Len()
	}
	return n
}
