package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	mount "k8s.io/mount-utils"
	"k8s.io/utils/exec"
)

// In a publish context: without it, a volume that has to be attached was not.
const deviceKey = "device"

const ephemeralKey = "csi.storage.k8s.io/ephemeral"

var mounter = mount.New("")

func (s *service) topology() map[string]string {
	return map[string]string{s.settings.DriverName + "/node": s.settings.nodeID}
}

func (s *service) NodeGetInfo(context.Context, *csi.NodeGetInfoRequest) (*csi.NodeGetInfoResponse, error) {
	response := &csi.NodeGetInfoResponse{NodeId: s.settings.nodeID, MaxVolumesPerNode: s.settings.AttachLimit}
	if s.settings.EnableTopology {
		response.AccessibleTopology = &csi.Topology{Segments: s.topology()}
	}
	return response, nil
}

func (s *service) NodeGetCapabilities(ctx context.Context, request *csi.NodeGetCapabilitiesRequest) (*csi.NodeGetCapabilitiesResponse, error) {
	response, err := s.Service.NodeGetCapabilities(ctx, request)
	if err != nil {
		return nil, err
	}
	response.Capabilities = slices.DeleteFunc(response.Capabilities, func(each *csi.NodeServiceCapability) bool {
		switch each.GetRpc().GetType() {
		case csi.NodeServiceCapability_RPC_STAGE_UNSTAGE_VOLUME:
			return s.settings.withoutStaging
		case csi.NodeServiceCapability_RPC_GET_VOLUME_STATS:
			return s.settings.withoutNodeVolumeStats
		}
		return false
	})
	if s.settings.singleNodeMultiWriter {
		response.Capabilities = append(response.Capabilities, &csi.NodeServiceCapability{Type: &csi.NodeServiceCapability_Rpc{
			Rpc: &csi.NodeServiceCapability_RPC{Type: csi.NodeServiceCapability_RPC_SINGLE_NODE_MULTI_WRITER},
		}})
	}
	return response, nil
}

func (s *service) checkAttached(publishContext map[string]string) error {
	if _, ok := publishContext[deviceKey]; !ok && !s.settings.DisableAttach {
		return status.Errorf(codes.InvalidArgument, "publish_context has no %q: the volume was not attached", deviceKey)
	}
	return nil
}

func (s *service) NodeStageVolume(_ context.Context, request *csi.NodeStageVolumeRequest) (*csi.NodeStageVolumeResponse, error) {
	if request.GetVolumeId() == "" {
		return nil, missing("volume_id")
	}
	if request.GetStagingTargetPath() == "" {
		return nil, missing("staging_target_path")
	}
	if request.GetVolumeCapability() == nil {
		return nil, missing("volume_capability")
	}
	found, done, err := s.hold(request.GetVolumeId())
	if err != nil {
		return nil, err
	}
	defer done()
	if err := s.checkAttached(request.GetPublishContext()); err != nil {
		return nil, err
	}
	if err := s.stage(found, request.GetStagingTargetPath(), request.GetVolumeCapability()); err != nil {
		return nil, internal(err)
	}
	return &csi.NodeStageVolumeResponse{}, nil
}

// Whatever of it was done before, by a driver that was killed, is not done twice.
func (s *service) stage(of *volume, path string, capability *csi.VolumeCapability) error {
	device, err := attachLoopDevice(s.volumes.image(of.ID))
	if err != nil || capability.GetBlock() != nil {
		return err
	}
	isMounted, err := mounter.IsMountPoint(path)
	if err != nil || isMounted {
		return err
	}
	wanted := capability.GetMount()
	fileSystem := wanted.GetFsType()
	if fileSystem == "" {
		fileSystem = "ext4"
	}
	format := mount.NewSafeFormatAndMount(mounter, exec.New())
	if err := growUnmounted(format, device); err != nil {
		return err
	}
	if err := format.FormatAndMount(device, path, fileSystem, wanted.GetMountFlags()); err != nil {
		return err
	}
	return giveToGroup(path, wanted.GetVolumeMountGroup())
}

