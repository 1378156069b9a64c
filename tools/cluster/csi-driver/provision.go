package main

import (
	"context"

	"github.com/container-storage-interface/spec/lib/go/csi"
	core "k8s.io/api/core/v1"
	storage "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

const (
	provisionerAnnotation   = "volume.kubernetes.io/storage-provisioner"
	selectedNodeAnnotation  = "volume.kubernetes.io/selected-node"
	provisionedByAnnotation = "pv.kubernetes.io/provisioned-by"
	fileSystemParameter     = "csi.storage.k8s.io/fstype"
)

// Makes the volumes that claims of this driver's storage classes wait for, and deletes those that were released.
func (s *sidecars) provisionAll(ctx context.Context) []error {
	claims, err := s.claims.List(labels.Everything())
	failed := each(claims, err, func(claim *core.PersistentVolumeClaim) error {
		isWanted := claim.DeletionTimestamp == nil && claim.Spec.VolumeName == "" && claim.Spec.StorageClassName != nil
		if !isWanted || claim.Annotations[provisionerAnnotation] != s.settings.DriverName {
			return nil
		}
		return s.provision(ctx, claim)
	})
	volumes, err := s.volumes.List(labels.Everything())
	return append(failed, each(volumes, err, func(volume *core.PersistentVolume) error {
		isReleased := volume.Status.Phase == core.VolumeReleased && volume.Spec.PersistentVolumeReclaimPolicy == core.PersistentVolumeReclaimDelete
		if !isReleased || volume.DeletionTimestamp != nil || volume.Annotations[provisionedByAnnotation] != s.settings.DriverName {
			return nil
		}
		return s.delete(ctx, volume)
	})...)
}

func (s *sidecars) provision(ctx context.Context, claim *core.PersistentVolumeClaim) error {
	class, err := s.classes.Get(*claim.Spec.StorageClassName)
	if err != nil {
		return err
	}
	waits := class.VolumeBindingMode != nil && *class.VolumeBindingMode == storage.VolumeBindingWaitForFirstConsumer
	if waits && claim.Annotations[selectedNodeAnnotation] == "" {
		return nil
	}
	name := "pvc-" + string(claim.UID)
	if _, err := s.volumes.Get(name); err == nil || !errors.IsNotFound(err) {
		return err
	}
	wanted := claim.Spec.Resources.Requests[core.ResourceStorage]
	limited, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	response, err := s.driver.CreateVolume(limited, &csi.CreateVolumeRequest{
		Name:               name,
		CapacityRange:      &csi.CapacityRange{RequiredBytes: wanted.Value()},
		VolumeCapabilities: []*csi.VolumeCapability{capabilityOf(claim.Spec.VolumeMode)},
	})
	if err != nil {
		return err
	}
	_, err = s.client.CoreV1().PersistentVolumes().Create(ctx, s.volumeFor(claim, class, response.GetVolume()), meta.CreateOptions{})
	if errors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

func (s *sidecars) volumeFor(claim *core.PersistentVolumeClaim, class *storage.StorageClass, made *csi.Volume) *core.PersistentVolume {
	reclaim := core.PersistentVolumeReclaimDelete
	if class.ReclaimPolicy != nil {
		reclaim = *class.ReclaimPolicy
	}
	volume := &core.PersistentVolume{
		ObjectMeta: meta.ObjectMeta{
			Name:        "pvc-" + string(claim.UID),
			Annotations: map[string]string{provisionedByAnnotation: s.settings.DriverName},
		},
		Spec: core.PersistentVolumeSpec{
			AccessModes:                   claim.Spec.AccessModes,
			Capacity:                      core.ResourceList{core.ResourceStorage: *resource.NewQuantity(made.GetCapacityBytes(), resource.BinarySI)},
			ClaimRef:                      &core.ObjectReference{APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID},
			MountOptions:                  class.MountOptions,
			PersistentVolumeReclaimPolicy: reclaim,
			StorageClassName:              class.Name,
			VolumeMode:                    claim.Spec.VolumeMode,
			PersistentVolumeSource: core.PersistentVolumeSource{CSI: &core.CSIPersistentVolumeSource{
				Driver:           s.settings.DriverName,
				VolumeHandle:     made.GetVolumeId(),
				VolumeAttributes: made.GetVolumeContext(),
			}},
		},
	}
	if claim.Spec.VolumeMode == nil || *claim.Spec.VolumeMode != core.PersistentVolumeBlock {
		volume.Spec.CSI.FSType = class.Parameters[fileSystemParameter]
	}
	for _, topology := range made.GetAccessibleTopology() {
		var term core.NodeSelectorTerm
		for key, value := range topology.GetSegments() {
			term.MatchExpressions = append(term.MatchExpressions, core.NodeSelectorRequirement{Key: key, Operator: core.NodeSelectorOpIn, Values: []string{value}})
		}
		volume.Spec.NodeAffinity = &core.VolumeNodeAffinity{Required: &core.NodeSelector{NodeSelectorTerms: []core.NodeSelectorTerm{term}}}
	}
	return volume
}

func (s *sidecars) delete(ctx context.Context, volume *core.PersistentVolume) error {
	limited, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if _, err := s.driver.DeleteVolume(limited, &csi.DeleteVolumeRequest{VolumeId: volume.Spec.CSI.VolumeHandle}); err != nil {
		return err
	}
	err := s.client.CoreV1().PersistentVolumes().Delete(ctx, volume.Name, meta.DeleteOptions{})
	if errors.IsNotFound(err) {
		return nil
	}
	return err
}

// Expands volumes whose claims ask for more, and leaves the file system to the node.
func (s *sidecars) expandAll(ctx context.Context) []error {
	claims, err := s.claims.List(labels.Everything())
	return each(claims, err, func(claim *core.PersistentVolumeClaim) error {
		if claim.Status.Phase != core.ClaimBound {
			return nil
		}
		volume, err := s.volumes.Get(claim.Spec.VolumeName)
		if errors.IsNotFound(err) {
			return nil
		}
		wanted, has := claim.Spec.Resources.Requests[core.ResourceStorage], claim.Status.Capacity[core.ResourceStorage]
		if err != nil || volume.Spec.CSI == nil || volume.Spec.CSI.Driver != s.settings.DriverName || wanted.Cmp(has) <= 0 {
			return err
		}
		return s.expand(ctx, claim.DeepCopy(), volume.DeepCopy(), wanted)
	})
}

func (s *sidecars) expand(ctx context.Context, claim *core.PersistentVolumeClaim, volume *core.PersistentVolume, wanted resource.Quantity) error {
	isNodesTurn := claim.Status.AllocatedResourceStatuses[core.ResourceStorage] != ""
	allocated := claim.Status.AllocatedResources[core.ResourceStorage]
	if isNodesTurn && allocated.Cmp(wanted) == 0 {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	response, err := s.driver.ControllerExpandVolume(limited, &csi.ControllerExpandVolumeRequest{
		VolumeId:         volume.Spec.CSI.VolumeHandle,
		CapacityRange:    &csi.CapacityRange{RequiredBytes: wanted.Value()},
		VolumeCapability: capabilityOf(volume.Spec.VolumeMode),
	})
	if err != nil {
		return err
	}
	volume.Spec.Capacity[core.ResourceStorage] = wanted
	if _, err := s.client.CoreV1().PersistentVolumes().Update(ctx, volume, meta.UpdateOptions{}); err != nil {
		return err
	}
	if response.GetNodeExpansionRequired() {
		claim.Status.AllocatedResources = core.ResourceList{core.ResourceStorage: wanted}
		claim.Status.AllocatedResourceStatuses = map[core.ResourceName]core.ClaimResourceStatus{core.ResourceStorage: core.PersistentVolumeClaimNodeResizePending}
		claim.Status.Conditions = []core.PersistentVolumeClaimCondition{{
			Type:               core.PersistentVolumeClaimFileSystemResizePending,
			Status:             core.ConditionTrue,
			LastTransitionTime: meta.Now(),
			Message:            "Waiting for user to (re-)start a pod to finish file system resize of volume on node.",
		}}
	} else {
		claim.Status.Capacity[core.ResourceStorage] = wanted
	}
	_, err = s.client.CoreV1().PersistentVolumeClaims(claim.Namespace).UpdateStatus(ctx, claim, meta.UpdateOptions{})
	return err
}
