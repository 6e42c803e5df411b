package oauth

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The bounds of a passphrase. An attacker with many addresses has 43,000 guesses a day,
// enough for a shorter or a common one.
const (
	minPassphrase = 12   // characters
	maxPassphrase = 1024 // bytes
	minDistinct   = 5    // characters
)

// guessed returns common password words. Digits and signs around them do not help.
func guessed() []string {
	return []string{
		"admin", "administrator", "bitcoin", "candela", "changeme", "default", "iloveyou", "letmein", "master", "monkey",
		"passphrase", "password", "passwort", "qwerty", "qwertyuiop", "qwertz", "secret", "trading", "tradingview", "trustno", "welcome",
	}
}

// rows returns the alphabet, the digits and keyboard rows.
func rows() []string {
	return []string{"abcdefghijklmnopqrstuvwxyz", "qwertyuiopasdfghjklzxcvbnm", "qwertzuiopasdfghjklyxcvbnm", "12345678901234567890", "09876543210987654321"}
}

// letter returns the letter that a character is or replaces ("p4ssw0rd"), and -1 for
// other characters.
func letter(r rune) rune {
	const signs, letters = "0134578@$", "oieastbas"
	if i := strings.IndexRune(signs, r); i >= 0 {
		return rune(letters[i])
	}
	if unicode.IsLetter(r) {
		return r
	}
	return -1
}

var errWeak = errors.New("the passphrase is easy to guess: use several unrelated words, or let a password manager create one")

// checkPassphrase returns an error for a weak passphrase. The error never contains the
// passphrase.
func checkPassphrase(passphrase string) error {
	if n := utf8.RuneCountInString(passphrase); n < minPassphrase || len(passphrase) > maxPassphrase {
		return fmt.Errorf("a passphrase must have at least %d characters and at most %d bytes", minPassphrase, maxPassphrase)
	}
	lower := strings.ToLower(passphrase)
	distinct := make(map[rune]bool)
	for _, r := range lower {
		distinct[r] = true
	}
	if len(distinct) < minDistinct || repeats(lower) {
		return errWeak
	}
	letters := strings.Map(letter, lower)
	for _, word := range guessed() {
		// The rest without the word must be long enough on its own.
		if rest := strings.ReplaceAll(letters, word, ""); len(rest) < len(letters) && utf8.RuneCountInString(rest) < 6 {
			return errWeak
		}
	}
	for _, row := range rows() {
		if strings.Contains(row, lower) {
			return errWeak
		}
	}
	return nil
}

// repeats reports whether a text consists of one repeated piece.
func repeats(text string) bool {
	for size := 1; size <= len(text)/2; size++ {
		if strings.HasPrefix(strings.Repeat(text[:size], len(text)/size+1), text) {
			return true
		}
	}
	return false
}
