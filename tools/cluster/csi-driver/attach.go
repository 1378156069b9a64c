package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/container-storage-interface/spec/lib/go/csi"
	core "k8s.io/api/core/v1"
	storage "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Attaches and detaches what the VolumeAttachments of this driver ask for.
func (s *sidecars) attachAll(ctx context.Context) []error {
	all, err := s.attachments.List(labels.Everything())
	return each(all, err, func(found *storage.VolumeAttachment) error {
		isDeleted := found.DeletionTimestamp != nil
		switch {
		case found.Spec.Attacher != s.settings.DriverName || found.Spec.Source.PersistentVolumeName == nil:
			return nil
		case isDeleted && slices.Contains(found.Finalizers, s.finalizer()):
			return s.detach(ctx, found.DeepCopy())
		case !isDeleted && !found.Status.Attached:
			return s.attach(ctx, found.DeepCopy())
		}
		return nil
	})
}

func (s *sidecars) finalizer() string {
	return "external-attacher/" + s.settings.DriverName
}

// The volume's handle and the node's id at the driver.
func (s *sidecars) subjects(found *storage.VolumeAttachment) (*core.PersistentVolume, string, error) {
	volume, err := s.volumes.Get(*found.Spec.Source.PersistentVolumeName)
	if err != nil {
		return nil, "", err
	}
	node, err := s.nodes.Get(found.Spec.NodeName)
	if err != nil {
		return nil, "", err
	}
	for _, driver := range node.Spec.Drivers {
		if driver.Name == s.settings.DriverName && volume.Spec.CSI != nil {
			return volume, driver.NodeID, nil
		}
	}
	return nil, "", fmt.Errorf("CSINode %s does not contain driver %s", node.Name, s.settings.DriverName)
}

func (s *sidecars) attach(ctx context.Context, found *storage.VolumeAttachment) error {
	volume, nodeID, err := s.subjects(found)
	if err != nil {
		return err
	}
	client := s.client.StorageV1().VolumeAttachments()
	if !slices.Contains(found.Finalizers, s.finalizer()) {
		found.Finalizers = append(found.Finalizers, s.finalizer())
		if found, err = client.Update(ctx, found, meta.UpdateOptions{}); err != nil {
			return err
		}
	}
	limited, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	response, err := s.driver.ControllerPublishVolume(limited, &csi.ControllerPublishVolumeRequest{
		VolumeId:         volume.Spec.CSI.VolumeHandle,
		NodeId:           nodeID,
		VolumeCapability: capabilityOf(volume.Spec.VolumeMode),
		Readonly:         volume.Spec.CSI.ReadOnly,
		VolumeContext:    volume.Spec.CSI.VolumeAttributes,
	})
	if err != nil {
		found.Status.AttachError = &storage.VolumeError{Time: meta.Now(), Message: messageOf(err)}
	} else {
		found.Status = storage.VolumeAttachmentStatus{Attached: true, AttachmentMetadata: response.GetPublishContext()}
	}
	_, statusErr := client.UpdateStatus(ctx, found, meta.UpdateOptions{})
	if err != nil {
		return err
	}
	return statusErr
}

func (s *sidecars) detach(ctx context.Context, found *storage.VolumeAttachment) error {
	client := s.client.StorageV1().VolumeAttachments()
	volume, nodeID, err := s.subjects(found)
	if err == nil {
		limited, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		_, err = s.driver.ControllerUnpublishVolume(limited, &csi.ControllerUnpublishVolumeRequest{
			VolumeId: volume.Spec.CSI.VolumeHandle,
			NodeId:   nodeID,
		})
	} else if errors.IsNotFound(err) {
		// Without the volume or the node there is nothing to detach.
		err = nil
	}
	if err != nil {
		found.Status.DetachError = &storage.VolumeError{Time: meta.Now(), Message: messageOf(err)}
		if _, statusErr := client.UpdateStatus(ctx, found, meta.UpdateOptions{}); statusErr != nil {
			return statusErr
		}
		return err
	}
	found.Finalizers = slices.DeleteFunc(found.Finalizers, func(name string) bool { return name == s.finalizer() })
	_, err = client.Update(ctx, found, meta.UpdateOptions{})
	return err
}

func capabilityOf(mode *core.PersistentVolumeMode) *csi.VolumeCapability {
	capability := &csi.VolumeCapability{
		AccessMode: &csi.VolumeCapability_AccessMode{Mode: csi.VolumeCapability_AccessMode_SINGLE_NODE_WRITER},
		AccessType: &csi.VolumeCapability_Mount{Mount: &csi.VolumeCapability_MountVolume{}},
	}
	if mode != nil && *mode == core.PersistentVolumeBlock {
		capability.AccessType = &csi.VolumeCapability_Block{Block: &csi.VolumeCapability_BlockVolume{}}
	}
	return capability
}
