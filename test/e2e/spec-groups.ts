/** Specs of Kubernetes' own e2e suite that are run by one process. */
export interface SpecGroup {
  readonly name: string;
  /** A regular expression of Go on the specs' full names. */
  readonly focus: string;
}

function group(name: string): SpecGroup {
  return { name, focus: escape(name) };
}

function inTree(driver: string): SpecGroup {
  return group(`In-tree Volumes ${driver}`);
}

function local(type: string): SpecGroup {
  return inTree(`[Driver: local] [LocalVolumeType: ${type}]`);
}

/** The specs about storage that can be run without a registry and without a cloud. */
export const specGroups: readonly SpecGroup[] = [
  group("Subpath Atomic writer volumes"),
  group("Subpath Container restart"),
  group("PersistentVolumes-local"),
  inTree("[Driver: emptydir]"),
  inTree("[Driver: hostPath]"),
  inTree("[Driver: hostPathSymlink]"),
  local("dir"),
  local("dir-link"),
  local("dir-bindmounted"),
  local("dir-link-bindmounted"),
  local("tmpfs"),
  local("block"),
  local("blockfs"),
];

/** Specs that need what is not here, or that stop the node on purpose. */
export const skippedSpecs: string = [
  "[Disruptive]",
  "[Feature:",
  "[Alpha]",
  "[Flaky]",
  // Its pods have the image glibc-dns-testing.
  "should concurrently access the single",
  // Raw disks of Google's machines.
  "gce-localssd",
]
  .map(escape)
  .join("|");

/** What is left out, and why. */
export const unavailable: readonly (readonly [string, string])[] = [
  [
    "CSI Mock",
    "needs the images of csi-provisioner, csi-attacher, csi-resizer, csi-node-driver-registrar and hostpathplugin; where this was run registry.k8s.io did not answer, and Go's module proxy refused their modules (403)",
  ],
  [
    "In-tree Volumes [Driver: nfs], [Driver: nfs3]",
    "needs the image volume/nfs and a kernel with an NFS server",
  ],
  [
    "In-tree Volumes [Driver: iscsi]",
    "needs the image volume/iscsi and a kernel with an iSCSI target",
  ],
  [
    "In-tree Volumes [Driver: cinder], [Driver: vsphere], [Driver: azure-disk], [Driver: azure-file]",
    "needs that cloud",
  ],
  ["multiVolume, should concurrently access the single …", "needs the image glibc-dns-testing"],
  ["gce-localssd-scsi-fs", "needs a raw disk of a machine of Google's"],
];

function escape(text: string): string {
  return text.replaceAll(/[[\]().|+*?\\]/g, "\\$&");
}
