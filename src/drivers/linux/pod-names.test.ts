import { createSocket, type Socket } from "node:dgram";
import { Resolver } from "node:dns/promises";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { podUid } from "../../model/ids.ts";
import { LookupError, PodNames } from "./pod-names.ts";

const uidPod = podUid("pod");

const cleanUps: (() => void)[] = [];
afterEach(() => {
  for (const cleanUp of cleanUps.splice(0)) cleanUp();
});

const never = new AbortController().signal;

interface World {
  readonly names: PodNames;
  /** Names that the server was asked for, with the type of record. */
  readonly questions: readonly string[];
}

/** Names resolved by a server that knows `known`, answers that others do not exist, and is silent about those with "silent". */
async function resolving(known: Readonly<Record<string, string>>, search = ""): Promise<World> {
  const folder = mkdtempSync(join(tmpdir(), "berth-names-"));
  cleanUps.push(() => rmSync(folder, { recursive: true }));
  const hostsPath = join(folder, "hosts");
  const resolverConfigPath = join(folder, "resolv.conf");
  writeFileSync(hostsPath, "192.0.2.9 planted\n");
  writeFileSync(resolverConfigPath, `search ${search}\n`);
  const questions: string[] = [];
  const server = createSocket("udp4", (query, from) => {
    const question = readQuestion(query);
    questions.push(`${question.name} ${question.type}`);
    if (question.name.includes("silent")) return;
    server.send(answerTo(query, question, known[question.name]), from.port, from.address);
  });
  cleanUps.push(() => server.close());
  const port = await bind(server);
  const newResolver = () => {
    const resolver = new Resolver();
    resolver.setServers([`127.0.0.1:${port}`]);
    return resolver;
  };
  return { names: new PodNames({ hostsPath, resolverConfigPath, newResolver }), questions };
}

function bind(server: Socket): Promise<number> {
  return new Promise((resolve) => {
    server.bind(0, "127.0.0.1", () => resolve(server.address().port));
  });
}

interface Question {
  readonly name: string;
  readonly type: "A" | "AAAA";
  readonly end: number;
}

function readQuestion(query: Buffer): Question {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString("latin1", at + 1, at + 1 + length));
    at += 1 + length;
  }
  const type = query.readUInt16BE(at + 1) === 28 ? "AAAA" : "A";
  return { name: labels.join("."), type, end: at + 5 };
}

function answerTo(query: Buffer, { type, end }: Question, address: string | undefined): Buffer {
  const head = Buffer.from(query.subarray(0, end));
  head.writeUInt16BE(address === undefined ? 0x8183 : 0x8180, 2);
  head.writeUInt16BE(address !== undefined && type === "A" ? 1 : 0, 6);
  head.fill(0, 8, 12);
  if (address === undefined || type === "AAAA") return head;
  const record = [0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, ...address.split(".").map(Number)];
  return Buffer.concat([head, Buffer.from(record)]);
}

test("an address needs no server, and /etc/hosts goes before it", async () => {
  const { names, questions } = await resolving({});
  expect(await names.resolve(uidPod, "192.0.2.1", never)).toEqual([
    { address: "192.0.2.1", family: 4 },
  ]);
  expect(await names.resolve(uidPod, "PLANTED.", never)).toEqual([
    { address: "192.0.2.9", family: 4 },
  ]);
  expect(questions).toEqual([]);
});

test("a name is searched in the domains of resolv.conf", async () => {
  const { names, questions } = await resolving({ "web.b.test": "192.0.2.2" }, "a.test b.test");
  expect(await names.resolve(uidPod, "web", never)).toEqual([{ address: "192.0.2.2", family: 4 }]);
  expect(new Set(questions)).toEqual(
    new Set(["web.a.test A", "web.a.test AAAA", "web.b.test A", "web.b.test AAAA"]),
  );
  await expect(names.resolve(uidPod, "gone", never)).rejects.toThrow(
    new LookupError("gone", "no such host"),
  );
});

test("a lookup ends with its signal, and leaves its place to the next", async () => {
  const { names } = await resolving({ "web.test": "192.0.2.2" });
  const end = new AbortController();
  const silent = ["silent-1.", "silent-2.", "silent-3."].map((name) =>
    names.resolve(uidPod, name, end.signal),
  );
  const next = names.resolve(uidPod, "web.test.", never);
  end.abort();
  const reasons = (await Promise.allSettled(silent)).map((each) =>
    each.status === "rejected" ? String(each.reason) : "",
  );
  expect(reasons).toEqual([
    "Error: lookup silent-1.: i/o timeout",
    "Error: lookup silent-2.: i/o timeout",
    "Error: lookup silent-3.: i/o timeout",
  ]);
  expect(await next).toHaveLength(1);
});

test("a pod has two lookups at once and 64 altogether; another pod's go on", async () => {
  const { names, questions } = await resolving({ "web.test": "192.0.2.2" });
  const ends = Array.from({ length: 64 }, () => new AbortController());
  const silent = ends.map((end, index) => names.resolve(uidPod, `silent-${index}.`, end.signal));
  const all = Promise.allSettled(silent);
  await expect(names.resolve(uidPod, "web.test.", never)).rejects.toThrow(
    "lookup web.test.: more than 64 names of this pod at once",
  );
  expect(await names.resolve(podUid("other"), "web.test.", never)).toHaveLength(1);
  const asked = new Set(questions.filter((each) => each.startsWith("silent")));
  expect([...asked].every((each) => /^silent-[01] /.test(each))).toBe(true);
  for (const end of ends) end.abort();
  await all;
  expect(await names.resolve(uidPod, "web.test.", never)).toHaveLength(1);
});
