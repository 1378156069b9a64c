package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	mock "k8s.io/kubernetes/test/e2e/storage/drivers/csi-test/mock/service"
)

// The mock answers what it is and can do; what happens to volumes is this driver's own.
type service struct {
	mock.Service
	settings settings
	volumes  *volumes
}

// What the mock has that is not done to real volumes.
var notServed = []csi.ControllerServiceCapability_RPC_Type{
	csi.ControllerServiceCapability_RPC_CREATE_DELETE_SNAPSHOT,
	csi.ControllerServiceCapability_RPC_LIST_SNAPSHOTS,
	csi.ControllerServiceCapability_RPC_CLONE_VOLUME,
	csi.ControllerServiceCapability_RPC_MODIFY_VOLUME,
}

func (s *service) ControllerGetCapabilities(ctx context.Context, request *csi.ControllerGetCapabilitiesRequest) (*csi.ControllerGetCapabilitiesResponse, error) {
	response, err := s.Service.ControllerGetCapabilities(ctx, request)
	if err != nil {
		return nil, err
	}
	response.Capabilities = slices.DeleteFunc(response.Capabilities, func(each *csi.ControllerServiceCapability) bool {
		return slices.Contains(notServed, each.GetRpc().GetType())
	})
	if s.settings.singleNodeMultiWriter {
		response.Capabilities = append(response.Capabilities, &csi.ControllerServiceCapability{Type: &csi.ControllerServiceCapability_Rpc{
			Rpc: &csi.ControllerServiceCapability_RPC{Type: csi.ControllerServiceCapability_RPC_SINGLE_NODE_MULTI_WRITER},
		}})
	}
	return response, nil
}

func missing(field string) error {
	return status.Errorf(codes.InvalidArgument, "%s is missing", field)
}

func internal(err error) error {
	return status.Error(codes.Internal, err.Error())
}

func isBusy(id string) error {
	return status.Errorf(codes.Aborted, "another operation on volume %s is under way", id)
}

// A volume that is there, with the right to change it until `done` is called.
func (s *service) hold(id string) (found *volume, done func(), err error) {
	if id == "" {
		return nil, nil, missing("volume_id")
	}
	if !s.volumes.begin(id) {
		return nil, nil, isBusy(id)
	}
	done = func() { s.volumes.end(id) }
	found, err = s.volumes.find(id)
	if err == nil && found == nil {
		err = status.Errorf(codes.NotFound, "volume %s does not exist", id)
	} else if err != nil {
		err = internal(err)
	}
	if err != nil {
		done()
		return nil, nil, err
	}
	return found, done, nil
}

func (s *service) described(of volume) *csi.Volume {
	described := &csi.Volume{
		VolumeId:      of.ID,
		CapacityBytes: of.CapacityBytes,
		VolumeContext: map[string]string{"name": of.Name},
	}
	if s.settings.EnableTopology {
		described.AccessibleTopology = []*csi.Topology{{Segments: s.topology()}}
	}
	return described
}

func (s *service) CreateVolume(_ context.Context, request *csi.CreateVolumeRequest) (*csi.CreateVolumeResponse, error) {
	if request.GetName() == "" {
		return nil, missing("name")
	}
	if len(request.GetVolumeCapabilities()) == 0 {
		return nil, missing("volume_capabilities")
	}
	if request.GetVolumeContentSource() != nil {
		return nil, status.Error(codes.InvalidArgument, "volumes are made empty only")
	}
	capacity, limit := request.GetCapacityRange().GetRequiredBytes(), request.GetCapacityRange().GetLimitBytes()
	if capacity > maximumCapacityBytes {
		return nil, status.Errorf(codes.OutOfRange, "a volume has at most %d bytes", int64(maximumCapacityBytes))
	}
	if capacity == 0 {
		capacity = defaultCapacityBytes
		if limit > 0 {
			capacity = min(capacity, limit)
		}
	}
	// The same name is the same volume, also for a driver that was killed before it could answer.
	sum := sha256.Sum256([]byte(request.GetName()))
	id := "vol-" + hex.EncodeToString(sum[:8])
	if !s.volumes.begin(id) {
		return nil, isBusy(id)
	}
	defer s.volumes.end(id)
	found, err := s.volumes.find(id)
	if err != nil {
		return nil, internal(err)
	}
	if found != nil {
		if found.CapacityBytes < request.GetCapacityRange().GetRequiredBytes() || (limit > 0 && found.CapacityBytes > limit) {
			return nil, status.Errorf(codes.AlreadyExists, "volume %s exists with %d bytes", found.Name, found.CapacityBytes)
		}
		return &csi.CreateVolumeResponse{Volume: s.described(*found)}, nil
	}
	made := volume{ID: id, Name: request.GetName(), CapacityBytes: capacity}
	if err := s.volumes.create(made); err != nil {
		return nil, internal(err)
	}
	return &csi.CreateVolumeResponse{Volume: s.described(made)}, nil
}

