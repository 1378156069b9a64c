import { cleanPath } from "../../lib/path.ts";
import { type Pod, podContainers } from "../../model/pod.ts";

/**
 * Folders that must be in a volume because other volumes are mounted inside it. Only the first level: what is
 * mounted deeper lies in the other volume.
 */
export function nestedMountPoints(volumeName: string, pod: Pod): readonly string[] {
  return podContainers(pod).flatMap(({ container }) => {
    const mounts = (container.volumeMounts ?? []).map(({ name, mountPath }) => ({
      name,
      path: cleanPath(`/${mountPath}`),
    }));
    const paths = mounts.map(({ path }) => path).toSorted();
    return mounts
      .filter(({ name }) => name === volumeName)
      .flatMap(({ path }) => firstLevelBelow(path, paths));
  });
}

function firstLevelBelow(folder: string, sortedPaths: readonly string[]): readonly string[] {
  const found: string[] = [];
  for (const path of sortedPaths) {
    const isBelow = path.startsWith(`${folder}/`);
    if (isBelow && !found.some((each) => path.startsWith(`${each}/`))) found.push(path);
  }
  return found.map((path) => path.slice(folder.length + 1));
}
