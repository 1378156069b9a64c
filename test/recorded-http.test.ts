// The kubelet's API answers, and asks the API server, as the recorded Go kubelet did.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { shownConfig } from "../src/app/kubelet-api-options.ts";
import { defaultFeatureGates } from "../src/config/feature-gates.ts";
import { fileDefaultConfig } from "../src/config/legacy-defaults.ts";
import { loadConfig } from "../src/config/load-config.ts";
import type { Pod } from "../src/model/pod.ts";
import {
  type KubeletRequest,
  type ServedKubeletApi,
  serveKubelet,
} from "./fakes/served-kubelet-api.ts";
import { createTestAuthority, type TestAuthority } from "./kit/test-authority.ts";
import { yamlReader } from "./vectors/kubelet-config.ts";

interface RecordedAnswer {
  readonly path: string;
  readonly code: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

interface RecordedPods {
  readonly items: readonly Pod[];
}

interface RecordedReview {
  readonly path: string;
  readonly body: { readonly spec: { readonly user?: string; readonly extra?: object } };
}

function readRecording(path: string): unknown {
  return JSON.parse(gunzipSync(readFileSync(join(import.meta.dirname, "golden", path))).toString());
}

const answers = readRecording("http/responses.json.gz") as Readonly<Record<string, RecordedAnswer>>;
const { api: reviews } = readRecording("recordings/authz.json.gz") as { api: RecordedReview[] };
const podList = answers["pods"]?.body as RecordedPods;
const runningList = answers["runningpods"]?.body as RecordedPods;

let authority: TestAuthority;
let api: ServedKubeletApi;
let identities: Readonly<Record<string, KubeletRequest>>;

beforeAll(async () => {
  authority = createTestAuthority();
  const { authentication } = fileDefaultConfig();
  const x509 = { clientCAFile: join(authority.folder, "ca.crt") };
  api = await serveKubelet(authority.issue("/CN=conf-node"), {
    nodeName: "conf-node",
    config: { authentication: { ...authentication, x509 } },
    healthChecks: [{ name: "device-plugin", problem: () => undefined }],
    host: {
      listRunningPods: () => Promise.resolve(runningList.items.map(runningPod)),
      portForwardUrl: () => Promise.reject(new Error("not asked for")),
      runInContainer: () => Promise.reject(new Error("not asked for")),
      checkpoint: () => Promise.reject(new Error("not asked for")),
      syncLoopProblem: () => undefined,
    },
  });
  for (const pod of podList.items) api.view.put(pod);
  api.reviews.allowed.add("admin * *");
  const identity = (subject: string): KubeletRequest => {
    const { certPem: cert, keyPem: key } = authority.issue(subject);
    return { cert, key };
  };
  identities = {
    unauthorized: {},
    "bad-token": { token: "invalid" },
    "forbidden-node-cert": identity("/O=system:nodes/CN=system:node:conf-node"),
    admin: identity("/O=system:masters/CN=admin"),
  };
});

afterAll(async () => {
  await api.stop();
  authority.remove();
});

function runningPod({ metadata, spec }: Pod) {
  const { name, namespace, uid } = metadata;
  const containers = (spec.containers ?? []).map((container) => ({
    name: container.name,
    image: container.image ?? "",
  }));
  return { name, namespace, uid, containers };
}

test.each([
  "bad-token",
  "checkpoint-404",
  "containerLogs-404",
  "debug-flags-v",
  "forbidden-node-cert",
  "healthz",
  "healthz-ping",
  "healthz-plain",
  "healthz-syncloop",
  "root-404",
  "unauthorized",
])("%s is answered byte for byte", async (name) => {
  const recorded = answers[name];
  const got = await api.ask(recorded?.path ?? "", identities[name] ?? identities["admin"]);
  const { "transfer-encoding": _encoding, ...headers } = recorded?.headers ?? {};
  expect({ code: got.status, body: got.body }).toEqual({
    code: recorded?.code,
    body: recorded?.body,
  });
  expect(got.headers).toMatchObject(headers);
  const nosniff = "x-content-type-options";
  expect(got.headers[nosniff]).toBe(headers[nosniff]);
});

test.each(["pods", "pods-trailing", "runningpods"])("%s lists the same objects", async (name) => {
  const recorded = answers[name];
  const got = await api.ask(recorded?.path ?? "", identities["admin"]);
  expect(got.headers["content-type"]).toBe(recorded?.headers["content-type"]);
  expect(byName(JSON.parse(got.body))).toEqual(byName(recorded?.body as RecordedPods));
});

function byName({ items, ...list }: RecordedPods): object {
  const key = ({ metadata }: Pod): string => metadata.uid;
  return { ...list, items: items.toSorted((a, b) => (key(a) < key(b) ? -1 : 1)) };
}

test("the configuration is shown with the same fields", () => {
  const recorded = answers["configz"]?.body as Readonly<Record<string, object>> | undefined;
  const kubeletconfig = recorded?.["kubeletconfig"];
  const file = { path: "/etc/kubelet.yaml", text: JSON.stringify(kubeletconfig) };
  const loaded = loadConfig(file, yamlReader, defaultFeatureGates);
  expect(loaded.ok && shownConfig(loaded.value.config)).toEqual(kubeletconfig);
});

test("the API server is asked the same questions", async () => {
  api.reviews.asked.length = 0;
  const fresh = (name: string, group: string): KubeletRequest => {
    const { certPem: cert, keyPem: key } = authority.issue(`/O=${group}/CN=${name}`);
    return { cert, key };
  };
  const admin = fresh("admin", "system:masters");
  const paths = ["/pods", "/configz", "/healthz", "/statusz", "/stats/summary", "/metrics"];
  for (const path of [...paths, "/checkpoint/x/y/z", "/runningpod", "/debug/flags/v", "/logs/"]) {
    await api.ask(path, admin);
  }
  await api.ask("/pods", fresh("system:node:conf-node", "system:nodes"));
  const asked = api.reviews.asked.map(({ path, body }) => ({ path, body: redacted(body) }));
  const expected = reviews
    .filter(({ body }) => body.spec.user !== "apiserver-kubelet-client")
    .filter(({ path }) => path.endsWith("subjectaccessreviews"))
    .map(({ path, body }) => ({ path, body: redacted(body) }));
  expect(asked.filter(({ path }) => path.endsWith("subjectaccessreviews"))).toEqual(expected);
});

test("a token is reviewed with the same request", async () => {
  api.reviews.asked.length = 0;
  await api.ask("/pods", { token: "another" });
  const recorded = reviews.find(({ path }) => path.endsWith("tokenreviews"));
  expect(api.reviews.asked).toEqual([
    {
      method: "POST",
      path: recorded?.path,
      body: { ...recorded?.body, spec: { token: "another" } },
    },
  ]);
});

/** Certificates differ. */
function redacted(body: unknown): unknown {
  return JSON.parse(JSON.stringify(body).replace(/X509SHA256=[^"]*/g, "X509SHA256=<redacted>"));
}
