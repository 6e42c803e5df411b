package doctor

import (
	"strings"
	"testing"
)

func TestCheckFileLimit_CountsConnections(t *testing.T) {
	t.Parallel()
	if err := checkFileLimit(896, 1024); err != nil {
		t.Error(err)
	}
	err := checkFileLimit(10_000, 1024)
	if err == nil || !strings.Contains(err.Error(), "--max-connections 10000 needs 10128 open files, but the limit of this process is 1024") {
		t.Error(err)
	}
	if err := CheckFileLimit(1); err != nil {
		t.Error(err)
	}
}

func TestDiskSpace_ReportsAFullDisk(t *testing.T) {
	t.Parallel()
	for free, want := range map[uint64]Status{0: Problem, 15 << 20: Problem, 16 << 20: Warning, 300 << 20: OK} {
		if f := diskSpace("/state", free); f.Status != want || f.Check != "disk" || (f.Status != OK) != (f.Fix != "") {
			t.Errorf("%d bytes: %+v", free, f)
		}
	}
}
