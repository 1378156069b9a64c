import { expect, test } from "vitest";
import {
  dependsOnPod,
  loginText,
  type PulledRecord,
  parsePulledRecord,
  parsePullIntent,
  proveAccess,
  pulledRecordText,
  pullIntentText,
  recordPull,
} from "./pull-record.ts";

const ref = "sha256:1";
const image = "a.io/b:1";

function secret(name: string, credentialHash = `hash of ${name}`) {
  return { uid: "", namespace: "ns", name, credentialHash };
}

function show(...secrets: readonly ReturnType<typeof secret>[]) {
  return { secrets };
}

function recordWith(...secrets: readonly ReturnType<typeof secret>[]): PulledRecord {
  const credentialMapping = { "a.io/b": { kubernetesSecrets: secrets } };
  return { lastUpdatedTime: "2026-01-01T00:00:00Z", imageRef: ref, credentialMapping };
}

function pulled(record: PulledRecord | undefined, access: Parameters<typeof recordPull>[2]) {
  return recordPull(record, { image, imageRef: ref }, access, 0);
}

test("an image that was pulled without a secret is everybody's", () => {
  const record = pulled(undefined, { nodePodsAccessible: true });
  expect(record?.credentialMapping).toEqual({ "a.io/b": { nodePodsAccessible: true } });
  expect(proveAccess(record, "a.io/b@sha256:ff", show())).toEqual({ kind: "may-use" });
  expect(proveAccess(record, "a.io/c:1", show())).toEqual({ kind: "must-pull" });
  expect(proveAccess(undefined, image, show())).toEqual({ kind: "must-pull" });
});

test("an image that was pulled with a secret is for those who show it", () => {
  const record = pulled(undefined, { kubernetesSecrets: [secret("one")] });
  expect(proveAccess(record, image, show())).toEqual({ kind: "must-pull" });
  expect(proveAccess(record, image, show(secret("two")))).toEqual({ kind: "must-pull" });
  expect(proveAccess(record, image, show(secret("two"), secret("one")))).toEqual({
    kind: "may-use",
  });
});

test("the same login in another secret, and another login in the same one, are learnt", () => {
  const record = recordWith(secret("one"));
  const copy = secret("two", "hash of one");
  expect(proveAccess(record, image, show(copy))).toEqual({ kind: "may-use", learnt: copy });
  const renewed = secret("one", "other");
  expect(proveAccess(record, image, show(renewed))).toEqual({ kind: "may-use", learnt: renewed });
});

test("a record that has learnt much learns no more", () => {
  const many = Array.from({ length: 100 }, (_, index) => secret(`s${index}`));
  const record = recordWith(...many);
  expect(proveAccess(record, image, show(secret("new", "hash of s5")))).toEqual({
    kind: "may-use",
  });
  expect(proveAccess(record, image, show(secret("s5", "other")))).toEqual({ kind: "must-pull" });
});

test("a pull adds what is new, and only that", () => {
  const record = recordWith(secret("b"));
  expect(pulled(record, { kubernetesSecrets: [secret("b")] })).toBeUndefined();
  expect(pulled(record, undefined)).toBeUndefined();
  expect(pulled(record, { kubernetesSecrets: [secret("a")] })?.credentialMapping).toEqual({
    "a.io/b": { kubernetesSecrets: [secret("a"), secret("b")] },
  });
  const open = pulled(record, { nodePodsAccessible: true });
  expect(open?.credentialMapping).toEqual({ "a.io/b": { nodePodsAccessible: true } });
  expect(pulled(open, { kubernetesSecrets: [secret("a")] })).toBeUndefined();
});

test("an image pulled with unknown credentials counts as pulled, but proves no access", () => {
  const record = pulled(undefined, undefined);
  expect(record).toEqual({
    lastUpdatedTime: "1970-01-01T00:00:00Z",
    imageRef: ref,
    credentialMapping: {},
  });
  expect(proveAccess(record, image, show(secret("one")))).toEqual({ kind: "must-pull" });
});

test("records and intents are read as they were written, and nothing else is", () => {
  const record = recordWith(secret("one"));
  expect(parsePulledRecord(pulledRecordText(record))).toEqual(record);
  expect(parsePullIntent(pullIntentText(image))).toBe(image);
  for (const text of ["", "null", "[]", '{"kind":"Pod"}']) {
    expect(parsePulledRecord(text)).toBeUndefined();
    expect(parsePullIntent(text)).toBeUndefined();
  }
});

test("a port of a registry is not a tag", () => {
  const record = recordPull(
    undefined,
    { image: "h:5000/x", imageRef: ref },
    { nodePodsAccessible: true },
    0,
  );
  expect(Object.keys(record?.credentialMapping ?? {})).toEqual(["h:5000/x"]);
});

test("the text that a login is known by leaves out what is empty", () => {
  expect(loginText({ username: "u", password: "<", email: "" })).toBe(
    '{"username":"u","password":"\\u003c"}',
  );
  expect(loginText({ username: "", password: "", email: "e" })).toBe('{"email":"e"}');
});

const account = { uid: "1", namespace: "ns", name: "builder" };

test("an image that was pulled for a service account is for pods of that account", () => {
  const record = pulled(undefined, { kubernetesServiceAccounts: [account] });
  expect(dependsOnPod(record, image)).toBe(true);
  expect(proveAccess(record, image, show(secret("one")))).toEqual({ kind: "must-pull" });
  expect(proveAccess(record, image, { secrets: [], account })).toEqual({ kind: "may-use" });
  for (const other of [{ uid: "2" }, { namespace: "other" }, { name: "default" }]) {
    const shown = { secrets: [], account: { ...account, ...other } };
    expect(proveAccess(record, image, shown)).toEqual({ kind: "must-pull" });
  }
});

test("service accounts are added to a record in order, beside its secrets, until the image is everybody's", () => {
  const second = { ...account, name: "a-second" };
  const first = pulled(recordWith(secret("one")), { kubernetesServiceAccounts: [account] });
  const both = pulled(first, { kubernetesServiceAccounts: [second] });
  expect(both?.credentialMapping["a.io/b"]).toEqual({
    kubernetesSecrets: [secret("one")],
    kubernetesServiceAccounts: [second, account],
  });
  expect(pulled(both, { kubernetesServiceAccounts: [account] })).toBeUndefined();
  const more = pulled(both, { kubernetesSecrets: [secret("two")] });
  expect(more?.credentialMapping["a.io/b"]?.kubernetesServiceAccounts).toEqual([second, account]);
  const open = pulled(more, { nodePodsAccessible: true });
  expect(open?.credentialMapping["a.io/b"]).toEqual({ nodePodsAccessible: true });
  expect(dependsOnPod(open, image)).toBe(false);
});
