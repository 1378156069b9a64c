import { cgroupPath, parseCgroupPath } from "../../../src/core/resource/cgroup-name.ts";
import { type VectorDomain, vectorDomain } from "../vector-domain.ts";

interface CgroupNamesInput {
  readonly components: readonly string[];
}

export const cgroupNames: VectorDomain = vectorDomain<CgroupNamesInput>(
  "cgroup-names",
  ({ components }) => {
    const cgroupfs = cgroupPath(components, "cgroupfs");
    const systemd = cgroupPath(components, "systemd");
    return {
      ...(cgroupfs.ok
        ? {
            cgroupfs: cgroupfs.value,
            parsedFromCgroupfs: parseCgroupPath(cgroupfs.value, "cgroupfs"),
          }
        : {}),
      ...(systemd.ok
        ? { systemd: systemd.value, parsedFromSystemd: parseCgroupPath(systemd.value, "systemd") }
        : { systemdPanics: true }),
    };
  },
);
