package setup

import (
	"io/fs"
	"os"
)

// keepOwner leaves it to the folder, from which a new file has its rights.
func keepOwner(*os.File, fs.FileInfo) {}