func (s *service) DeleteVolume(_ context.Context, request *csi.DeleteVolumeRequest) (*csi.DeleteVolumeResponse, error) {
	found, done, err := s.hold(request.GetVolumeId())
	if status.Code(err) == codes.NotFound {
		return &csi.DeleteVolumeResponse{}, nil
	}
	if err != nil {
		return nil, err
	}
	defer done()
	device, err := loopDevice(s.volumes.image(found.ID))
	if err != nil {
		return nil, internal(err)
	}
	if device != "" || len(found.Attachments) > 0 {
		return nil, status.Errorf(codes.FailedPrecondition, "volume %s is in use", found.ID)
	}
	if err := s.volumes.remove(found.ID); err != nil {
		return nil, internal(err)
	}
	return &csi.DeleteVolumeResponse{}, nil
}

func (s *service) ControllerPublishVolume(_ context.Context, request *csi.ControllerPublishVolumeRequest) (*csi.ControllerPublishVolumeResponse, error) {
	if s.settings.DisableAttach {
		return nil, status.Error(codes.Unimplemented, "volumes need not be attached")
	}
	if request.GetVolumeId() == "" {
		return nil, missing("volume_id")
	}
	if request.GetNodeId() == "" {
		return nil, missing("node_id")
	}
	if request.GetVolumeCapability() == nil {
		return nil, missing("volume_capability")
	}
	found, done, err := s.hold(request.GetVolumeId())
	if err != nil {
		return nil, err
	}
	defer done()
	if request.GetNodeId() != s.settings.nodeID {
		return nil, status.Errorf(codes.NotFound, "node %s does not exist", request.GetNodeId())
	}
	before, isAttached := found.Attachments[request.GetNodeId()]
	if isAttached && before.ReadOnly != request.GetReadonly() {
		return nil, status.Errorf(codes.AlreadyExists, "volume %s is attached with readonly %t", found.ID, before.ReadOnly)
	}
	if !isAttached {
		if err := s.checkLimit(request.GetNodeId()); err != nil {
			return nil, err
		}
		found.Attachments[request.GetNodeId()] = attachment{ReadOnly: request.GetReadonly()}
		if err := s.volumes.save(*found); err != nil {
			return nil, internal(err)
		}
	}
	return &csi.ControllerPublishVolumeResponse{PublishContext: map[string]string{
		deviceKey:  found.ID,
		"readonly": strconv.FormatBool(request.GetReadonly()),
	}}, nil
}

func (s *service) checkLimit(node string) error {
	all, err := s.volumes.list()
	if err != nil {
		return internal(err)
	}
	attached := int64(0)
	for _, each := range all {
		if _, ok := each.Attachments[node]; ok {
			attached++
		}
	}
	if s.settings.AttachLimit > 0 && attached >= s.settings.AttachLimit {
		return status.Errorf(codes.ResourceExhausted, "node %s has %d volumes already", node, attached)
	}
	return nil
}

func (s *service) ControllerUnpublishVolume(_ context.Context, request *csi.ControllerUnpublishVolumeRequest) (*csi.ControllerUnpublishVolumeResponse, error) {
	if s.settings.DisableAttach {
		return nil, status.Error(codes.Unimplemented, "volumes need not be attached")
	}
	found, done, err := s.hold(request.GetVolumeId())
	if status.Code(err) == codes.NotFound {
		return &csi.ControllerUnpublishVolumeResponse{}, nil
	}
	if err != nil {
		return nil, err
	}
	defer done()
	device, err := loopDevice(s.volumes.image(found.ID))
	if err != nil {
		return nil, internal(err)
	}
	// A real disk would be gone under its file system. Tests find this failure among the calls.
	if device != "" {
		return nil, status.Errorf(codes.FailedPrecondition, "volume %s is still staged on %s", found.ID, device)
	}
	if request.GetNodeId() == "" {
		clear(found.Attachments)
	} else {
		delete(found.Attachments, request.GetNodeId())
	}
	if err := s.volumes.save(*found); err != nil {
		return nil, internal(err)
	}
	return &csi.ControllerUnpublishVolumeResponse{}, nil
}