// ext4 of a volume that has grown while it was not mounted, or was but not with the right to resize it: that takes
// CAP_SYS_RESOURCE, which not every container has.
func growUnmounted(format *mount.SafeFormatAndMount, device string) error {
	kind, err := format.GetDiskFormat(device)
	if err != nil || !strings.HasPrefix(kind, "ext") {
		return err
	}
	isSmall, err := mount.NewResizeFs(format.Exec).NeedResize(device, "")
	if err != nil || !isSmall {
		return err
	}
	for _, command := range [][]string{{"e2fsck", "-f", "-p", device}, {"resize2fs", device}} {
		if output, err := format.Exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s %s: %w: %s", command[0], device, err, output)
		}
	}
	return nil
}

// VOLUME_MOUNT_GROUP: the folder belongs to the group, and so does what is made in it.
func giveToGroup(path, group string) error {
	if group == "" {
		return nil
	}
	id, err := json.Number(group).Int64()
	if err != nil {
		return err
	}
	if err := os.Chown(path, -1, int(id)); err != nil {
		return err
	}
	return os.Chmod(path, 0o775|fs.ModeSetgid)
}

func (s *service) NodeUnstageVolume(_ context.Context, request *csi.NodeUnstageVolumeRequest) (*csi.NodeUnstageVolumeResponse, error) {
	if request.GetVolumeId() == "" {
		return nil, missing("volume_id")
	}
	if request.GetStagingTargetPath() == "" {
		return nil, missing("staging_target_path")
	}
	found, done, err := s.hold(request.GetVolumeId())
	if err != nil {
		return nil, err
	}
	defer done()
	if err := s.unstage(found, request.GetStagingTargetPath()); err != nil {
		return nil, internal(err)
	}
	return &csi.NodeUnstageVolumeResponse{}, nil
}

func (s *service) unstage(of *volume, path string) error {
	if err := unmount(path); err != nil {
		return err
	}
	return detachLoopDevice(s.volumes.image(of.ID))
}

