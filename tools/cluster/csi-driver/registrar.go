package main

import (
	"context"

	registration "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

// Registers the driver with a kubelet, as the sidecar node-driver-registrar does.
type registrar struct {
	registration.UnimplementedRegistrationServer
	settings settings
}

func (r *registrar) GetInfo(context.Context, *registration.InfoRequest) (*registration.PluginInfo, error) {
	return &registration.PluginInfo{
		Type:              registration.CSIPlugin,
		Name:              r.settings.DriverName,
		Endpoint:          r.settings.endpoint,
		SupportedVersions: []string{"1.0.0"},
	}, nil
}

// What the kubelet says is in calls.jsonl.
func (r *registrar) NotifyRegistrationStatus(context.Context, *registration.RegistrationStatus) (*registration.RegistrationStatusResponse, error) {
	return &registration.RegistrationStatusResponse{}, nil
}
