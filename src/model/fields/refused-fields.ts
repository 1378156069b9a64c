/** What to do instead of claiming devices (docs/adr/0028). */
export const claimsNeedCluster =
  "whose API server DRA drivers need and whose scheduler allocates claims; run the device plugin of the hardware and ask for its resource in limits, or join a cluster with `berth kubelet`";

const unsupported = "not supported by this node";
const mountYourself = `${unsupported}; use the CSI driver of the storage, or mount it on the node and use hostPath`;
const device = `${unsupported} without a cluster, ${claimsNeedCluster}`;
const windows = `${unsupported}, which runs Linux containers only; use the fields for Linux`;
const ephemeral = "not allowed for ephemeral containers; leave it out";

/** Why `berth up` refuses a pod that uses a field, and what to do instead; by type and field. */
export const refusedFields: ReadonlyMap<string, string> = new Map([
  ["PodSpec.resourceClaims", device],
  ["ResourceRequirements.claims", device],
  ["PodSecurityContext.windowsOptions", windows],
  ["SecurityContext.windowsOptions", windows],
  [
    "Lifecycle.stopSignal",
    "needs the feature gate ContainerStopSignals of `berth kubelet`, which is off unless set; or set STOPSIGNAL in the image",
  ],
  ["LifecycleHandler.tcpSocket", "a hook cannot be a connection; use exec, httpGet or sleep"],
  ["EphemeralContainer.lifecycle", ephemeral],
  ["EphemeralContainer.livenessProbe", ephemeral],
  ["EphemeralContainer.ports", ephemeral],
  ["EphemeralContainer.readinessProbe", ephemeral],
  ["EphemeralContainer.resizePolicy", ephemeral],
  ["EphemeralContainer.resources", ephemeral],
  ["EphemeralContainer.restartPolicy", ephemeral],
  ["EphemeralContainer.restartPolicyRules", ephemeral],
  ["EphemeralContainer.startupProbe", ephemeral],
  ...[
    "awsElasticBlockStore",
    "azureDisk",
    "azureFile",
    "cephfs",
    "cinder",
    "flocker",
    "gcePersistentDisk",
    "glusterfs",
    "photonPersistentDisk",
    "portworxVolume",
    "quobyte",
    "rbd",
    "scaleIO",
    "storageos",
    "vsphereVolume",
  ].map((source) => [`Volume.${source}`, mountYourself] as const),
  [
    "Volume.flexVolume",
    `${unsupported}: its drivers are programs of the node that run as root; use the CSI driver of the storage, or mount it on the node and use hostPath`,
  ],
  [
    "Volume.gitRepo",
    `${unsupported}: it ran programs of the repository as root; use an init container that clones to an emptyDir`,
  ],
  [
    "VolumeProjection.clusterTrustBundle",
    `${unsupported} without a cluster; use a configMap source, or join a cluster with \`berth kubelet\` and its feature gate ClusterTrustBundleProjection`,
  ],
  [
    "VolumeProjection.podCertificate",
    `${unsupported} without a cluster; use a secret source, or join a cluster with \`berth kubelet\` and its feature gate PodCertificateRequest`,
  ],
]);
