import { acted, refused, type Support, warned } from "./support.ts";

const noLock = "the root folder is locked in any case";
const noAdvisor = "it belongs to cAdvisor, which Berth has no part of";

/** What becomes of the flags that set no field of the configuration. */
export const flagSupport: Readonly<Record<string, Support>> = {
  "application-metrics-count-limit": warned(noAdvisor),
  "boot-id-file": warned(noAdvisor),
  "bootstrap-kubeconfig": acted("credentials to ask for the node's own with"),
  "cert-dir": acted("the folder of the node's certificates"),
  "cloud-provider": acted(
    '"external" leaves addresses and the first taint to a controller of the cloud',
  ),
  config: acted("the configuration file"),
  "config-dir": acted("the folder of drop-in files (*.conf)"),
  "container-hints": warned(noAdvisor),
  containerd: warned(noAdvisor),
  "containerd-namespace": warned(noAdvisor),
  "enable-load-reader": warned(noAdvisor),
  "event-storage-age-limit": warned(noAdvisor),
  "event-storage-event-limit": warned(noAdvisor),
  "exit-on-lock-contention": refused(noLock),
  "experimental-allocatable-ignore-eviction": acted(
    "what pods may have together is not guarded by evictionHard",
  ),
  "experimental-mounter-path": refused("mounts are made by Berth itself"),
  "global-housekeeping-interval": warned(noAdvisor),
  help: acted("shows the flags"),
  "hostname-override": acted("the node's name"),
  "housekeeping-interval": warned(noAdvisor),
  "image-credential-provider-bin-dir": acted("the folder of credential providers"),
  "image-credential-provider-config": acted("the configuration of credential providers"),
  kubeconfig: acted("the API server and the node's credentials"),
  "lock-file": refused(noLock),
  "log-cadvisor-usage": warned(noAdvisor),
  "machine-id-file": warned(noAdvisor),
  "maximum-dead-containers": acted("how many dead containers are kept on the node"),
  "maximum-dead-containers-per-container": acted("how many dead runs are kept of a container"),
  "minimum-container-ttl-duration": acted("how long a dead container is kept at least"),
  "node-ip": acted("the node's address"),
  "node-labels": acted("labels of the node, given when it is new to the cluster"),
  "root-dir": acted("the folder of pods' data, and of Berth's own"),
  "runtime-cgroups": warned("the runtime stays in the cgroup that it is started in"),
  "seccomp-default": acted("containers without a seccomp profile get the runtime's"),
  "storage-driver-buffer-duration": warned(noAdvisor),
  "storage-driver-db": warned(noAdvisor),
  "storage-driver-host": warned(noAdvisor),
  "storage-driver-password": warned(noAdvisor),
  "storage-driver-secure": warned(noAdvisor),
  "storage-driver-table": warned(noAdvisor),
  "storage-driver-user": warned(noAdvisor),
  version: acted("shows the version"),
};
