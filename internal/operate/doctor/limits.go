package doctor

import (
	"fmt"

	"candela/lib/fault"
)

// otherFiles is the number of files a process has open besides its clients: the store,
// the log, venue streams, receivers of alerts.
const otherFiles = 128

// CheckFileLimit refuses more connections than the system allows open files: clients
// would be rejected at the accept, one by one and without a message.
func CheckFileLimit(connections int) error {
	limit, err := fileLimit()
	if err != nil {
		return fmt.Errorf("limit of open files: %w", err)
	}
	return checkFileLimit(connections, limit)
}

func checkFileLimit(connections int, limit uint64) error {
	if need := uint64(connections) + otherFiles; need > limit { //nolint:gosec // G115: the settings bound it
		return &fault.Error{
			Kind: fault.Invalid, Code: "refused", Field: "max-connections",
			Message: fmt.Sprintf("--max-connections %d needs %d open files, but the limit of this process is %d. "+
				"Raise the limit (LimitNOFILE of a systemd unit, ulimit -n) or lower --max-connections.", connections, need, limit),
		}
	}
	return nil
}
