import { qualifiedNameProblems } from "./names.ts";

const hugePagesPrefix = "hugepages-";
const nativeNamespace = "kubernetes.io/";

const countedResources = [
  "pods",
  "resourcequotas",
  "services",
  "replicationcontrollers",
  "secrets",
  "configmaps",
  "persistentvolumeclaims",
  "services.nodeports",
  "services.loadbalancers",
];

const standardResources: ReadonlySet<string> = new Set([
  ...["", "requests.", "limits."].flatMap((prefix) => [
    `${prefix}cpu`,
    `${prefix}memory`,
    `${prefix}ephemeral-storage`,
  ]),
  "storage",
  "requests.storage",
  ...countedResources,
]);

const containerResources: ReadonlySet<string> = new Set(["cpu", "memory", "ephemeral-storage"]);
const integerResources: ReadonlySet<string> = new Set(countedResources);

export function isHugePages(name: string): boolean {
  return name.startsWith(hugePagesPrefix);
}

/** The page size that the name of a huge page resource holds. */
export function hugePageSize(name: string): string {
  return name.slice(hugePagesPrefix.length);
}

export function isStandardResource(name: string): boolean {
  return standardResources.has(name) || isHugePages(name) || name.startsWith("requests.hugepages-");
}

export function isContainerResource(name: string): boolean {
  return containerResources.has(name) || isHugePages(name);
}

/** Names without a domain, and those of kubernetes.io, are Kubernetes' own. */
export function isNativeResource(name: string): boolean {
  return !name.includes("/") || name.includes(nativeNamespace);
}

export function isExtendedResource(name: string): boolean {
  if (isNativeResource(name) || name.startsWith("requests.")) return false;
  return qualifiedNameProblems(`requests.${name}`).length === 0;
}

/** Whether a claim may deliver the resource instead of a device plugin. */
export function isClaimableResource(name: string): boolean {
  return isExtendedResource(name) || name.startsWith("deviceclass.resource.kubernetes.io/");
}

/** Whether more can be promised than there is. */
export function isOvercommitAllowed(name: string): boolean {
  return isNativeResource(name) && !isHugePages(name);
}

export function isIntegerResource(name: string): boolean {
  return integerResources.has(name) || isExtendedResource(name);
}

/** Whether a pod as a whole can ask for the resource. */
export function isPodLevelResource(name: string): boolean {
  return name === "cpu" || name === "memory" || isHugePages(name);
}
