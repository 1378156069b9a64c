import {
  type RuntimeConfigResponse,
  CgroupDriver as RuntimeDriver,
} from "../../model/generated/cri.ts";
import type { CgroupDriver } from "./cgroup-name.ts";

/** The driver that the runtime uses, which the node must use too; undefined when it does not say. */
export function runtimeCgroupDriver(
  response: RuntimeConfigResponse | undefined,
): CgroupDriver | undefined {
  if (response?.linux === undefined) return undefined;
  return response.linux.cgroupDriver === RuntimeDriver.CGROUPFS ? "cgroupfs" : "systemd";
}
