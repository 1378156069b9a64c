package main

import (
	"fmt"
	"os/exec"
	"strings"
	"time"
)

const (
	detachTimeout      = 30 * time.Second
	detachPollInterval = 20 * time.Millisecond
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
	return awaitDetached(image, device)
}

// The kernel keeps a device that is still open until it is closed, and whoever lists
// the machine's loop devices has each of them open for a moment.
func awaitDetached(image, device string) error {
	deadline := time.Now().Add(detachTimeout)
	for {
		left, err := loopDevice(image)
		if left == "" || err != nil {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s is still in use", device)
		}
		time.Sleep(detachPollInterval)
	}
}

// After the file has grown.
func refreshLoopDevice(device string) error {
	_, err := losetup("--set-capacity", device)
	return err
}
