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
)

// readPassphrase reads a passphrase from stdin: twice from a terminal, which does not
// show it, and otherwise the first line.
func readPassphrase(ctx context.Context, stdin io.Reader, prompt io.Writer) (string, error) {
	if file, ok := stdin.(*os.File); ok {
		show, err := hideInput(file)
		if err == nil {
			defer show()
			return askTwice(ctx, file, prompt)
		}
		if errors.Is(err, errors.ErrUnsupported) && isTerminal(file) {
			fmt.Fprint(prompt, "The passphrase, then Enter; it shows as you type: ")
		}
	}
	line, err := bufio.NewReader(io.LimitReader(stdin, 4<<10)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read the passphrase: %w", err)
	}
	return strings.TrimRight(line, "\r\n"), nil
}

// askTwice reads a passphrase twice, since nobody sees what is typed. It returns when
// ctx ends, or a signal comes that would leave a terminal behind that shows nothing.
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
	for i, ask := range []string{"The passphrase, then Enter; it does not show: ", "The same once more: "} {
		fmt.Fprint(prompt, ask)
		go func() { // a read that nothing ends but the process, whose last deed this is
			text, err := in.ReadString('\n')
			lines <- line{text, err}
		}()
		select {
		case one := <-lines:
			fmt.Fprintln(prompt) // the one that was typed did not show either
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
		return "", errors.New("the passphrase was typed in two ways; nothing was hashed")
	}
	return typed[0], nil
}
