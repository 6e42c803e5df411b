package oauth

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The bounds of a passphrase. Strangers with many addresses have 43,000 guesses a day:
// a shorter one, or one that every list of passwords begins with, does not stand that.
const (
	minPassphrase = 12   // characters
	maxPassphrase = 1024 // bytes
	minDistinct   = 5    // characters
)

// guessed returns words that guesses begin with. With digits and signs around them they
// are no better.
func guessed() []string {
	return []string{
		"admin", "administrator", "bitcoin", "candela", "changeme", "default", "iloveyou", "letmein", "master", "monkey",
		"passphrase", "password", "passwort", "qwerty", "qwertyuiop", "qwertz", "secret", "trading", "tradingview", "trustno", "welcome",
	}
}

// rows returns the alphabet, the digits and the rows of keyboards.
func rows() []string {
	return []string{"abcdefghijklmnopqrstuvwxyz", "qwertyuiopasdfghjklzxcvbnm", "qwertzuiopasdfghjklyxcvbnm", "12345678901234567890", "09876543210987654321"}
}

// letter returns the letter that a character is, or stands for in lists of guesses
// ("p4ssw0rd"), and -1 for every other character.
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

var errWeak = errors.New("the passphrase is easy to guess: take several words that do not belong together, or let a password manager make one")

// checkPassphrase returns why a passphrase is too weak to guard money, or nil. The
// error never holds the passphrase.
func checkPassphrase(passphrase string) error {
	if n := utf8.RuneCountInString(passphrase); n < minPassphrase || len(passphrase) > maxPassphrase {
		return fmt.Errorf("a passphrase has at least %d characters and at most %d bytes", minPassphrase, maxPassphrase)
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
		// What is left besides the word must be a word of its own.
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

// repeats reports whether a text is one piece again and again.
func repeats(text string) bool {
	for size := 1; size <= len(text)/2; size++ {
		if strings.HasPrefix(strings.Repeat(text[:size], len(text)/size+1), text) {
			return true
		}
	}
	return false
}
