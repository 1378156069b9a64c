import { expect, test } from "vitest";
import { silentLog } from "../../../../test/kit/silent-log.ts";
import { MemoryFiles } from "../../../drivers/sim/memory-files.ts";
import { podUid } from "../../../model/ids.ts";
import { PodTable } from "../../pods/pod-table.ts";
import { ResourceRecords } from "./resource-records.ts";

const uid1 = podUid("uid-1");

const path = "/data/allocated_pods_state";

function open(
  files: MemoryFiles,
  errors: string[] = [],
  table: PodTable = new PodTable(),
): ResourceRecords {
  const log = {
    ...silentLog,
    warn: (message: string) => void errors.push(message),
    error: (message: string) => void errors.push(message),
  };
  return new ResourceRecords({ slice: table.writer("allocated"), files, path, log });
}

test("what is kept is there for the next agent", async () => {
  const files = new MemoryFiles();
  const records = open(files);
  await records.load();
  records.setContainer(uid1, "web", { requests: { cpu: "1" } });
  records.setPod(uid1, { limits: { cpu: "2" } });
  await records.flush();
  const next = open(files);
  await next.load();
  expect(next.get(uid1)).toEqual({
    containers: new Map([
      ["web", { requests: { cpu: "1" }, limits: undefined, claims: undefined }],
    ]),
    pod: { requests: undefined, limits: { cpu: "2" }, claims: undefined },
  });
});

test("a pod that is gone is forgotten with the next change", async () => {
  const files = new MemoryFiles();
  const table = new PodTable();
  const records = open(files, [], table);
  records.set(podUid("gone"), { containers: new Map() });
  records.set(podUid("here"), { containers: new Map() });
  await records.flush();
  table.delete(podUid("gone"));
  records.set(podUid("here"), { containers: new Map([["web", {}]]) });
  await records.flush();
  const next = open(files);
  await next.load();
  expect(next.get(podUid("gone"))).toBeUndefined();
  expect(next.get(podUid("here"))?.containers.size).toBe(1);
});

test("a damaged file costs the record, and is logged", async () => {
  const files = new MemoryFiles();
  await files.writeFile(path, '{"data":"{}","checksum":1}');
  const errors: string[] = [];
  const records = open(files, errors);
  await records.load();
  expect(records.get(uid1)).toBeUndefined();
  expect(errors).toEqual([
    "cannot read the resources that pods were given; taking those they ask for",
  ]);
  records.set(uid1, { containers: new Map() });
  await records.flush();
  const next = open(files);
  await next.load();
  expect(next.get(uid1)).toBeDefined();
});

test("a full disk does not block pods, and what could not be written is written later", async () => {
  const files = new MemoryFiles();
  const errors: string[] = [];
  const records = open(files, errors);
  const write = files.writeFile.bind(files);
  files.writeFile = () => Promise.reject(new Error("no space left"));
  records.set(uid1, { containers: new Map() });
  await records.flush();
  expect(errors).toEqual(["cannot write down the resources that pods have"]);
  files.writeFile = write;
  records.set(podUid("uid-2"), { containers: new Map() });
  await records.flush();
  const next = open(files);
  await next.load();
  expect(next.get(uid1)).toBeDefined();
});

test("what could not be written is written by the next who asks", async () => {
  const files = new MemoryFiles();
  const write = files.writeFile.bind(files);
  files.writeFile = () => Promise.reject(new Error("no space left on device"));
  const records = open(files);
  records.set(uid1, { containers: new Map([["web", {}]]) });
  await records.flush();
  expect(records.hasFailed).toBe(true);
  files.writeFile = write;
  await records.flush();
  expect(records.hasFailed).toBe(false);
  const next = open(files);
  await next.load();
  expect(next.get(uid1)?.containers.size).toBe(1);
});
