import { randomInt } from "node:crypto";
import {
  chmod,
  constants,
  lchown,
  lstat,
  mkdir,
  open,
  readdir,
  readlink,
  rename,
  symlink,
  unlink,
} from "node:fs/promises";
import type {
  Payload,
  PayloadFile,
  PayloadPlan,
  PublishedPayload,
} from "../../model/volume-payload.ts";
import type { VolumeOwnership } from "../../ports/foreign-files.ts";
import { listInside } from "./mount-table.ts";
import {
  childPath,
  mountId,
  type OpenEntry,
  openEntryIn,
  openFolder,
  openFolderIn,
  unlessAbsent,
} from "./open-folder.ts";
import { changeFolderOwnership } from "./payload-ownership.ts";
import { removePayload } from "./payload-removal.ts";
import { errorCode } from "./volume-error.ts";

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants;

const dataLink = "..data";
const newDataLink = "..data_tmp";
const keepGroup = -1;

/** Content folders, as every kubelet names them. */
const contentName = /^\.\.\d{4}_\d\d_\d\d_\d\d_\d\d_\d\d\.\d+$/;

/** The agent writes no larger file. */
const maxFileBytes = 16 * 1024 * 1024;

/** What a payload volume shows at the moment; undefined when nothing was published there. */
export async function readPayload(path: string): Promise<PublishedPayload | undefined> {
  const opened = await unlessAbsent(openFolder(path));
  if (opened === undefined) return undefined;
  await using volume = opened;
  await rejectMountsInside(path);
  const name = await publishedName(volume);
  if (name === undefined) return undefined;
  const content = await unlessAbsent(openFolderIn(volume, name));
  if (content === undefined) return undefined;
  await using folder = content;
  const entries = new Map<string, Uint8Array | undefined>();
  await readEntries(folder, "", entries);
  return { entries };
}

/** Writes new content beside the present one, swaps the link to it, and brings the names that users see in line. */
export async function publishPayload(
  path: string,
  plan: PayloadPlan,
  ownership: VolumeOwnership | undefined,
): Promise<void> {
  await using volume = await openFolder(path);
  await rejectMountsInside(path);
  if (plan.content !== undefined) {
    const name = await makeContentFolder(volume);
    try {
      await writeContent(volume, name, plan.content);
      // Names outside the content folder may be new too.
      if (ownership !== undefined) await changeFolderOwnership(volume, ownership);
      await swapDataLink(volume, name);
    } catch (error) {
      await removePayload(volume, name, path);
      throw error;
    }
  }
  for (const [name, ownerUid] of plan.links) await ensureLink(volume, name, ownerUid);
  for (const name of plan.removedNames) await removeLink(volume, name);
  await removeOldContent(volume, path);
}

/** Only a privileged container can have mounted there; it may hang, and is never written to. */
async function rejectMountsInside(path: string): Promise<void> {
  const [inside] = await listInside(path);
  if (inside === undefined) return;
  throw new Error(`${inside.mountPoint} is a mount point inside ${path}; unmount it first`);
}

/** The name of the content folder; undefined when the link names anything but a content folder of this volume. */
async function publishedName(volume: OpenEntry): Promise<string | undefined> {
  try {
    const name = await readlink(childPath(volume, dataLink));
    return contentName.test(name) ? name : undefined;
  } catch (error) {
    // EINVAL: it is not a link.
    if (["ENOENT", "EINVAL"].includes(errorCode(error))) return undefined;
    throw error;
  }
}

async function readEntries(
  folder: OpenEntry,
  prefix: string,
  entries: Map<string, Uint8Array | undefined>,
): Promise<void> {
  const mount = await mountId(folder);
  for (const name of await readdir(folder.path)) {
    const opened = await unlessAbsent(openEntryIn(folder, name));
    if (opened === undefined) continue;
    await using entry = opened;
    const info = await entry.handle.stat();
    const path = `${prefix}${name}`;
    entries.set(path, info.isFile() ? await readContent(folder, name) : undefined);
    if (!info.isDirectory() || (await mountId(entry)) !== mount) continue;
    await using below = await openFolderIn(folder, name);
    await readEntries(below, `${path}/`, entries);
  }
}

async function readContent(folder: OpenEntry, name: string): Promise<Uint8Array | undefined> {
  const file = await open(childPath(folder, name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    const info = await file.stat();
    return info.isFile() && info.size <= maxFileBytes ? await file.readFile() : undefined;
  } finally {
    await file.close();
  }
}

async function makeContentFolder(volume: OpenEntry): Promise<string> {
  const time = new Date().toISOString().replaceAll(/[-:T]/g, "_").slice(0, 19);
  const name = `..${time}.${randomInt(2 ** 32)}`;
  await makeFolder(volume, name);
  return name;
}

async function writeContent(volume: OpenEntry, name: string, content: Payload): Promise<void> {
  await using folder = await openFolderIn(volume, name);
  for (const [path, file] of content) await writeBelow(folder, path.split("/"), file);
}

async function writeBelow(
  folder: OpenEntry,
  [name = "", ...rest]: readonly string[],
  file: PayloadFile,
): Promise<void> {
  if (rest.length === 0) {
    await writeFile(childPath(folder, name), file);
    return;
  }
  await makeFolder(folder, name);
  await using below = await openFolderIn(folder, name);
  await writeBelow(below, rest, file);
}

async function writeFile(path: string, { data, mode, ownerUid }: PayloadFile): Promise<void> {
  const file = await open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
  try {
    await file.writeFile(data);
    // Whatever the process' umask is.
    await file.chmod(mode & 0o777);
    if (ownerUid !== undefined) await file.chown(ownerUid, keepGroup);
  } finally {
    await file.close();
  }
}

async function makeFolder(parent: OpenEntry, name: string): Promise<void> {
  try {
    await mkdir(childPath(parent, name), 0o700);
  } catch (error) {
    if (errorCode(error) === "EEXIST") return;
    throw error;
  }
  await using folder = await openFolderIn(parent, name);
  await chmod(folder.path, 0o755);
}

async function swapDataLink(volume: OpenEntry, name: string): Promise<void> {
  const beside = childPath(volume, newDataLink);
  // An agent that was stopped in the middle of this left it.
  await removePayload(volume, newDataLink, newDataLink);
  await symlink(name, beside);
  const present = await unlessAbsent(lstat(childPath(volume, dataLink)));
  if (present?.isDirectory() === true) await removePayload(volume, dataLink, dataLink);
  await rename(beside, childPath(volume, dataLink));
}

/** A folder under that name is another volume's mount point and stays. */
async function ensureLink(
  volume: OpenEntry,
  name: string,
  ownerUid: number | undefined,
): Promise<void> {
  const path = childPath(volume, name);
  const target = `${dataLink}/${name}`;
  const info = await unlessAbsent(lstat(path));
  if (info?.isDirectory() === true) return;
  if (info?.isSymbolicLink() === true && (await readlink(path)) === target) return;
  if (info !== undefined) await unlink(path);
  await symlink(target, path);
  if (ownerUid !== undefined) await lchown(path, ownerUid, keepGroup);
}

async function removeLink(volume: OpenEntry, name: string): Promise<void> {
  const path = childPath(volume, name);
  const info = await unlessAbsent(lstat(path));
  if (info?.isSymbolicLink() === true) await unlink(path);
}

async function removeOldContent(volume: OpenEntry, path: string): Promise<void> {
  const current = await publishedName(volume);
  for (const name of await readdir(volume.path)) {
    if (contentName.test(name) && name !== current) await removePayload(volume, name, path);
  }
}
