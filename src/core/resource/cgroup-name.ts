// Names of cgroups as lists of components, and the paths that the two cgroup drivers make of them.

import { joinPath } from "../../lib/path.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { trimEndOf } from "../../lib/trim-text.ts";
import { type PodUid, podUid } from "../../model/ids.ts";
import type { Pod } from "../../model/pod.ts";
import { podQosClass, type QosClass } from "./qos.ts";

export type CgroupName = readonly string[];

export type CgroupDriver = "cgroupfs" | "systemd";

const sliceSuffix = ".slice";
const podPrefix = "pod";

/** The path below the cgroup mount. */
export function cgroupPath(name: CgroupName, driver: CgroupDriver): Result<string, string> {
  return driver === "systemd" ? systemdPath(name) : ok(`/${joinPath(...name)}`);
}

export function parseCgroupPath(path: string, driver: CgroupDriver): CgroupName {
  if (driver === "systemd") return parseSystemdPath(path);
  const components = path.replace(/^\//, "").split("/");
  return components.length === 1 && components[0] === "" ? [] : components;
}

/** The cgroup that holds the pods of a QoS class; guaranteed pods lie directly under the root. */
export function qosCgroupName(root: CgroupName, qosClass: QosClass): CgroupName {
  return qosClass === "Guaranteed" ? root : [...root, qosClass.toLowerCase()];
}

export function podCgroupName(root: CgroupName, pod: Pod): CgroupName {
  return podCgroupNameIn(root, podQosClass(pod), pod.metadata.uid);
}

/** The cgroup that a pod of that class has. */
export function podCgroupNameIn(root: CgroupName, qosClass: QosClass, uid: PodUid): CgroupName {
  return [...qosCgroupName(root, qosClass), `${podPrefix}${uid}`];
}

/** The UID of the pod whose cgroup this is; undefined when it is not a pod's. */
export function podUidOfCgroup(root: CgroupName, name: CgroupName): PodUid | undefined {
  const depth = name.length - root.length;
  if (depth !== 1 && depth !== 2) return undefined;
  const [before, uid, ...more] = (name.at(-1) ?? "").split(podPrefix);
  return before === "" && uid !== undefined && more.length === 0 ? podUid(uid) : undefined;
}

/** Systemd reads "-" as a step down, so it is written as "_" inside a component. */
function systemdPath(name: CgroupName): Result<string, string> {
  if (name.length === 0 || (name.length === 1 && name[0] === "")) return ok("/");
  const slice = name.map((component) => component.replaceAll("-", "_")).join("-");
  const steps = slice.split("-");
  if (slice.includes("/") || steps.includes("")) {
    return err(
      `error converting cgroup name [[${name.join(" ")}]] to systemd format: invalid slice name: ${slice}${sliceSuffix}`,
    );
  }
  const units = steps.map((_, index) => `/${steps.slice(0, index + 1).join("-")}${sliceSuffix}`);
  return ok(units.join(""));
}

function parseSystemdPath(path: string): CgroupName {
  const trimmed = trimEndOf(path, "/");
  const base = trimmed === "" ? "/" : trimmed.slice(trimmed.lastIndexOf("/") + 1);
  const slice = base.endsWith(sliceSuffix) ? base.slice(0, -sliceSuffix.length) : base;
  return slice.split("-").map((part) => part.replaceAll("_", "-"));
}
