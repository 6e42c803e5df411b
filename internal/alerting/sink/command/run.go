package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"time"
)

// run starts the program, gives it its input and waits for its end, or ends it with everything that it started in its
// group. err is not nil if it did not end by itself.
func (r *Receiver) run(ctx context.Context, input []byte, output io.Writer) (status int, err error) {
	cmd := exec.Command(r.program, r.args...) //nolint:gosec,noctx // G204: the owner named it; the group is ended below
	cmd.Dir, cmd.Env = r.dir, r.env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), output, output
	cmd.WaitDelay = r.grace // for what still holds its output after its end
	group, err := start(cmd)
	if err != nil {
		return 0, fmt.Errorf("not started: %w", err)
	}
	defer group.close()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	over := time.NewTimer(r.timeout)
	defer over.Stop()
	select {
	case err := <-ended:
		return exitOf(cmd, err)
	case <-over.C:
		err = fmt.Errorf("ended after %v", r.timeout)
	case <-ctx.Done():
		err = errors.New("ended with candela")
	}
	group.ask()
	select {
	case <-ended:
		return 0, err
	case <-time.After(r.grace):
	}
	group.kill()
	<-ended
	return 0, err
}

// exitOf returns how a program ended by itself.
func exitOf(cmd *exec.Cmd, err error) (int, error) {
	if cmd.ProcessState == nil {
		return 0, err
	}
	if status := cmd.ProcessState.ExitCode(); status >= 0 {
		return status, nil
	}
	return 0, errors.New("ended by " + cmd.ProcessState.String())
}
