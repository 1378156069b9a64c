package main

import (
	"fmt"
	"os/exec"
	"strings"
)

func losetup(arguments ...string) (string, error) {
	output, err := exec.Command("losetup", arguments...).CombinedOutput()
	text := strings.TrimSpace(string(output))
	if err != nil {
		return "", fmt.Errorf("losetup %s: %w: %s", strings.Join(arguments, " "), err, text)
	}
	return text, nil
}

// The loop device of a file; "" if it has none.
func loopDevice(image string) (string, error) {
	output, err := losetup("--noheadings", "--output", "NAME", "--associated", image)
	name, _, _ := strings.Cut(output, "\n")
	return strings.TrimSpace(name), err
}

// The loop device of a file, made unless a driver that was killed has left one.
func attachLoopDevice(image string) (string, error) {
	device, err := loopDevice(image)
	if device != "" || err != nil {
		return device, err
	}
	return losetup("--find", "--show", image)
}

func detachLoopDevice(image string) error {
	device, err := loopDevice(image)
	if device == "" || err != nil {
		return err
	}
	if _, err := losetup("--detach", device); err != nil {
		return err
	}
	// The kernel keeps a device that is still open until it is closed.
	if left, err := loopDevice(image); left != "" || err != nil {
		return fmt.Errorf("%s is still in use (%w)", device, err)
	}
	return nil
}

// After the file has grown.
func refreshLoopDevice(device string) error {
	_, err := losetup("--set-capacity", device)
	return err
}
