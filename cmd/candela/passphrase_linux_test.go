package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// openTerminal returns a terminal and the end at which a person would sit.
func openTerminal(t *testing.T) (person, terminal *os.File) {
	t.Helper()
	open := func(path string) *os.File {
		file, err := os.OpenFile(path, os.O_RDWR|syscall.O_NOCTTY, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = file.Close() })
		return file
	}
	person = open("/dev/ptmx")
	if err := unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetUint32(int(person.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	return person, open("/dev/pts/" + strconv.Itoa(int(number)))
}

// echoes reports whether a terminal shows what is typed.
func echoes(t *testing.T, terminal *os.File) bool {
	t.Helper()
	mode, err := unix.IoctlGetTermios(int(terminal.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return mode.Lflag&unix.ECHO != 0
}

// printed waits until there is something to read at a person's end. A signal to the
// process, which the runtime itself sends, interrupts the wait and says nothing.
func printed(ctx context.Context, person *os.File) error {
	for ctx.Err() == nil {
		ready, err := unix.Poll([]unix.PollFd{{Fd: int32(person.Fd()), Events: unix.POLLIN}}, 1000)
		if ready > 0 || err != nil && !errors.Is(err, unix.EINTR) {
			return err
		}
	}
	return ctx.Err()
}

// TestHashPassword_AtATerminal types a passphrase and reads the screen.
func TestHashPassword_AtATerminal(t *testing.T) {
	t.Parallel()
	const first, second = "Passphrase (hidden): ", "Repeat the passphrase: "
	for name, c := range map[string]struct {
		typed  [][2]string // what is typed after which words
		hashes bool
		says   string
	}{
		"twice the same":  {[][2]string{{first, "open sesame, please\n"}, {second, "open sesame, please\n"}}, true, ""},
		"a slip":          {[][2]string{{first, "open sesame, please\n"}, {second, "open sesam, please\n"}}, false, "passphrases differ; nothing was hashed"},
		"a letter erased": {[][2]string{{first, "open sesame, pleaso\x7fe\n"}, {second, "open sesame, please\n"}}, true, ""},
		"too short":       {[][2]string{{first, "sesame\n"}, {second, "sesame\n"}}, false, "a passphrase must have at least 12 characters and at most 1024 bytes"},
		"an end of input": {[][2]string{{first, "\x04"}}, false, "read the passphrase: EOF"},
		"Ctrl-C":          {[][2]string{{first, "\x03"}}, false, "signal: interrupt"},
		"Ctrl-C, later":   {[][2]string{{first, "open sesame, please\n"}, {second, "open\x03"}}, false, "signal: interrupt"},
		"Ctrl-\\ instead": {[][2]string{{first, "\x1c"}}, false, "read the passphrase: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			person, terminal := openTerminal(t)
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute) // only ends a hang
			defer cancel()
			program := exec.CommandContext(ctx, os.Args[0], "auth", "hash-password")
			program.Args[0] = "candela"
			var out bytes.Buffer
			program.Stdin, program.Stdout, program.Stderr = terminal, &out, terminal
			program.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
			if err := program.Start(); err != nil {
				t.Fatal(err)
			}
			var screen strings.Builder
			readTo := func(words string) {
				for one := make([]byte, 1); !strings.HasSuffix(screen.String(), words); screen.Write(one) {
					err := printed(ctx, person)
					if err == nil {
						_, err = person.Read(one)
					}
					if err != nil {
						t.Fatalf("no %q, %v, after %q", words, err, screen.String())
					}
				}
			}
			for _, step := range c.typed {
				readTo(step[0])
				if _, err := person.WriteString(step[1]); err != nil {
					t.Fatal(err)
				}
			}
			err := program.Wait()
			if !echoes(t, terminal) {
				t.Error("the terminal still shows nothing")
			}
			if c.says != "" {
				readTo(c.says)
			}
			hashed := err == nil && strings.HasPrefix(out.String(), "$argon2id$")
			if hashed != c.hashes || (out.Len() > 0) != c.hashes || strings.Contains(screen.String(), "sesam") {
				t.Errorf("%v, %q, and the screen has %q", err, out.String(), screen.String())
			}
		})
	}
}
