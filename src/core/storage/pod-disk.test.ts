import { expect, test } from "vitest";
import { err, ok } from "../../lib/result.ts";
import { podUid } from "../../model/ids.ts";
import { type ListFolder, podSubPaths, podsOnDisk, podVolumePaths } from "./pod-disk.ts";

const uid = podUid("u");

/** Folders by path; what is named in one and not listed is a file. */
function disk(folders: Readonly<Record<string, readonly string[]>>): ListFolder {
  return (path) => {
    const names = folders[path];
    if (names !== undefined) return ok(names);
    const at = path.lastIndexOf("/");
    const isFile = folders[path.slice(0, at)]?.includes(path.slice(at + 1)) === true;
    return isFile ? err("not a directory") : undefined;
  };
}

test("a pod without a folder has nothing on disk", () => {
  const list = disk({});
  expect(podsOnDisk("/r", list)).toEqual([]);
  expect(podVolumePaths("/r", uid, list)).toEqual(ok([]));
  expect(podSubPaths("/r", uid, list)).toEqual(ok([]));
});

test("a CSI volume counts when its mount point is there, any other when its folder is", () => {
  const volumes = "/r/pods/u/volumes";
  const list = disk({
    [volumes]: ["kubernetes.io~csi", "kubernetes.io~nfs"],
    [`${volumes}/kubernetes.io~csi`]: ["a", "b"],
    [`${volumes}/kubernetes.io~csi/a`]: ["mount", "vol_data.json"],
    [`${volumes}/kubernetes.io~csi/b`]: ["vol_data.json"],
    [`${volumes}/kubernetes.io~nfs`]: ["c"],
  });
  expect(podVolumePaths("/r", uid, list)).toEqual(
    ok([`${volumes}/kubernetes.io~csi/a/mount`, `${volumes}/kubernetes.io~nfs/c`]),
  );
});

test("where a folder cannot be read nothing is said about the rest", () => {
  const folder = "/r/pods/u/volume-subpaths";
  const list = disk({ [folder]: ["v"], [`${folder}/v`]: ["c"] });
  expect(podSubPaths("/r", uid, list)).toEqual(
    err(`could not read directory ${folder}/v/c: not a directory`),
  );
});
