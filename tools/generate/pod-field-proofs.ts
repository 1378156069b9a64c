// What proves that a field of the pod spec is honoured: a domain of recorded answers, or a test file.

/** Names of domains of vectors, and paths of tests. */
type Proof = string | readonly string[];

/** The proof, and what the node must have for the field to work, where not every node has it. */
export type FieldProof = Proof | { readonly proof: Proof; readonly when: string };

const inside = "test/integration/pod-fields.test.ts";
const debug = "test/integration/lifecycle-debug.test.ts";
const endings = "test/integration/lifecycle-endings.test.ts";
const environment = "test/integration/environment.test.ts";
const volumes = "test/integration/volumes.test.ts";
const volumeManager = "test/integration/volume-manager.test.ts";
const imageVolumes = "test/sim/scenarios/image-volumes.test.ts";
const csi = ["csi-calls", "test/integration/csi-volume.test.ts"];
const fc = ["volume-fc", "test/integration/fc-volume.test.ts"];
const iscsi = "volume-iscsi";
const nfs = "volume-nfs";
const ephemeralClaims = "test/integration/claims.test.ts";
const claims = ["volume-resolution", "volume-reconcile"];
const devices = "src/core/mount/container-devices.test.ts";
const hooksInside = "test/integration/lifecycle-hooks.test.ts";
const hooks = ["src/engine/execute/run-hook.test.ts", hooksInside];
const probes = "src/drivers/linux/probe-runner.test.ts";
const pullSecrets = "src/engine/images/pull-credentials.test.ts";
const runtimeConfig = "test/pod-fields-in-runtime.test.ts";
const networkNames = "test/integration/network-names.test.ts";
const dns = ["dns-config", networkNames];
const names = ["pod-hostname", networkNames];
const hosts = ["hosts-file", networkNames];
const namespaces = ["cri-configs", networkNames];
const ports = ["cri-configs", "test/integration/network-ports.test.ts"];
const variables = ["env-vars", environment];
const payload = ["volume-payload", volumes];
const probeRounds = ["probe-worker", "test/integration/lifecycle-probes.test.ts"];
const users = ["cri-configs", "test/integration/security-users.test.ts"];
const profiles = ["cri-configs", "test/integration/security-profiles.test.ts"];
const resizes = ["compute-pod-actions-resize", "test/integration/resize.test.ts"];
const node = ["cri-configs", "test/integration/security-node.test.ts"];

/** All that prove a field. */
export function proofsOf(field: FieldProof): readonly string[] {
  if (typeof field === "string") return [field];
  return "proof" in field ? proofsOf(field.proof) : field;
}

/** What the field needs, where not every node has it. */
export function whenOf(field: FieldProof): string | undefined {
  return typeof field === "object" && "when" in field ? field.when : undefined;
}

