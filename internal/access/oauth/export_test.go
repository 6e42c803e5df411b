package oauth

// HoldTurn takes the one turn to hash, until release.
func HoldTurn(p *Passphrase) (release func()) {
	p.turn <- struct{}{}
	return func() { <-p.turn }
}

// Hashed reports whether the passphrase was hashed, or is a hash.
func (p *Passphrase) Hashed() bool { return p.text != "" }
