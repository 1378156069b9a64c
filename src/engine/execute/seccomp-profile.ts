import { quoteText } from "../../lib/go-text.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { type ContainerConfig, SecurityProfile_ProfileType } from "../../model/generated/cri.ts";
import type { HostFiles } from "../../ports/host-files.ts";

/** The config with the file of its own seccomp profile where its links lead; an error when that is not below `root`. */
export async function withSeccompFile(
  config: ContainerConfig,
  root: string,
  files: Pick<HostFiles, "realPath">,
): Promise<Result<ContainerConfig, string>> {
  const { linux } = config;
  const profile = linux?.securityContext?.seccomp;
  if (profile?.profileType !== SecurityProfile_ProfileType.Localhost) return ok(config);
  const wanted = profile.localhostRef ?? "";
  // One that is not there yet is left to the runtime, which says so.
  const found = (await files.realPath(wanted)) ?? wanted;
  const realRoot = (await files.realPath(root)) ?? root;
  const isInside = [root, realRoot].some((folder) => found.startsWith(`${folder}/`));
  if (!isInside) return err(`seccomp profile ${quoteText(wanted)} leads out of ${root}`);
  const seccomp = { ...profile, localhostRef: found };
  const securityContext = { ...linux?.securityContext, seccomp };
  return ok({ ...config, linux: { ...linux, securityContext } });
}
