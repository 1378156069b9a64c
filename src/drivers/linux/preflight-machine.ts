import { type CheckResult, failed, passed, warning } from "../../lib/check-result.ts";
import { hasCapability, type Machine } from "../../model/machine.ts";

const NEEDED_CAPABILITIES = ["CAP_SYS_ADMIN", "CAP_NET_ADMIN"] as const;
const NEEDED_CONTROLLERS = ["cpu", "memory", "pids"];
const OLDEST_KERNEL = 4;

export function checkRoot({ isRoot }: Machine): CheckResult {
  if (isRoot) return passed("root", "yes");
  return failed("root", "no", "start Berth as root (sudo)");
}

export function checkCapabilities(machine: Machine): CheckResult {
  const missing = NEEDED_CAPABILITIES.filter((name) => !hasCapability(machine, name));
  if (missing.length > 0) {
    return failed("capabilities", `without ${missing.join(", ")}`, "run Berth with them");
  }
  if (!hasCapability(machine, "CAP_SYS_RESOURCE")) {
    return warning(
      "capabilities",
      "without CAP_SYS_RESOURCE: containers cannot be made less likely to be killed when memory runs out",
      "run Berth with it if that order matters",
    );
  }
  return passed("capabilities", "all that are needed");
}

export function checkKernel({ kernelRelease }: Machine): CheckResult {
  if (Number.parseInt(kernelRelease, 10) >= OLDEST_KERNEL) return passed("kernel", kernelRelease);
  return failed("kernel", kernelRelease, `use Linux ${OLDEST_KERNEL} or newer`);
}

export function checkOverlay({ overlayKnown }: Machine): CheckResult {
  if (overlayKnown) return passed("overlayfs", "known to the kernel");
  return warning(
    "overlayfs",
    "not loaded; without it every container gets a full copy of its image",
    "load the kernel module: modprobe overlay",
  );
}

export function checkCgroups({ cgroups }: Machine): CheckResult {
  if (cgroups.version === "none") {
    return failed("cgroups", "none mounted", "mount cgroup2 on /sys/fs/cgroup");
  }
  const found = `${cgroups.version} with ${cgroups.controllers.join(", ")}`;
  const missing = NEEDED_CONTROLLERS.filter((name) => !cgroups.controllers.includes(name));
  if (missing.length === 0) return passed("cgroups", found);
  return failed("cgroups", found, `enable the controllers ${missing.join(", ")} in the kernel`);
}

export function checkCniPlugins({ cni }: Machine): CheckResult {
  if (cni.folder !== undefined && cni.missing.length === 0) {
    return passed("CNI plugins", cni.folder);
  }
  return failed(
    "CNI plugins",
    `${cni.missing.join(", ")} not in ${cni.folder ?? cni.searched.join(", ")}`,
    "install the package containernetworking-plugins",
  );
}
