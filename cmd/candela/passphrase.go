package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"candela/cmd/candela/cli"
)

// readPassphrase reads a passphrase from stdin: twice and hidden from a terminal, otherwise
// the first line.
func readPassphrase(ctx context.Context, stdin io.Reader, prompt io.Writer) (string, error) {
	if file, ok := stdin.(*os.File); ok {
		show, err := hideInput(file)
		if err == nil {
			defer show()
			return askTwice(ctx, file, prompt)
		}
		if errors.Is(err, errors.ErrUnsupported) && cli.Terminal(file) {
			fmt.Fprint(prompt, "Passphrase (visible): ")
		}
	}
	line, err := bufio.NewReader(io.LimitReader(stdin, 4<<10)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read the passphrase: %w", err)
	}
	return strings.TrimRight(line, "\r\n"), nil
}

// askTwice reads a hidden passphrase twice. It returns when ctx ends or on a signal that would
// leave the terminal hiding its input.
func askTwice(ctx context.Context, terminal io.Reader, prompt io.Writer) (string, error) {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGHUP, syscall.SIGQUIT)
	defer stop()
	type line struct {
		text string
		err  error
	}
	lines := make(chan line, 1)
	var typed [2]string
	in := bufio.NewReader(terminal)
	for i, ask := range []string{"Passphrase (hidden): ", "Repeat the passphrase: "} {
		fmt.Fprint(prompt, ask)
		go func() { // only the end of the process interrupts this read
			text, err := in.ReadString('\n')
			lines <- line{text, err}
		}()
		select {
		case one := <-lines:
			fmt.Fprintln(prompt) // the typed line break is hidden, too
			if one.err != nil {
				return "", fmt.Errorf("read the passphrase: %w", one.err)
			}
			typed[i] = strings.TrimRight(one.text, "\r\n")
		case <-ctx.Done():
			fmt.Fprintln(prompt)
			return "", fmt.Errorf("read the passphrase: %w", context.Cause(ctx))
		}
	}
	if typed[0] != typed[1] {
		return "", errors.New("the two passphrases differ; nothing was hashed")
	}
	return typed[0], nil
}
