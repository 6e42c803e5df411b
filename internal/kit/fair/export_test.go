package fair

// Waiting returns how many requests wait.
func (s *Slots) Waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, o := range s.owners {
		for _, t := range o.tokens {
			n += t.waiting.Len()
		}
	}
	return n
}