// Also if there is nothing mounted, or nothing at all.
func unmount(path string) error {
	for {
		isMounted, err := mounter.IsMountPoint(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || !isMounted {
			return err
		}
		if err := mounter.Unmount(path); err != nil {
			return err
		}
	}
}

func (s *service) NodePublishVolume(_ context.Context, request *csi.NodePublishVolumeRequest) (*csi.NodePublishVolumeResponse, error) {
	if request.GetVolumeId() == "" {
		return nil, missing("volume_id")
	}
	if request.GetTargetPath() == "" {
		return nil, missing("target_path")
	}
	if request.GetVolumeCapability() == nil {
		return nil, missing("volume_capability")
	}
	if request.GetVolumeContext()[ephemeralKey] == "true" {
		return s.publishEphemeral(request)
	}
	found, done, err := s.hold(request.GetVolumeId())
	if err != nil {
		return nil, err
	}
	defer done()
	if err := s.checkAttached(request.GetPublishContext()); err != nil {
		return nil, err
	}
	source, err := s.publishSource(found, request)
	if err != nil {
		return nil, err
	}
	options := []string{"bind"}
	if isReadOnly(request) {
		options = append(options, "ro")
	}
	isFile := request.GetVolumeCapability().GetBlock() != nil
	if err := publish(source, request.GetTargetPath(), options, isFile); err != nil {
		return nil, internal(err)
	}
	return &csi.NodePublishVolumeResponse{}, nil
}

func isReadOnly(request *csi.NodePublishVolumeRequest) bool {
	switch request.GetVolumeCapability().GetAccessMode().GetMode() {
	case csi.VolumeCapability_AccessMode_SINGLE_NODE_READER_ONLY, csi.VolumeCapability_AccessMode_MULTI_NODE_READER_ONLY:
		return true
	}
	return request.GetReadonly()
}

// What is bind-mounted: the device, or where its file system is staged.
func (s *service) publishSource(of *volume, request *csi.NodePublishVolumeRequest) (string, error) {
	capability := request.GetVolumeCapability()
	staged := request.GetStagingTargetPath()
	if s.settings.withoutStaging {
		staged = s.ownStaging(of)
		if err := os.MkdirAll(staged, 0o750); err != nil {
			return "", internal(err)
		}
		if err := s.stage(of, staged, capability); err != nil {
			return "", internal(err)
		}
	}
	if staged == "" {
		return "", status.Error(codes.FailedPrecondition, "staging_target_path is missing: volumes are staged first")
	}
	if capability.GetBlock() != nil {
		device, err := loopDevice(s.volumes.image(of.ID))
		if err == nil && device == "" {
			return "", status.Errorf(codes.FailedPrecondition, "volume %s is not staged", of.ID)
		}
		return device, err
	}
	if isMounted, err := mounter.IsMountPoint(staged); err != nil || !isMounted {
		return "", status.Errorf(codes.FailedPrecondition, "volume %s is not staged at %s (%v)", of.ID, staged, err)
	}
	return staged, nil
}

func (s *service) ownStaging(of *volume) string {
	return filepath.Join(s.settings.dataFolder, "staged", of.ID)
}

func publish(source, target string, options []string, isFile bool) error {
	if err := makeTarget(target, isFile); err != nil {
		return err
	}
	isMounted, err := mounter.IsMountPoint(target)
	if err != nil || isMounted {
		return err
	}
	return mounter.Mount(source, target, "", options)
}

func makeTarget(path string, isFile bool) error {
	if !isFile {
		return os.MkdirAll(path, 0o750)
	}
	file, err := os.OpenFile(path, os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return file.Close()
}

// A folder of the pod's own, or memory with the attribute `medium: tmpfs`. What the kubelet says about the pod is
// written into it each time: tests of republished tokens read it there.
func (s *service) publishEphemeral(request *csi.NodePublishVolumeRequest) (*csi.NodePublishVolumeResponse, error) {
	id, target := request.GetVolumeId(), request.GetTargetPath()
	if !validID.MatchString(id) {
		return nil, status.Errorf(codes.InvalidArgument, "volume_id %q: want letters, digits, dots and dashes", id)
	}
	if !s.volumes.begin(id) {
		return nil, isBusy(id)
	}
	defer s.volumes.end(id)
	folder := s.ephemeralFolder(id)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, internal(err)
	}
	if request.GetVolumeContext()["medium"] == "tmpfs" {
		if isMounted, err := mounter.IsMountPoint(folder); err != nil {
			return nil, internal(err)
		} else if !isMounted {
			if err := mounter.Mount("tmpfs", folder, "tmpfs", nil); err != nil {
				return nil, internal(err)
			}
		}
	}
	if err := os.Chmod(folder, 0o777); err != nil {
		return nil, internal(err)
	}
	text := must(json.Marshal(request.GetVolumeContext()))
	if err := os.WriteFile(filepath.Join(folder, "volume-context.json"), text, 0o644); err != nil {
		return nil, internal(err)
	}
	options := []string{"bind"}
	if isReadOnly(request) {
		options = append(options, "ro")
	}
	if err := giveToGroup(folder, request.GetVolumeCapability().GetMount().GetVolumeMountGroup()); err != nil {
		return nil, internal(err)
	}
	if err := publish(folder, target, options, false); err != nil {
		return nil, internal(err)
	}
	return &csi.NodePublishVolumeResponse{}, nil
}

func (s *service) ephemeralFolder(id string) string {
	return filepath.Join(s.settings.dataFolder, "ephemeral", id)
}

func (s *service) NodeUnpublishVolume(_ context.Context, request *csi.NodeUnpublishVolumeRequest) (*csi.NodeUnpublishVolumeResponse, error) {
	id := request.GetVolumeId()
	if id == "" {
		return nil, missing("volume_id")
	}
	if request.GetTargetPath() == "" {
		return nil, missing("target_path")
	}
	if !s.volumes.begin(id) {
		return nil, isBusy(id)
	}
	defer s.volumes.end(id)
	// None for an inline volume, which exists only while it is published.
	found, err := s.volumes.find(id)
	if err != nil {
		return nil, internal(err)
	}
	if err := s.unpublish(found, id, request.GetTargetPath()); err != nil {
		return nil, internal(err)
	}
	return &csi.NodeUnpublishVolumeResponse{}, nil
}

func (s *service) unpublish(of *volume, id, target string) error {
	if err := unmount(target); err != nil {
		return err
	}
	if err := os.Remove(target); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if of == nil {
		if !validID.MatchString(id) {
			return nil
		}
		if err := unmount(s.ephemeralFolder(id)); err != nil {
			return err
		}
		return os.RemoveAll(s.ephemeralFolder(id))
	}
	if !s.settings.withoutStaging {
		return nil
	}
	isUsed, err := s.isPublished(of)
	if err != nil || isUsed {
		return err
	}
	return s.unstage(of, s.ownStaging(of))
}

// Whether the volume's device is mounted anywhere but where this driver has staged it by itself.
func (s *service) isPublished(of *volume) (bool, error) {
	device, err := loopDevice(s.volumes.image(of.ID))
	if device == "" || err != nil {
		return false, err
	}
	points, err := mounter.List()
	return slices.ContainsFunc(points, func(point mount.MountPoint) bool {
		return point.Device == device && point.Path != s.ownStaging(of)
	}), err
}

func (s *service) NodeExpandVolume(_ context.Context, request *csi.NodeExpandVolumeRequest) (*csi.NodeExpandVolumeResponse, error) {
	if request.GetVolumeId() == "" {
		return nil, missing("volume_id")
	}
	if request.GetVolumePath() == "" {
		return nil, missing("volume_path")
	}
	found, done, err := s.hold(request.GetVolumeId())
	if err != nil {
		return nil, err
	}
	defer done()
	device, err := loopDevice(s.volumes.image(found.ID))
	if err != nil {
		return nil, internal(err)
	}
	if device == "" {
		return nil, status.Errorf(codes.FailedPrecondition, "volume %s is not staged", found.ID)
	}
	if err := s.grow(found, request.GetCapacityRange().GetRequiredBytes()); err != nil {
		return nil, internal(err)
	}
	if err := refreshLoopDevice(device); err != nil {
		return nil, internal(err)
	}
	info, err := os.Stat(request.GetVolumePath())
	if err != nil {
		return nil, status.Error(codes.NotFound, err.Error())
	}
	if info.IsDir() && request.GetVolumeCapability().GetBlock() == nil {
		if _, err := mount.NewResizeFs(exec.New()).Resize(device, request.GetVolumePath()); err != nil {
			return nil, internal(err)
		}
	}
	return &csi.NodeExpandVolumeResponse{CapacityBytes: found.CapacityBytes}, nil
}

func (s *service) NodeGetVolumeStats(_ context.Context, request *csi.NodeGetVolumeStatsRequest) (*csi.NodeGetVolumeStatsResponse, error) {
	if request.GetVolumeId() == "" {
		return nil, missing("volume_id")
	}
	path := request.GetVolumePath()
	if path == "" {
		return nil, missing("volume_path")
	}
	found, err := s.volumes.find(request.GetVolumeId())
	if err != nil {
		return nil, internal(err)
	}
	if found == nil {
		return nil, status.Errorf(codes.NotFound, "volume %s does not exist", request.GetVolumeId())
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, status.Errorf(codes.NotFound, "volume %s is not at %s: %v", found.ID, path, err)
	}
	response := &csi.NodeGetVolumeStatsResponse{}
	if s.settings.NodeVolumeConditionRequired {
		response.VolumeCondition = &csi.VolumeCondition{Message: "volume is normal"}
	}
	if !info.IsDir() {
		response.Usage = []*csi.VolumeUsage{{Unit: csi.VolumeUsage_BYTES, Total: found.CapacityBytes}}
		return response, nil
	}
	var disk unix.Statfs_t
	if err := unix.Statfs(path, &disk); err != nil {
		return nil, internal(err)
	}
	size := int64(disk.Bsize)
	response.Usage = []*csi.VolumeUsage{
		{Unit: csi.VolumeUsage_BYTES, Total: int64(disk.Blocks) * size, Available: int64(disk.Bavail) * size, Used: int64(disk.Blocks-disk.Bfree) * size},
		{Unit: csi.VolumeUsage_INODES, Total: int64(disk.Files), Available: int64(disk.Ffree), Used: int64(disk.Files - disk.Ffree)},
	}
	return response, nil
}
