package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"sync"
)

// Large enough for every file system; xfs takes no less than 300 MiB.
const defaultCapacityBytes = 320 << 20

// A sparse file costs only what is written to it.
const maximumCapacityBytes = 1 << 40

type volume struct {
	ID            string `json:"volumeId"`
	Name          string `json:"name"`
	CapacityBytes int64  `json:"capacityBytes"`
	// What it is attached to, by node id.
	Attachments map[string]attachment `json:"attachments"`
}

type attachment struct {
	ReadOnly bool `json:"readOnly"`
}

// All volumes are on disk, one folder each: a driver that comes back knows what the one before it knew.
type volumes struct {
	folder string
	lock   sync.Mutex
	busy   map[string]bool
}

func openVolumes(dataFolder string) (*volumes, error) {
	folder := filepath.Join(dataFolder, "volumes")
	return &volumes{folder: folder, busy: map[string]bool{}}, os.MkdirAll(folder, 0o700)
}

var validID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

func (v *volumes) file(id string) string  { return filepath.Join(v.folder, id, "volume.json") }
func (v *volumes) image(id string) string { return filepath.Join(v.folder, id, "image") }

// One operation at a time for each volume; false: there is one already.
func (v *volumes) begin(id string) bool {
	v.lock.Lock()
	defer v.lock.Unlock()
	if v.busy[id] {
		return false
	}
	v.busy[id] = true
	return true
}

func (v *volumes) end(id string) {
	v.lock.Lock()
	defer v.lock.Unlock()
	delete(v.busy, id)
}

func (v *volumes) create(made volume) error {
	if !validID.MatchString(made.ID) {
		return fmt.Errorf("volumeId %q: want letters, digits, dots and dashes", made.ID)
	}
	if made.CapacityBytes == 0 {
		made.CapacityBytes = defaultCapacityBytes
	}
	if err := os.Mkdir(filepath.Join(v.folder, made.ID), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := v.resize(made.ID, made.CapacityBytes); err != nil {
		return err
	}
	return v.save(made)
}

// Written last of all that a volume is: one without this file does not exist.
func (v *volumes) save(changed volume) error {
	text, err := json.Marshal(changed)
	if err != nil {
		return err
	}
	part := v.file(changed.ID) + ".part"
	if err := os.WriteFile(part, text, 0o600); err != nil {
		return err
	}
	return os.Rename(part, v.file(changed.ID))
}

// Nil if there is no such volume.
func (v *volumes) find(id string) (*volume, error) {
	if !validID.MatchString(id) {
		return nil, nil
	}
	text, err := os.ReadFile(v.file(id))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	found := &volume{}
	if err := json.Unmarshal(text, found); err != nil {
		return nil, err
	}
	if found.Attachments == nil {
		found.Attachments = map[string]attachment{}
	}
	return found, nil
}

func (v *volumes) list() ([]volume, error) {
	entries, err := os.ReadDir(v.folder)
	if err != nil {
		return nil, err
	}
	all := []volume{}
	for _, entry := range entries {
		found, err := v.find(entry.Name())
		if err != nil {
			return nil, err
		}
		if found != nil {
			all = append(all, *found)
		}
	}
	return all, nil
}

// Grows the file of a volume; it never shrinks.
func (v *volumes) resize(id string, capacityBytes int64) error {
	file, err := os.OpenFile(v.image(id), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || info.Size() >= capacityBytes {
		return err
	}
	return file.Truncate(capacityBytes)
}

func (v *volumes) remove(id string) error {
	if err := os.Remove(v.file(id)); err != nil {
		return err
	}
	return os.RemoveAll(filepath.Join(v.folder, id))
}