func (s *service) ValidateVolumeCapabilities(_ context.Context, request *csi.ValidateVolumeCapabilitiesRequest) (*csi.ValidateVolumeCapabilitiesResponse, error) {
	if request.GetVolumeId() == "" {
		return nil, missing("volume_id")
	}
	if len(request.GetVolumeCapabilities()) == 0 {
		return nil, missing("volume_capabilities")
	}
	_, done, err := s.hold(request.GetVolumeId())
	if err != nil {
		return nil, err
	}
	done()
	return &csi.ValidateVolumeCapabilitiesResponse{Confirmed: &csi.ValidateVolumeCapabilitiesResponse_Confirmed{
		VolumeContext:      request.GetVolumeContext(),
		VolumeCapabilities: request.GetVolumeCapabilities(),
		Parameters:         request.GetParameters(),
	}}, nil
}

func attachedNodes(of volume) []string {
	nodes := []string{}
	for node := range of.Attachments {
		nodes = append(nodes, node)
	}
	slices.Sort(nodes)
	return nodes
}

func (s *service) ControllerGetVolume(_ context.Context, request *csi.ControllerGetVolumeRequest) (*csi.ControllerGetVolumeResponse, error) {
	found, done, err := s.hold(request.GetVolumeId())
	if err != nil {
		return nil, err
	}
	done()
	return &csi.ControllerGetVolumeResponse{
		Volume: s.described(*found),
		Status: &csi.ControllerGetVolumeResponse_VolumeStatus{PublishedNodeIds: attachedNodes(*found), VolumeCondition: &csi.VolumeCondition{}},
	}, nil
}

func (s *service) ListVolumes(_ context.Context, request *csi.ListVolumesRequest) (*csi.ListVolumesResponse, error) {
	all, err := s.volumes.list()
	if err != nil {
		return nil, internal(err)
	}
	from := 0
	if token := request.GetStartingToken(); token != "" {
		if from, err = strconv.Atoi(token); err != nil || from < 0 || from > len(all) {
			return nil, status.Errorf(codes.Aborted, "starting_token %q was not given by this driver", token)
		}
	}
	to := len(all)
	if most := int(request.GetMaxEntries()); most > 0 {
		to = min(to, from+most)
	}
	response := &csi.ListVolumesResponse{}
	for _, each := range all[from:to] {
		response.Entries = append(response.Entries, &csi.ListVolumesResponse_Entry{
			Volume: s.described(each),
			Status: &csi.ListVolumesResponse_VolumeStatus{PublishedNodeIds: attachedNodes(each), VolumeCondition: &csi.VolumeCondition{}},
		})
	}
	if to < len(all) {
		response.NextToken = strconv.Itoa(to)
	}
	return response, nil
}

func (s *service) ControllerExpandVolume(_ context.Context, request *csi.ControllerExpandVolumeRequest) (*csi.ControllerExpandVolumeResponse, error) {
	if request.GetVolumeId() == "" {
		return nil, missing("volume_id")
	}
	if request.GetCapacityRange() == nil {
		return nil, missing("capacity_range")
	}
	found, done, err := s.hold(request.GetVolumeId())
	if err != nil {
		return nil, err
	}
	defer done()
	wanted := request.GetCapacityRange().GetRequiredBytes()
	if wanted > maximumCapacityBytes {
		return nil, status.Errorf(codes.OutOfRange, "a volume has at most %d bytes", int64(maximumCapacityBytes))
	}
	if s.settings.DisableOnlineExpansion && len(found.Attachments) > 0 {
		return nil, status.Errorf(codes.FailedPrecondition, "volume %s is attached", found.ID)
	}
	if err := s.grow(found, wanted); err != nil {
		return nil, internal(err)
	}
	return &csi.ControllerExpandVolumeResponse{CapacityBytes: found.CapacityBytes, NodeExpansionRequired: s.settings.NodeExpansionRequired}, nil
}

// Also safe for a size that it has already.
func (s *service) grow(found *volume, wantedBytes int64) error {
	if wantedBytes <= found.CapacityBytes {
		return nil
	}
	if err := s.volumes.resize(found.ID, wantedBytes); err != nil {
		return err
	}
	found.CapacityBytes = wantedBytes
	return s.volumes.save(*found)
}