/** By type, then by field; every field that can be reached and is not in a list of refused or ignored ones. */
export const supportedFields: Readonly<Record<string, Readonly<Record<string, FieldProof>>>> = {
  PodSpec: {
    activeDeadlineSeconds: endings,
    affinity: "pod-admission",
    containers: "compute-pod-actions",
    dnsConfig: dns,
    dnsPolicy: dns,
    enableServiceLinks: "env-vars",
    ephemeralContainers: { proof: debug, when: "only in pods that run: `berth debug` adds them" },
    hostAliases: hosts,
    hostIPC: namespaces,
    hostNetwork: namespaces,
    hostPID: namespaces,
    hostUsers: {
      proof: "src/engine/resources/user-namespaces.test.ts",
      when: "false only where the runtime has user namespaces",
    },
    hostname: names,
    hostnameOverride: ["pod-hostname", inside],
    imagePullSecrets: pullSecrets,
    initContainers: "compute-pod-actions",
    nodeName: "pod-admission",
    nodeSelector: ["pod-admission", inside],
    os: "pod-admission",
    overhead: "cri-configs",
    priority: "src/core/admission/preemption.test.ts",
    priorityClassName: runtimeConfig,
    readinessGates: {
      proof: "status-conditions",
      when: "only a cluster's API can set the conditions, and the pod is not ready before",
    },
    resources: "pod-resources",
    restartPolicy: "compute-pod-actions",
    runtimeClassName: "test/integration/security-admission.test.ts",
    securityContext: "cri-configs",
    serviceAccount: runtimeConfig,
    serviceAccountName: {
      proof: "volume-payload",
      when: "accounts are objects of a cluster; a manifest may name none",
    },
    setHostnameAsFQDN: names,
    shareProcessNamespace: namespaces,
    subdomain: names,
    terminationGracePeriodSeconds: "kill-grace",
    tolerations: "pod-admission",
    volumes,
  },
  Affinity: { nodeAffinity: "pod-admission" },
  NodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: "pod-admission" },
  NodeSelector: { nodeSelectorTerms: "pod-admission" },
  NodeSelectorTerm: {
    matchExpressions: "pod-admission",
    matchFields: "src/core/admission/node-affinity.test.ts",
  },
  NodeSelectorRequirement: {
    key: "pod-admission",
    operator: "pod-admission",
    values: "pod-admission",
  },
  Container: {
    args: ["cri-configs", inside],
    command: "cri-configs",
    env: variables,
    envFrom: variables,
    image: "cri-configs",
    imagePullPolicy: "sync-pod-cri",
    lifecycle: "cri-configs",
    livenessProbe: probeRounds,
    name: "cri-configs",
    ports: ports,
    readinessProbe: probeRounds,
    resizePolicy: resizes,
    resources: "cri-configs",
    restartPolicy: "compute-pod-actions",
    restartPolicyRules: ["compute-pod-actions", inside],
    securityContext: "cri-configs",
    startupProbe: probeRounds,
    stdin: "cri-configs",
    stdinOnce: "cri-configs",
    terminationMessagePath: endings,
    terminationMessagePolicy: endings,
    tty: "cri-configs",
    volumeDevices: devices,
    volumeMounts: "container-mounts",
    workingDir: ["cri-configs", inside],
  },
  EphemeralContainer: {
    args: runtimeConfig,
    command: runtimeConfig,
    env: runtimeConfig,
    envFrom: runtimeConfig,
    image: runtimeConfig,
    imagePullPolicy: runtimeConfig,
    name: debug,
    securityContext: runtimeConfig,
    stdin: runtimeConfig,
    stdinOnce: runtimeConfig,
    targetContainerName: debug,
    terminationMessagePath: runtimeConfig,
    terminationMessagePolicy: runtimeConfig,
    tty: runtimeConfig,
    volumeDevices: devices,
    volumeMounts: runtimeConfig,
    workingDir: runtimeConfig,
  },
  ContainerPort: {
    containerPort: ports,
    hostIP: ports,
    hostPort: ports,
    name: "cri-configs",
    protocol: "cri-configs",
  },
  ContainerResizePolicy: {
    resourceName: resizes,
    restartPolicy: resizes,
  },
  ContainerRestartRule: { action: "compute-pod-actions", exitCodes: "compute-pod-actions" },
  ContainerRestartRuleOnExitCodes: {
    operator: "compute-pod-actions",
    values: "compute-pod-actions",
  },
  ResourceRequirements: {
    limits: {
      proof: "cri-configs",
      when: "a limit of ephemeral-storage is not enforced, since nothing is evicted yet",
    },
    requests: "cri-configs",
  },
  EnvVar: { name: "env-vars", value: "env-vars", valueFrom: variables },
  EnvVarSource: {
    configMapKeyRef: variables,
    fieldRef: variables,
    fileKeyRef: environment,
    resourceFieldRef: variables,
    secretKeyRef: variables,
  },
  EnvFromSource: { configMapRef: variables, prefix: variables, secretRef: variables },
  ConfigMapEnvSource: { name: "env-vars", optional: "env-vars" },
  SecretEnvSource: { name: "env-vars", optional: "env-vars" },
  ConfigMapKeySelector: { key: "env-vars", name: "env-vars", optional: "env-vars" },
  SecretKeySelector: { key: "env-vars", name: "env-vars", optional: "env-vars" },
  FileKeySelector: {
    key: environment,
    optional: environment,
    path: environment,
    volumeName: environment,
  },
  ObjectFieldSelector: { apiVersion: "env-vars", fieldPath: "env-vars" },
  ResourceFieldSelector: {
    containerName: "env-vars",
    divisor: "env-vars",
    resource: "env-vars",
  },
  Lifecycle: {
    postStart: ["src/engine/execute/execute-plan.test.ts", hooksInside],
    preStop: ["cri-configs", hooksInside],
  },
  LifecycleHandler: { exec: hooks, httpGet: hooks, sleep: hooks },
  ExecAction: { command: "cri-configs" },
  SleepAction: { seconds: "cri-configs" },
  HTTPGetAction: {
    host: "http-probe",
    httpHeaders: "http-probe",
    path: "http-probe",
    port: "http-probe",
    scheme: "http-probe",
  },
  HTTPHeader: { name: "http-probe", value: "http-probe" },
  TCPSocketAction: { host: probes, port: probes },
  GRPCAction: { port: probes, service: probes },
  Probe: {
    exec: probeRounds,
    failureThreshold: probeRounds,
    grpc: probes,
    httpGet: "http-probe",
    initialDelaySeconds: probeRounds,
    periodSeconds: probeRounds,
    successThreshold: "probe-worker",
    tcpSocket: probes,
    terminationGracePeriodSeconds: "kill-grace",
    timeoutSeconds: probeRounds,
  },
  PodDNSConfig: { nameservers: dns, options: dns, searches: dns },
  PodDNSConfigOption: { name: "dns-config", value: "dns-config" },
  HostAlias: { hostnames: hosts, ip: hosts },
  LocalObjectReference: { name: pullSecrets },
  PodOS: { name: "pod-admission" },
  PodReadinessGate: { conditionType: "status-conditions" },
  Toleration: {
    effect: "pod-admission",
    key: "pod-admission",
    operator: "pod-admission",
    value: "pod-admission",
  },
  PodSecurityContext: {
    appArmorProfile: "src/core/admission/admit-pod.test.ts",
    fsGroup: volumes,
    fsGroupChangePolicy: volumeManager,
    runAsGroup: users,
    runAsNonRoot: users,
    runAsUser: users,
    seLinuxChangePolicy: {
      proof: "src/core/storage/selinux-label.test.ts",
      when: "where SELinux is enabled",
    },
    seLinuxOptions: runtimeConfig,
    seccompProfile: profiles,
    supplementalGroups: users,
    supplementalGroupsPolicy: {
      proof: "pod-admission",
      when: "Strict only where the runtime can leave out the image's groups",
    },
    sysctls: node,
  },
  SecurityContext: {
    allowPrivilegeEscalation: profiles,
    appArmorProfile: profiles,
    capabilities: profiles,
    privileged: profiles,
    procMount: profiles,
    readOnlyRootFilesystem: profiles,
    runAsGroup: users,
    runAsNonRoot: users,
    runAsUser: users,
    seLinuxOptions: "cri-configs",
    seccompProfile: profiles,
  },
  AppArmorProfile: { localhostProfile: profiles, type: profiles },
  Capabilities: { add: profiles, drop: profiles },
  SELinuxOptions: {
    level: "cri-configs",
    role: runtimeConfig,
    type: runtimeConfig,
    user: runtimeConfig,
  },
  SeccompProfile: { localhostProfile: profiles, type: profiles },
  Sysctl: { name: "cri-configs", value: "cri-configs" },
  VolumeMount: {
    mountPath: "container-mounts",
    mountPropagation: ["container-mounts", inside],
    name: "container-mounts",
    readOnly: "container-mounts",
    recursiveReadOnly: {
      proof: ["container-mounts", inside],
      when: "Enabled only where the runtime can do it",
    },
    subPath: ["container-mounts", volumes],
    subPathExpr: ["container-mounts", volumes],
  },
  Volume: {
    configMap: payload,
    csi,
    downwardAPI: payload,
    emptyDir: volumes,
    ephemeral: ["volume-resolution", ephemeralClaims],
    fc,
    hostPath: volumes,
    image: {
      proof: ["container-mounts", imageVolumes],
      when: "where the runtime mounts images (containerd from 2.1 on); others fail to create the container, which is reported",
    },
    iscsi,
    name: volumes,
    nfs,
    persistentVolumeClaim: claims,
    projected: volumes,
    secret: payload,
  },
  VolumeDevice: { devicePath: devices, name: devices },
  EphemeralVolumeSource: {
    volumeClaimTemplate: {
      proof: ephemeralClaims,
      when: "as a claim of its own: [storage.md](storage.md)",
    },
  },
  PersistentVolumeClaimVolumeSource: { claimName: claims, readOnly: claims },
  CSIVolumeSource: {
    driver: csi,
    fsType: csi,
    nodePublishSecretRef: "csi-calls",
    readOnly: csi,
    volumeAttributes: csi,
  },
  FCVolumeSource: {
    fsType: "volume-fc",
    lun: fc,
    readOnly: fc,
    targetWWNs: fc,
    wwids: "volume-fc",
  },
  ISCSIVolumeSource: {
    chapAuthDiscovery: iscsi,
    chapAuthSession: iscsi,
    fsType: iscsi,
    initiatorName: iscsi,
    iqn: iscsi,
    iscsiInterface: iscsi,
    lun: iscsi,
    portals: iscsi,
    readOnly: iscsi,
    secretRef: iscsi,
    targetPortal: iscsi,
  },
  NFSVolumeSource: { path: nfs, readOnly: nfs, server: nfs },
  ConfigMapVolumeSource: {
    defaultMode: "volume-payload",
    items: "volume-payload",
    name: "volume-payload",
    optional: "volume-payload",
  },
  SecretVolumeSource: {
    defaultMode: "volume-payload",
    items: "volume-payload",
    optional: "volume-payload",
    secretName: volumes,
  },
  DownwardAPIVolumeSource: { defaultMode: "volume-payload", items: "volume-payload" },
  DownwardAPIVolumeFile: {
    fieldRef: "volume-payload",
    mode: "volume-payload",
    path: "volume-payload",
    resourceFieldRef: "volume-payload",
  },
  KeyToPath: { key: "volume-payload", mode: "volume-payload", path: "volume-payload" },
  EmptyDirVolumeSource: {
    medium: volumes,
    sizeLimit: {
      proof: volumes,
      when: "in memory; on disk it is not enforced, since nothing is evicted yet",
    },
  },
  ImageVolumeSource: { pullPolicy: imageVolumes, reference: imageVolumes },
  HostPathVolumeSource: { path: volumes, type: volumes },
  ProjectedVolumeSource: { defaultMode: "volume-payload", sources: "volume-payload" },
  VolumeProjection: {
    configMap: "volume-payload",
    downwardAPI: "volume-payload",
    secret: "volume-payload",
    serviceAccountToken: {
      proof: "volume-payload",
      when: "tokens come from a cluster; a manifest may ask for none",
    },
  },
  ConfigMapProjection: {
    items: "volume-payload",
    name: "volume-payload",
    optional: "volume-payload",
  },
  SecretProjection: {
    items: "volume-payload",
    name: "volume-payload",
    optional: "volume-payload",
  },
  DownwardAPIProjection: { items: "volume-payload" },
  ServiceAccountTokenProjection: {
    audience: "volume-payload",
    expirationSeconds: "volume-payload",
    path: "volume-payload",
  },
};
